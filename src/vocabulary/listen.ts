import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { type AddressInfo, isIP, isIPv6, type Server } from 'node:net'
import { asDenied, deniedFlag, nodeErrorCode } from './connection-errors.ts'

/**
 * Lets a server listen, and returns its port. What Deno does not permit is `MISCONFIGURED`; any other failure is what
 * `fail` makes of its code.
 */
export async function listen(
  server: Server,
  { port, host }: { readonly port: number; readonly host?: string | undefined },
  fail: (code: string, cause: unknown) => Error,
): Promise<number> {
  try {
    if (host !== undefined) await checkPermission(host, port)
    server.listen(port, host)
    await once(server, 'listening')
  } catch (cause) {
    throw deniedFlag(cause) === '' ? fail(nodeErrorCode(cause), cause) : asDenied(cause)
  }
  return (server.address() as AddressInfo).port // It listens on a port, not on a pipe.
}

/** What is used of Deno's own names. */
interface Deno {
  readonly permissions: {
    request(wanted: { readonly name: 'net'; readonly host: string }): Promise<{ readonly state: string }>
  }
}

/** Throws what Deno would throw where no caller can catch it: it would end the process. */
async function checkPermission(host: string, port: number): Promise<void> {
  const { Deno } = globalThis as { readonly Deno?: Deno } // Where there is none, this process is no Deno.
  if (!Deno) return
  const check = async (wanted: string) => {
    if ((await Deno.permissions.request({ name: 'net', host: wanted })).state === 'granted') return
    const words = `Requires net access to "${wanted}", run again with the --allow-net flag`
    throw Object.assign(new Error(words), { name: 'NotCapable' })
  }
  // Deno asks for a name when it is looked up, and for its address when the server listens.
  if (isIP(host) === 0) await check(host)
  const { address } = await lookup(host)
  await check(`${isIPv6(address) ? `[${address}]` : address}:${port}`)
}
