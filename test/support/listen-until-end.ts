import type { Server } from 'node:http'
import type { AddressInfo, Server as NetServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** Lets a server listen on loopback until the test ends, and returns its port. */
export async function listenUntilEnd(server: NetServer | Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        if ('closeAllConnections' in server) server.closeAllConnections()
      }),
  )
  return (server.address() as AddressInfo).port // It listens on a port, not on a pipe.
}
