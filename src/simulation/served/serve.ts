import { createServer as createHttpServer, type Server as HttpServer } from 'node:http'
import { createServer, type Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { getRequestListener } from '@hono/node-server'
import { OpenConnections } from './open-connections.ts'

/** Who is at the other end of a request. */
export interface Peer {
  readonly remoteAddress: string
  /** The common name of the client certificate, where one was presented and our authority signed it. */
  readonly clientName?: string
}

/** What a server shows of itself: a certificate with its key, as PEM text. */
interface ServerCertificate {
  readonly cert: string
  readonly key: string
}

/** The server's certificate, and which clients it recognises. */
export interface ServeOptions extends ServerCertificate {
  /** Asked at each new connection: what to show instead of the server's own certificate. */
  readonly showInstead?: () => ServerCertificate | undefined
  /** Asks the client for a certificate of this authority. Without one the request still arrives. */
  readonly clientCa?: string
  readonly host?: string
  readonly port?: number
}

/** A server on loopback, to be closed. */
export interface Server {
  readonly port: number
  close(): Promise<void>
}

/** A server over TLS, to be closed. */
export interface TlsServer extends Server {
  /** Ends the connections; resolves when the next request needs a new one. */
  renewConnections(): Promise<void>
}

/** Serves a handler over HTTPS, TLS 1.2 or newer. A handler that throws breaks the connection. */
export async function serve(
  handle: (request: Request, peer: Peer) => Response | Promise<Response>,
  options: ServeOptions,
): Promise<TlsServer> {
  const { cert, key, clientCa, showInstead, host = '127.0.0.1', port = 0 } = options
  const listener = getRequestListener(
    (request, { incoming }) => {
      const socket = incoming.socket as TLSSocket // An HTTPS server's requests come over TLS.
      const subject = socket.authorized ? socket.getPeerCertificate().subject : undefined
      const clientName = [subject?.CN ?? []].flat()[0]
      const remoteAddress = socket.remoteAddress ?? ''
      const peer = { remoteAddress, ...(clientName !== undefined && { clientName }) }
      const answered = async () => handle(request, peer)
      return answered().catch((error: unknown) => {
        socket.destroy()
        throw error
      })
    },
    { overrideGlobalObjects: false },
  )
  const asksForCertificate = clientCa !== undefined && {
    ca: clientCa,
    requestCert: true,
    rejectUnauthorized: false,
  }
  const server = createServer(
    { cert, key, minVersion: 'TLSv1.2', ...asksForCertificate },
    (incoming, outgoing) => {
      void listener(incoming, outgoing)
    },
  )
  if (showInstead) showPerConnection(server, showInstead, { cert, key, ...asksForCertificate })
  const connections = new OpenConnections(server)
  return { ...(await listen(server, host, port)), renewConnections: () => connections.renew() }
}

/** Decides at each connection, before its handshake, which certificate it is shown. */
function showPerConnection(
  server: HttpsServer,
  showInstead: () => ServerCertificate | undefined,
  own: ServerCertificate,
): void {
  let shown = own
  // A new context has new ticket keys, so that no client resumes a session and misses the certificate.
  server.prependListener('connection', () => {
    const next = { ...own, ...showInstead() }
    if (next.cert === shown.cert) return
    server.setSecureContext(next)
    shown = next
  })
}

/** Serves a handler over plain HTTP, on loopback only: for the control of simulated services. */
export async function serveControl(
  handle: (request: Request) => Promise<Response>,
  port = 0,
): Promise<Server> {
  const listener = getRequestListener(handle, { overrideGlobalObjects: false })
  return listen(
    createHttpServer((incoming, outgoing) => void listener(incoming, outgoing)),
    '127.0.0.1',
    port,
  )
}

async function listen(server: HttpServer | HttpsServer, host: string, port: number): Promise<Server> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port, // It listens on a port, not on a pipe.
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
