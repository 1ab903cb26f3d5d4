import { createServer as createHttpServer, type Server as HttpServer, type IncomingMessage } from 'node:http'
import { createServer, type Server as HttpsServer } from 'node:https'
import { TLSSocket } from 'node:tls'
import { getRequestListener } from '@hono/node-server'
import { AverbaError } from '../../vocabulary/errors.ts'
import { listen } from '../../vocabulary/listen.ts'
import type { IssuedCertificate } from './authority.ts'

/** The client at the other end of a request. */
export interface Peer {
  readonly remoteAddress: string
  /** The common name of the client certificate, if one was presented that our authority signed. */
  readonly clientName?: string
}

/** Where a server listens. */
export interface ListenOptions {
  /** The port; a free one when absent. */
  readonly port?: number | undefined
  /** The address; that of loopback when absent. */
  readonly host?: string | undefined
}

/** The server's certificate and address, and the clients that it identifies. */
export interface ServeOptions extends IssuedCertificate, ListenOptions {
  /** Called for each new connection: the certificate to present instead of the server's own. */
  readonly replaceCertificate?: () => IssuedCertificate | undefined
  /** Asks the client for a certificate of this authority. Requests without one are still handled. */
  readonly clientCa?: string | undefined
}

export interface Server {
  readonly port: number
  close(): Promise<void>
}

/**
 * Serves a handler over HTTPS with TLS 1.2 or newer. Each request needs a new connection, so that a changed certificate
 * concerns the next request. When the handler throws, the connection is destroyed.
 */
export async function serveHttps(
  handle: (request: Request, peer: Peer) => Response | Promise<Response>,
  options: ServeOptions,
): Promise<Server> {
  const { cert, key, clientCa, replaceCertificate } = options
  const listener = getRequestListener(
    (request, { incoming }) => {
      const { socket } = incoming
      const subject = socket instanceof TLSSocket && socket.authorized ? socket.getPeerCertificate().subject : undefined
      const clientName = [subject?.CN ?? []].flat()[0]
      const remoteAddress = socket.remoteAddress ?? ''
      const peer = { remoteAddress, ...(clientName !== undefined && { clientName }) }
      const answer = async () => handle(request, peer)
      return answer().catch((error: unknown) => {
        socket.destroy()
        throw error
      })
    },
    { overrideGlobalObjects: false },
  )
  const clientCertificate = clientCa !== undefined && { ca: clientCa, requestCert: true, rejectUnauthorized: false }
  const server = createServer({ cert, key, minVersion: 'TLSv1.2', ...clientCertificate }, (incoming, outgoing) => {
    outgoing.setHeader('connection', 'close')
    void listener(incoming, outgoing)
  })
  if (replaceCertificate)
    chooseCertificatePerConnection(server, replaceCertificate, { cert, key, ...clientCertificate })
  return listenOn(server, options)
}

function chooseCertificatePerConnection(
  server: HttpsServer,
  replaceCertificate: () => IssuedCertificate | undefined,
  own: IssuedCertificate,
): void {
  let current = own
  // A new context has new ticket keys, so no client can resume a session and skip the certificate.
  server.prependListener('connection', () => {
    const next = { ...own, ...replaceCertificate() }
    if (next.cert === current.cert) return
    server.setSecureContext(next)
    current = next
  })
}

/** How long the head of a request to the control server and the whole of it may take. */
const controlTimes = { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 }

/** Serves the control server of the simulated services over plain HTTP, to this machine, or to those who use `name`. */
export async function serveControl(
  handle: (request: Request) => Promise<Response>,
  { name = 'localhost', ...listen }: ListenOptions & { readonly name?: string | undefined } = {},
): Promise<Server> {
  const listener = getRequestListener(handle, { overrideGlobalObjects: false })
  const server = createHttpServer(controlTimes, (incoming, outgoing) => {
    if (isFromOutside(incoming, name)) outgoing.writeHead(403, { connection: 'close' }).end(fromOutside)
    else void listener(incoming, outgoing)
  })
  return listenOn(server, listen)
}

const fromOutside = JSON.stringify({ error: 'the request is a page’s, or for another host than this machine' })

/** A page in a browser of this machine can send requests here too, under a name that leads to this machine. */
function isFromOutside(
  { headers: { host = '', origin = `http://${host}` }, socket }: IncomingMessage,
  name: string,
): boolean {
  const hosts = ['127.0.0.1', 'localhost', name].map(each => `${each}:${socket.localPort}`)
  return !hosts.includes(host) || origin !== `http://${host}`
}

async function listenOn(
  server: HttpServer | HttpsServer,
  { port = 0, host = '127.0.0.1' }: ListenOptions,
): Promise<Server> {
  const hint = 'Give another host or port'
  const fail = (code: string, cause: unknown) =>
    new AverbaError('INVALID_INPUT', `Cannot listen on ${host}:${port} (${code})`, { cause, hint })
  return {
    port: await listen(server, { port, host }, fail),
    close: () => new Promise(done => void server.close(() => done()).closeAllConnections()),
  }
}
