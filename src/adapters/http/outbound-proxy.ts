import type { Duplex } from 'node:stream'
import { nodeErrorCode, UnsentError } from '../../vocabulary/connection-errors.ts'

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
  const credentials = url && readCredentials(url)
  if (!credentials || !/^https?:$/.test(url.protocol))
    throw new UnsentError('PROXY_ADDRESS_INVALID', 'the address of the proxy is not one of http or https')
  const client = new Client(url.origin, { connect: { timeout: timeoutMs, rejectUnauthorized: true }, allowH2: false })
  const connected = await client
    .connect({
      path: authority,
      headers: { host: authority, ...(credentials !== ':' && { 'proxy-authorization': basic(credentials) }) },
      signal: AbortSignal.timeout(timeoutMs),
    })
    .catch((error: unknown) => {
      void client.destroy()
      const code = error instanceof DOMException ? 'UND_ERR_CONNECT_TIMEOUT' : nodeErrorCode(error)
      throw new UnsentError(code, `the outbound proxy cannot be reached (${code})`)
    })
  const { statusCode, socket } = connected
  if (statusCode >= 200 && statusCode < 300) return socket
  socket.destroy()
  throw new UnsentError('PROXY_REFUSED', `PROXY_REFUSED: the outbound proxy answered ${statusCode}`)
}

/** `user:password`, as they were before they were put into an address; `undefined` when they cannot have been. */
function readCredentials({ username, password }: URL): string | undefined {
  try {
    return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  } catch {
    return undefined
  }
}

function basic(credentials: string): string {
  return `Basic ${Buffer.from(credentials).toString('base64')}`
}
