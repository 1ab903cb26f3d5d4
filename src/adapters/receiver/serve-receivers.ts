import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Certificate } from '../credentials/certificate.ts'
import { ServerCertificates } from '../credentials/server-certificates.ts'
import type { Source } from '../credentials/source.ts'
import type { Receiver } from './receiver.ts'

/** What to serve, and how much of a client to bear. */
export interface ServeReceiversOptions {
  /**
   * Receivers by the path of their endpoint, such as `/averba`; those of several logs, each under a path of its own.
   */
  readonly receivers: Readonly<Record<string, ServedReceiver>>
  /** The server's certificate with its key; a function is asked again every minute, for one that was renewed. */
  readonly certificate: Source<Certificate>
  /**
   * Certificates for other names, such as `aduana.exemplo.br` or `*.exemplo.br`, by the name that a client asks for.
   */
  readonly certificates?: Readonly<Record<string, Source<Certificate>>>
  readonly host?: string
  /** 443 when absent: the portal delivers to no other. */
  readonly port?: number
  /** How long the handshake, the head of a request, and the whole of it may take. */
  readonly handshakeTimeoutMs?: number
  readonly headersTimeoutMs?: number
  readonly requestTimeoutMs?: number
  readonly headerBytesMax?: number
  /** Half of them are kept for addresses that may notify. */
  readonly connectionsMax?: number
  /** Told of a certificate that could not be renewed: the former one is shown until it can. */
  readonly onTrouble?: (error: unknown) => void
  readonly clock?: Clock
}

/** A receiver, and whether a connection from an address can bring it anything. */
type ServedReceiver = Pick<Receiver, 'listener'> & Partial<Pick<Receiver, 'takesFrom'>>

/** A server that takes notifications, to be closed. */
export interface ReceiverServer {
  readonly port: number
  /** Accepts nothing more, and lets what is under way end, within seconds. */
  close(): Promise<void>
}

/** Longer than the portal waits for an answer. */
const closeWaitMs = 5_000

/**
 * Serves receivers over HTTPS: TLS 1.2 or newer, with bounds on what a client may send and how slowly. Bodies are
 * bounded by each receiver.
 *
 * @throws {AverbaError} `MISCONFIGURED` when a path or a certificate cannot be used, or nothing can listen there
 */
export async function serveReceivers(options: ServeReceiversOptions): Promise<ReceiverServer> {
  const { receivers, certificate, certificates = {}, host, port = 443, clock = systemClock } = options
  const { onTrouble = () => undefined } = options
  checkReceivers(receivers)
  if (certificate === undefined) {
    throw new AverbaError('MISCONFIGURED', 'Cannot serve the receivers: there is no certificate', {
      hint: 'Give certificate: { cert, key } as PEM text, or { pfx, passphrase }, for the name in receiver.publicUrl',
    })
  }
  const sources = new Map([...Object.entries(certificates), ['', certificate] as const])
  const shown = new ServerCertificates(sources, clock, onTrouble)
  const own = await shown.load()
  const { handshakeTimeoutMs = 5_000, headersTimeoutMs = 5_000, requestTimeoutMs = 10_000 } = options
  const answers = new Answers()
  const server = createServer(
    {
      ...own,
      SNICallback: (name, done) => done(null, shown.find(name)),
      handshakeTimeout: handshakeTimeoutMs,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: Math.min(headersTimeoutMs, 1_000),
      maxHeaderSize: options.headerBytesMax ?? 16_384,
    },
    (incoming, outgoing) => {
      answers.add(outgoing)
      const path = pathOf(incoming)
      const receiver = Object.hasOwn(receivers, path) ? receivers[path] : undefined
      if (receiver) return receiver.listener(incoming, outgoing)
      outgoing.writeHead(404, { connection: 'close' }).end()
    },
  )
  shown.showTo(server)
  const { connectionsMax = 1_000 } = options
  server.maxConnections = connectionsMax
  keepRoom(server, Object.values(receivers), connectionsMax / 2)
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(cannotListen(port, cause)))
    server.listen(port, host, resolve)
  })
  const { port: taken } = server.address() as AddressInfo // It listens on a port, not on a pipe.
  return { port: taken, close: () => close(server, answers, clock) }
}

/** Whoever may not notify is told so while there is room, and keeps nobody else out who says nothing. */
function keepRoom(server: Server, receivers: readonly ServedReceiver[], strangersMax: number): void {
  const strangers = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket
    if (receivers.some(({ takesFrom }) => takesFrom?.(remoteAddress) ?? true)) return
    if (strangers.size >= strangersMax) socket.destroy()
    else strangers.add(socket)
    socket.once('close', () => strangers.delete(socket))
  })
}

function cannotListen(port: number, cause: NodeJS.ErrnoException): AverbaError {
  const hint =
    cause.code === 'EACCES'
      ? 'Ports below 1024 take a right, such as CAP_NET_BIND_SERVICE; or put a proxy in front'
      : 'Give a host and a port that are free'
  const message = `Cannot serve the receivers: nothing can listen on port ${port} (${cause.code})`
  return new AverbaError('MISCONFIGURED', message, { cause, hint })
}

/** The path of a request, whose target may be a whole address as well (RFC 9112, 3.2.2). */
function pathOf({ url = '' }: IncomingMessage): string {
  const [path = ''] = url.split('?')
  return path.startsWith('/') ? path : (URL.parse(path)?.pathname ?? '')
}

/** The answers under way: once the server closes, each is the last of its connection. */
class Answers {
  readonly #underWay = new Set<ServerResponse>()
  #isClosing = false

  add(outgoing: ServerResponse): void {
    this.#underWay.add(outgoing)
    outgoing.once('close', () => this.#underWay.delete(outgoing))
    if (this.#isClosing) outgoing.shouldKeepAlive = false
  }

  close(): void {
    this.#isClosing = true
    for (const outgoing of this.#underWay) outgoing.shouldKeepAlive = false
  }
}

async function close(server: Server, answers: Answers, clock: Clock): Promise<void> {
  answers.close()
  const closed = new AbortController()
  const ending = new Promise<void>(resolve => server.close(() => resolve()))
  await Promise.race([ending, clock.sleep(closeWaitMs, closed.signal)])
  closed.abort()
  server.closeAllConnections()
  await ending
}

function checkReceivers(receivers: Readonly<Record<string, unknown>> = {}): void {
  const paths = Object.keys(receivers)
  const wrong = paths.find(path => !/^\/[^?#\s]*$/.test(path))
  const isNone = (path: string) => typeof Object(receivers[path]).listener !== 'function'
  const none = paths.find(isNone)
  if (wrong === undefined && none === undefined && paths.length > 0) return
  const [what = 'there is none'] = [
    ...(wrong === undefined ? [] : [`"${wrong}" is not a path`]),
    ...(none === undefined ? [] : [`what is given for "${none}" is no receiver`]),
  ]
  throw new AverbaError('MISCONFIGURED', `Cannot serve the receivers: ${what}`, {
    hint: "Give { receivers: { '/averba': averba.receiver } }, with the path of receiver.publicUrl",
  })
}
