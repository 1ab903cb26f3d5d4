import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Agent, Dispatcher } from 'undici'
import type { Clock } from '../../runtime/clock.ts'
import { deniedFlag, isRequestUnread, nodeErrorCode, UnsentError } from '../../vocabulary/connection-errors.ts'
import type { AverbaError } from '../../vocabulary/errors.ts'
import { answerBytesMax, defaultBudgetMs, limitsOf } from '../../vocabulary/fetch.ts'
import type { Certificate, UsableCertificate } from '../credentials/certificate.ts'
import { RenewedCertificate } from '../credentials/renewed-certificate.ts'
import type { Source } from '../credentials/secret.ts'
import { limitBytes, readBounded } from './answer-body.ts'
import { openTunnel, type ProxyChoice } from './outbound-proxy.ts'
import { skipContinue } from './skip-continue.ts'

type Undici = typeof import('undici')

/** A `Fetch` over real sockets. Close it after use. */
export type HttpSocket = Readonly<ReturnType<typeof openSocket>>

/** Trusted authority, client certificate, and limits of the answer. */
export interface SocketOptions {
  readonly clock: Clock
  /** The authority to trust instead of the system's, as PEM text. */
  readonly ca?: string
  readonly certificate?: Source<Certificate>
  /** Called when a certificate that expires within a month is first used. */
  readonly onExpiring?: (daysLeft: number) => void
  /** Called when a function no longer returns a usable certificate: the previous one stays in use. */
  readonly onTrouble?: (error: AverbaError) => void
  /** Time for the whole exchange, from the DNS lookup to the last byte. */
  readonly budgetMs?: number
  readonly bodyBytesMax?: number
  readonly localAddress?: string
  /** The proxy that a connection goes through, by `CONNECT`. */
  readonly proxyFor?: ProxyChoice
  /** Sends what is meant for `host:port` to another address; the certificate is still checked by name. */
  readonly connectTo?: (authority: string) => { host: string; port: number } | undefined
}

const expiryWarningDays = 30

/** While the current certificate is valid, a request waits for a slow vault only for this part of its budget. */
const renewalWaitShare = 0.1

/**
 * Opens an HTTP client over sockets. The certificate is loaded when the first request leaves. A function that returns
 * it is called again every minute, and later requests use the new certificate.
 */
export function openSocket(options: SocketOptions) {
  const { clock, certificate: source, onTrouble = () => undefined } = options
  const { budgetMs = defaultBudgetMs, bodyBytesMax = answerBytesMax } = options
  // Imported here: most commands open no socket, and the first request of a host should not wait for the import.
  const undici = import('undici').catch(cause => {
    const flag = deniedFlag(cause)
    throw flag === '' ? cause : new UnsentError(flag)
  })
  undici.catch(() => undefined) // The requests get it.
  const renewal = { whose: 'client', clock, onTrouble, waitMs: budgetMs * renewalWaitShare } as const
  const certificate = source === undefined ? undefined : new RenewedCertificate(source, renewal)
  let opened: { readonly agent: Agent; readonly certificate: UsableCertificate | undefined } | undefined
  let isClosed = false

  /** Requests in flight finish on the connections of the former certificate. */
  function agentOfCurrent(module: Undici): Agent {
    const current = certificate?.current
    if (opened && opened.certificate === current) return opened.agent
    if (isClosed) throw new UnsentError('UND_ERR_CLOSED')
    opened?.agent.close().catch(() => undefined)
    if (current && current.daysLeft <= expiryWarningDays) options.onExpiring?.(current.daysLeft)
    const agent = createAgent(module, options, current)
    opened = { agent, certificate: current }
    return agent
  }

  async function send(request: Request, onConnected?: () => void): Promise<Dispatcher.ResponseData> {
    const withinMs = limitsOf(request).budgetMs ?? budgetMs
    const module = await undici
    const body = request.body === null ? null : Buffer.from(await request.arrayBuffer())
    // The vault has its own time limit: waiting for it does not use up the time of the request.
    await certificate?.prepare()
    const signal = AbortSignal.any([AbortSignal.timeout(withinMs), request.signal])
    return dispatchRequest(module.request, { request, body, agent: agentOfCurrent(module), signal }, onConnected)
  }

  return {
    async fetch(request: Request): Promise<Response> {
      const answer = await send(request)
      const bytesMax = limitsOf(request).bodyBytesMax ?? bodyBytesMax
      return toResponse(answer, await readBounded(answer.body, bytesMax))
    },
    /** An error after the head (too large, too slow, cut off) is thrown while the body is read. */
    async stream(request: Request, onConnected?: () => void): Promise<Response> {
      const answer = await send(request, onConnected)
      return toResponse(answer, toStream(answer.body, bodyBytesMax))
    },
    /** Waits for no answer: who needs one waits before. */
    async close(): Promise<void> {
      isClosed = true
      await opened?.agent.destroy()
    },
  }
}

