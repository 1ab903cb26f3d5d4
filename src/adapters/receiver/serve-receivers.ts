import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import { type Clock, systemClock, waitAtMost } from '../../runtime/clock.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { listen } from '../../vocabulary/listen.ts'
import type { Certificate } from '../credentials/certificate.ts'
import type { Source } from '../credentials/secret.ts'
import { createServerCertificates } from '../credentials/server-certificates.ts'
import type { Receiver } from './receiver.ts'

/** What to serve, and the limits for clients. */
export interface ServeReceiversOptions {
  /** Receivers by the path of their endpoint, such as `/averba`. Receivers of several logs have different paths. */
  readonly receivers: Readonly<Record<string, ServedReceiver>>
  /** The server's certificate with its key. A function is called again every minute, to get a renewed one. */
  readonly certificate: Source<Certificate>
  /** Certificates for other server names that clients ask for, such as `aduana.exemplo.br` or `*.exemplo.br`. */
  readonly certificates?: Readonly<Record<string, Source<Certificate>>>
  readonly host?: string
  /** 443 when absent: the portal delivers to no other port. */
  readonly port?: number
  /** How long the handshake, the head of a request, and the whole of it may take. */
  readonly handshakeTimeoutMs?: number
  readonly headersTimeoutMs?: number
  readonly requestTimeoutMs?: number
  readonly headerBytesMax?: number
  /** Half of them are reserved for addresses that may notify. */
  readonly connectionsMax?: number
  /** Called when a certificate could not be renewed: the previous one stays in use. */
  readonly onTrouble?: (error: unknown) => void
  readonly clock?: Clock
}

/** A receiver, and whether it accepts notifications from an address. */
type ServedReceiver = Pick<Receiver, 'listener'> & Partial<Pick<Receiver, 'takesFrom'>>

/** A server that receives notifications. Close it after use. */
export interface ReceiverServer {
  readonly port: number
  /** Stops accepting connections, and waits a few seconds for requests in progress. */
  close(): Promise<void>
}

/** How long closing waits for requests in progress: longer than the portal waits for an answer. */
const closeWaitMs = 5_000

/** See `serveReceivers` of src/index.ts. */
export async function serveReceivers(options: ServeReceiversOptions): Promise<ReceiverServer> {
  const { receivers, certificate, certificates = {}, host, port = 443, clock = systemClock } = options
  const { onTrouble = () => undefined } = options
  checkReceivers(receivers)
  if (certificate === undefined)
    throw new AverbaError('MISCONFIGURED', 'Cannot serve the receivers: there is no certificate', {
      hint: 'Give certificate: { cert, key } as PEM text, or { pfx, passphrase }, for the name in receiver.publicUrl',
    })
  const sources = new Map([...Object.entries(certificates), ['', certificate] as const])
  const serverCertificates = createServerCertificates(sources, clock, onTrouble)
  const own = await serverCertificates.load()
  const { handshakeTimeoutMs = 5_000, headersTimeoutMs = 5_000, requestTimeoutMs = 10_000 } = options
  const answers = new OpenAnswers()
  const server = createServer(
    {
      ...own,
      SNICallback: (name, done) => done(null, serverCertificates.find(name)),
      handshakeTimeout: handshakeTimeoutMs,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: Math.min(headersTimeoutMs, 1_000),
      maxHeaderSize: options.headerBytesMax ?? 16_384,
    },
    (incoming, outgoing) => {
      answers.add(outgoing)
      const path = requestPath(incoming)
      const receiver = Object.hasOwn(receivers, path) ? receivers[path] : undefined
      if (receiver) return receiver.listener(incoming, outgoing)
      outgoing.writeHead(404, { connection: 'close' }).end()
    },
  )
  serverCertificates.serveNewest(server)
  const { connectionsMax = 1_000 } = options
  server.maxConnections = connectionsMax
  limitStrangers(server, Object.values(receivers), connectionsMax / 2)
  const taken = await listen(server, { port, host }, (code, cause) => listenError(port, code, cause))
  return { port: taken, close: () => closeServer(server, answers, clock) }
}

/** Limits connections from addresses that may not notify: while there is room they get their 403. */
function limitStrangers(server: Server, receivers: readonly ServedReceiver[], strangersMax: number): void {
  const strangers = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket
    if (receivers.some(({ takesFrom }) => takesFrom?.(remoteAddress) ?? true)) return
    if (strangers.size >= strangersMax) socket.destroy()
    else strangers.add(socket)
    socket.once('close', () => strangers.delete(socket))
  })
}

function listenError(port: number, code: string, cause: unknown): AverbaError {
  const hint =
    code === 'EACCES'
      ? 'Ports below 1024 need a capability such as CAP_NET_BIND_SERVICE, or a proxy in front'
      : 'Give a host of this machine and a free port'
  const message = `Cannot serve the receivers: port ${port} cannot be opened (${code})`
  return new AverbaError('MISCONFIGURED', message, { cause, hint })
}

/** The path of a request. Its target may also be a full URL (RFC 9112, 3.2.2). */
function requestPath({ url = '' }: IncomingMessage): string {
  const [path = ''] = url.split('?')
  return path.startsWith('/') ? path : (URL.parse(path)?.pathname ?? '')
}

/** The answers in progress. Once the server closes, each is the last on its connection. */
class OpenAnswers {
  readonly #open = new Set<ServerResponse>()
  #isClosing = false

  add(outgoing: ServerResponse): void {
    this.#open.add(outgoing)
    outgoing.once('close', () => this.#open.delete(outgoing))
    if (this.#isClosing) outgoing.shouldKeepAlive = false
  }

  close(): void {
    this.#isClosing = true
    for (const outgoing of this.#open) outgoing.shouldKeepAlive = false
  }
}

async function closeServer(server: Server, answers: OpenAnswers, clock: Clock): Promise<void> {
  answers.close()
  const ending = new Promise<void>(resolve => server.close(() => resolve()))
  await waitAtMost(clock, closeWaitMs, ending)
  server.closeAllConnections()
  await ending
}

function checkReceivers(receivers: Readonly<Record<string, unknown>> = {}): void {
  const paths = Object.keys(receivers)
  const notPath = paths.find(path => !/^\/[^?#\s]*$/.test(path))
  const notReceiver = paths.find(path => typeof Object(receivers[path]).listener !== 'function')
  if (notPath === undefined && notReceiver === undefined && paths.length > 0) return
  const [why = 'no receiver is given'] = [
    ...(notPath === undefined ? [] : [`"${notPath}" is not a path`]),
    ...(notReceiver === undefined ? [] : [`the value for "${notReceiver}" is not a receiver`]),
  ]
  throw new AverbaError('MISCONFIGURED', `Cannot serve the receivers: ${why}`, {
    hint: "Give { receivers: { '/averba': averba.receiver } }, with the path of receiver.publicUrl",
  })
}
