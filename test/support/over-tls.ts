import { type HttpSocket, openSocket, type SocketOptions } from '../../src/adapters/http/transport.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createAuthority } from '../../src/simulation/served/authority.ts'
import { serveHttps } from '../../src/simulation/served/serve.ts'
import { closeAtEnd } from './close-at-end.ts'

const now = systemClock.now()
/** The authority that the clients of tests trust, and one that they do not. */
export const authority = await createAuthority(now)
export const stranger = await createAuthority(now, 'a stranger')
/** The certificate of servers on this machine. */
export const own = await authority.issueServer(['localhost', '127.0.0.1'])

/** Serves until the test ends, and returns the address. A client is named by a certificate of the authority. */
export async function serveUntilEnd(
  handle: Parameters<typeof serveHttps>[0],
  issued = own,
  clientCa = authority.ca,
): Promise<string> {
  return `https://localhost:${closeAtEnd(await serveHttps(handle, { ...issued, clientCa })).port}`
}

/** Opens a client that trusts the authority, and closes it when the test ends. */
export function openClient(options: Partial<SocketOptions> = {}): HttpSocket {
  return closeAtEnd(openSocket({ clock: systemClock, ca: authority.ca, ...options }))
}