function createAgent(undici: Undici, options: SocketOptions, certificate: UsableCertificate | undefined): Agent {
  const { Agent, buildConnector } = undici
  const { ca, localAddress, connectTo, proxyFor, budgetMs = defaultBudgetMs } = options
  const tls = {
    ...(ca !== undefined && { ca }),
    ...(certificate && { cert: certificate.cert, key: certificate.key }),
    // Overrides NODE_TLS_REJECT_UNAUTHORIZED, which is often set for something else.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2' as const,
    allowH2: false,
  }
  // An abort signal does not stop a connection attempt: it needs its own timeout.
  const connector = buildConnector({ ...tls, timeout: budgetMs })
  return new Agent({
    connect(target, callback) {
      const port = target.port || (target.protocol === 'https:' ? '443' : '80')
      const to = connectTo?.(`${target.hostname}:${port}`)
      const redirected = to && { hostname: to.host, port: String(to.port), servername: target.hostname }
      const connect = (tunnel?: Duplex) =>
        connector(
          { ...target, ...redirected, localAddress: localAddress ?? null, ...through(tunnel) },
          (...connected) => {
            const [error, socket] = connected
            // Nothing is written before the connection exists, so the request was not sent.
            if (error) return callback(new UnsentError(nodeErrorCode(error)), null)
            // TLS 1.3 refuses our certificate only after we began to send: report that, not the closed connection.
            socket?.once('error', reason => socket.destroy(reason))
            if (socket) skipContinue(socket)
            callback(...connected)
          },
        )
      const proxy = proxyFor?.(target.hostname, port)
      if (proxy === undefined) return connect()
      const host = to?.host ?? target.hostname
      const authority = `${host.includes(':') ? `[${host}]` : host}:${to?.port ?? port}`
      openTunnel(undici, proxy, authority, budgetMs)
        .then(connect)
        .catch((error: Error) => callback(error, null))
    },
    allowH2: false,
  })
}

/** TLS runs over any stream, which undici types as a socket. */
function through(tunnel: Duplex | undefined): { httpSocket?: Socket } {
  return tunnel ? { httpSocket: tunnel as Socket } : {}
}

interface PendingRequest {
  readonly request: Request
  readonly body: Buffer | null
  readonly agent: Agent
  readonly signal: AbortSignal
}

async function dispatchRequest(
  undiciRequest: Undici['request'],
  { request, body, agent, signal }: PendingRequest,
  onConnected: () => void = () => undefined,
): Promise<Dispatcher.ResponseData> {
  let isWriting = false
  const { mayLeave = () => true } = limitsOf(request)
  const onStart = () => {
    // Aborted while connecting: it will not be written any more.
    if (signal.aborted) return
    // Connecting may have taken longer than this process holds the call. Nothing was written yet.
    if (!mayLeave()) throw new UnsentError('another process may have taken it over')
    isWriting = true
    onConnected()
  }
  try {
    return await undiciRequest(request.url, {
      dispatcher: agent.compose(notifyOnStart(onStart)),
      method: request.method,
      // It decodes no answer: one that came compressed could not be read, and a paid result would be lost.
      headers: { 'accept-encoding': 'identity', ...Object.fromEntries(request.headers) },
      body,
      signal,
    })
  } catch (error) {
    if (error instanceof UnsentError || (isWriting && !isRequestUnread(error))) throw error
    // An abort is a DOMException, or an error without a code; what Deno does not permit has a flag.
    const code = error instanceof DOMException ? '' : nodeErrorCode(error) || deniedFlag(error)
    throw new UnsentError(code === '' ? 'UND_ERR_CONNECT_TIMEOUT' : code)
  }
}

/** Calls back when a request begins to be written: its connection exists then. */
function notifyOnStart(onStart: () => void): Dispatcher.DispatcherComposeInterceptor {
  return dispatch => (options, handler) =>
    dispatch(options, {
      onRequestStart(controller, context) {
        onStart()
        handler.onRequestStart?.(controller, context)
      },
      onResponseStart: (...given) => handler.onResponseStart?.(...given),
      onResponseData: (...given) => handler.onResponseData?.(...given),
      onResponseEnd: (...given) => handler.onResponseEnd?.(...given),
      onResponseError: (...given) => handler.onResponseError?.(...given),
    })
}

/** The body as a stream. Cancelling it closes the connection at once. */
function toStream(body: Dispatcher.ResponseData['body'], bytesMax: number): ReadableStream<Uint8Array> {
  const chunks = limitBytes(body, bytesMax)
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel() {
      body.on('error', () => undefined) // Caused by cancelling.
      body.destroy()
    },
  })
}

function toResponse(answer: Dispatcher.ResponseData, body: Buffer<ArrayBuffer> | ReadableStream): Response {
  const isBodiless = [204, 205, 304].includes(answer.statusCode)
  return new Response(isBodiless ? null : body, { status: answer.statusCode, headers: toHeaders(answer.headers) })
}

function toHeaders(raw: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers()
  for (const [name, value = []] of Object.entries(raw)) for (const each of [value].flat()) headers.append(name, each)
  return headers
}
