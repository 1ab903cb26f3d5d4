import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import { createServer, type Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Averba } from '../index.ts'

/** A running server. */
export interface RunningServer {
  readonly port: number
  /** Stops the server and ends its open connections. */
  close(): Promise<void>
}

/** Starts a server, by default on loopback and a free port. */
export async function startListening(
  server: HttpServer | HttpsServer,
  host = '127.0.0.1',
  port = 0,
): Promise<RunningServer> {
  server.listen(port, host)
  await once(server, 'listening')
  const close = () => new Promise<void>(done => void server.close(() => done()).closeAllConnections())
  return { port: (server.address() as AddressInfo).port, close } // It listens on a port, not on a pipe.
}

/** Serves a receiver on loopback as a host would: with the HTTPS server of Node around the listener. */
export function serveReceiver({ receiver }: Averba, own: { cert: string; key: string }): Promise<RunningServer> {
  const { cert, key } = own
  return startListening(createServer({ cert, key, minVersion: 'TLSv1.2' }, receiver.listener))
}
