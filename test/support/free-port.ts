import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** Finds a port that was free a moment ago, for a program that cannot say which port it took. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // It listens on a port.
  server.close()
  await once(server, 'close')
  return port
}
