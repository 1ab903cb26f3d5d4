import { AverbaError } from './errors.ts'

/** Throws `MISCONFIGURED` when this Node is too old for averba. Deno says which Node it is like. */
export function requireNode(): void {
  const problem = oldNode(process.versions.node)
  if (problem !== undefined) throw new AverbaError('MISCONFIGURED', problem)
}

/** Says in one sentence that this Node is too old for averba; `undefined` when it is not. Takes its version. */
export function oldNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < 22 || (major === 22 && minor < 19)
  return isOld ? `averba needs Node 22.19 or newer; this is Node ${version}` : undefined
}
