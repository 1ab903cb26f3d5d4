import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { isDeno } from '../../vocabulary/runtime-commands.ts'
import type { CheckResult } from '../health-check.ts'
import type { HostOptions } from '../options.ts'

/**
 * Listens for a moment, as this user, where `averba run` will. A port in use is no fault, since a process may run. Nor
 * is one that this user may not open: the process may have the capability. Not on Deno, which ends the whole process
 * for a port that it was not allowed.
 */
export async function checkPorts({ run }: HostOptions): Promise<CheckResult | undefined> {
  if (run === undefined || isDeno) return undefined
  const { receiver, host = '127.0.0.1', port = 9464 } = run
  const receiverPort = receiver?.port ?? 443
  const [forRun, forReceiver] = [createServer(), createServer()]
  try {
    const own = await tryPort(forRun, host, port)
    const found = [describe(nameOf('run', host, port), own)]
    if (receiver) {
      // The port of `run` is still taken.
      const other = await tryPort(forReceiver, receiver.host, receiverPort)
      const isSame = own === 'free' && other === 'EADDRINUSE' && receiverPort === port
      const name = nameOf('run.receiver', receiver.host, receiverPort)
      found.push(isSame ? { ok: false, detail: `${name} has the port of run` } : describe(name, other))
    }
    return { ok: found.every(each => each.ok), detail: found.map(each => each.detail).join('; ') }
  } finally {
    await Promise.all([forRun, forReceiver].map(server => new Promise(done => server.close(done))))
  }
}

function nameOf(option: string, host: string | undefined, port: number): string {
  return `${option} (${host ?? '*'}:${port})`
}

/** `free`, or the code of the error. */
async function tryPort(server: Server, host: string | undefined, port: number): Promise<string> {
  try {
    server.listen(port, host)
    await once(server, 'listening')
    return 'free'
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'UNKNOWN'
  }
}

function describe(name: string, found: string): CheckResult {
  switch (found) {
    case 'free':
      return { ok: true, detail: `${name} can listen` }
    case 'EADDRINUSE':
      return { ok: true, detail: `${name} is in use: by averba run, or by another program` }
    case 'EACCES': {
      const advice = 'the process needs a capability such as CAP_NET_BIND_SERVICE, or a proxy in front'
      return { ok: true, detail: `${name} may not be opened by this user: ${advice}` }
    }
    default:
      return { ok: false, detail: `${name} cannot listen (${found}): give a host of this machine and a free port` }
  }
}
