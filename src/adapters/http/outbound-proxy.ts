import type { Duplex } from 'node:stream'
import { nodeErrorCode, UnsentError } from '../../vocabulary/connection-errors.ts'

/** Returns the address of the proxy for `host:port`, if there is one. */
export type ProxyChoice = (host: string, port: string) => string | undefined

/** Chooses the proxy by `HTTPS_PROXY` and `NO_PROXY`, in capitals or not: names, their ends, `host:port` and `*`. */
export function proxyFromEnvironment(environment: NodeJS.ProcessEnv = process.env): ProxyChoice {
  const read = (name: string) => environment[name.toLowerCase()] || environment[name] || ''
  return (host, port) => {
    const isExcepted = read('NO_PROXY')
      .split(/[\s,]/)
      .some(exception => exception === '*' || isAt(exception, host.toLowerCase(), port))
    return isExcepted ? undefined : read('HTTPS_PROXY') || undefined
  }
}

function isAt(exception: string, host: string, port: string): boolean {
  const [, given = '', onlyPort = port] = /^\*?\.?([^:]+)(?::(\d+))?$/.exec(exception.toLowerCase()) ?? []
  return given !== '' && onlyPort === port && (host === given || host.endsWith(`.${given}`))
}

/**
 * Opens a connection to `host:port` through a proxy, by `CONNECT`. A user name and a password in its address are sent
 * to it, and appear in no error. Throws `UnsentError`.
 */
export async function openTunnel(
  { Client }: typeof import('undici'),
  proxy: string,
  authority: string,
  timeoutMs: number,
): Promise<Duplex> {
  const url = URL.parse(proxy)
  if (!url || !/^https?:$/.test(url.protocol)) throw new UnsentError('PROXY_ADDRESS_INVALID')
  const { username, password } = url
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
  const client = new Client(url.origin, { connect: { timeout: timeoutMs }, allowH2: false })
  const connected = await client
    .connect({
      path: authority,
      headers: { host: authority, ...(username !== '' && { 'proxy-authorization': `Basic ${credentials}` }) },
      signal: AbortSignal.timeout(timeoutMs),
    })
    .catch((error: unknown) => {
      void client.destroy()
      throw new UnsentError(nodeErrorCode(error) || 'UND_ERR_CONNECT_TIMEOUT')
    })
  const { statusCode, socket } = connected
  if (statusCode === 200) return socket
  socket.destroy()
  throw new UnsentError('PROXY_REFUSED', `PROXY_REFUSED: the outbound proxy answered ${statusCode}`)
}
