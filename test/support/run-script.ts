import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

export const root = resolve(import.meta.dirname, '../..')

/** The path of a program of a package that the tests use. */
export function toolPath(name: string): string {
  return join(root, 'node_modules/.bin', name)
}

const denoFlags = ['--allow-all', '--no-check', '--no-lock', '--node-modules-dir=manual']
export const commands = {
  Node: [process.execPath],
  Deno: [toolPath('deno'), 'run', ...denoFlags],
  'node:test': [process.execPath, '--test', '--test-isolation=none', '--test-reporter=tap'],
  'Deno.test': [toolPath('deno'), 'test', ...denoFlags],
} as const

/** Runs a program to its end, and returns what it prints. */
export const run = promisify(execFile)

/** Packs the package, as it was built, and returns the tarball. */
export async function packPackage(folder: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--pack-destination', folder, '--ignore-scripts'], { cwd: root })
  return join(folder, stdout.trim())
}

/** Runs a script of the repository in a process of its own, and returns its output. */
export async function runScript(
  on: keyof typeof commands,
  script: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const [command, ...flags] = commands[on]
  const all = [...flags, '--conditions=averba-source', script, ...args]
  const { stdout } = await run(command, all, {
    ...{ cwd: root, maxBuffer: 2 ** 26 },
    env: { ...process.env, NO_COLOR: '1', ...env },
  })
  return stdout
}

/**
 * Runs code in a process of its own, from the root of the repository, and parses its last line.
 *
 * @param limitKb what it may write to a file
 */
export async function runCode(code: string, limitKb = 'unlimited') {
  const command = `trap '' XFSZ; ulimit -S -f ${limitKb}; exec "$0" --input-type=module -e "$1"`
  const { stdout } = await run('bash', ['-c', command, process.execPath, code], { cwd: root })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}

/** Runs a script as `runScript` does, and parses its last line. */
export async function runForJson(...run: Parameters<typeof runScript>) {
  return JSON.parse((await runScript(...run)).trim().split('\n').at(-1) ?? '')
}
