import { once } from 'node:events'
import { createServer } from 'node:net'
import type { CheckResult } from '../health-check.ts'
import type { HostOptions } from '../options.ts'

/** Listens for a moment where `averba run` will. A port in use is taken by a process that runs, or by another one. */
export async function checkPorts({ run }: HostOptions): Promise<CheckResult | undefined> {
  if (run === undefined) return undefined
  const { receiver, host = '127.0.0.1', port = 9464 } = run
  const found = [
    await tryPort('run', host, port),
    ...(receiver ? [await tryPort('run.receiver', receiver.host, receiver.port ?? 443)] : []),
  ]
  return { ok: found.every(each => each.ok), detail: found.map(each => each.detail).join('; ') }
}

async function tryPort(option: string, host: string | undefined, port: number): Promise<CheckResult> {
  const server = createServer()
  const name = `${option} (${host ?? '*'}:${port})`
  try {
    server.listen(port, host)
    await once(server, 'listening')
    return { ok: true, detail: `${name} can listen` }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'EADDRINUSE') return { ok: true, detail: `${name} is in use, as by a process that runs` }
    const hint =
      code === 'EACCES'
        ? 'Ports below 1024 need a capability such as CAP_NET_BIND_SERVICE, or a proxy in front'
        : 'Give a host of this machine and a free port'
    return { ok: false, detail: `${name} cannot listen (${code}): ${hint}` }
  } finally {
    server.close()
  }
}
