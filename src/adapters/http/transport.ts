import { isDeepStrictEqual } from 'node:util'
import type { Agent, Dispatcher } from 'undici'
import { type Clock, cancelReason, systemClock } from '../../runtime/clock.ts'
import { isRequestUnread, nodeErrorCode, UnsentError } from '../../vocabulary/connection-errors.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { answerBytesMax, defaultBudgetMs, type Fetch, limitsOf, type StreamingFetch } from '../../vocabulary/fetch.ts'
import { isWithin } from '../../vocabulary/instant.ts'
import {
  type Certificate,
  loadCertificate,
  loadNextCertificate,
  type UsableCertificate,
} from '../credentials/certificate.ts'
import { type Source, valueFrom } from '../credentials/secret.ts'
import { limitBytes, readBounded } from './answer-body.ts'

type Undici = typeof import('undici')

/** A `Fetch` over real sockets. Close it after use. */
export interface HttpSocket {
  readonly fetch: Fetch
  /** An error after the head (too large, too slow, cut off) is thrown while the body is read. */
  readonly stream: StreamingFetch
  close(): Promise<void>
}

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
  /** Sends what is meant for `host:port` to another address; the certificate is still checked by name. */
  readonly connectTo?: (authority: string) => { host: string; port: number } | undefined
}

const expiryWarningDays = 30

/** How long a certificate from a function is used before the function is called again. */
const certificateAgeMaxMs = 60_000

/** While the current certificate is valid, a request waits for a slow vault only for this part of its budget. */
const renewalWaitShare = 0.1

interface OpenedAgent {
  readonly agent: Agent
  readonly certificate: Certificate | undefined
  readonly endsAt: number
  readonly fetchedAt: number
}

interface CertificateRenewal {
  readonly done: Promise<OpenedAgent>
  /** Resolves when requests that have a valid certificate stop waiting. */
  readonly waitOver: Promise<void>
}

/**
 * Opens an HTTP client over sockets. The certificate is loaded when the first request leaves. A function that returns
 * it is called again every minute, and later requests use the new certificate.
 */
export function openSocket(options: SocketOptions): HttpSocket {
  const { budgetMs = defaultBudgetMs, bodyBytesMax = answerBytesMax } = options
  // Imported here: most commands open no socket, and the first request of a host should not wait for the import.
  const undici = import('undici')
  const agents = new RenewedAgent(options, undici)

  async function send(request: Request, onConnected?: () => void): Promise<Dispatcher.ResponseData> {
    const withinMs = limitsOf(request)?.budgetMs ?? budgetMs
    const { request: undiciRequest } = await undici
    const body = request.body === null ? null : Buffer.from(await request.arrayBuffer())
    // The vault has its own time limit: waiting for it does not use up the time of the request.
    const found = await agents.findUsable()
    const signal = AbortSignal.any([AbortSignal.timeout(withinMs), request.signal])
    // It may have been replaced meanwhile, and its connections closed.
    const { agent } = agents.newest ?? found
    return dispatchRequest(undiciRequest, { request, body, agent, signal }, onConnected)
  }

  return {
    async fetch(request) {
      const answer = await send(request)
      const bytesMax = limitsOf(request)?.bodyBytesMax ?? bodyBytesMax
      return toResponse(answer, await readBounded(answer.body, bytesMax))
    },
    async stream(request, onConnected) {
      const answer = await send(request, onConnected)
      return toResponse(answer, toStream(answer.body, bodyBytesMax))
    },
    close: () => agents.close(),
  }
}

/** An agent with the current certificate. */
class RenewedAgent {
  readonly #options: SocketOptions
  readonly #undici: Promise<Undici>
  #newest: OpenedAgent | undefined
  #renewal: CertificateRenewal | undefined

  constructor(options: SocketOptions, undici: Promise<Undici>) {
    this.#options = options
    this.#undici = undici
  }

  get newest(): OpenedAgent | undefined {
    return this.#newest
  }

  /** Never returns an expired certificate: some services then answer as if they refused the operation. */
  async findUsable(): Promise<OpenedAgent> {
    const { certificate, clock } = this.#options
    const usable = this.#newest && !this.#hasExpired(this.#newest) ? this.#newest : undefined
    const isOld = usable && !isWithin(certificateAgeMaxMs, usable.fetchedAt, clock.now())
    if (usable && !(isOld && typeof certificate === 'function')) return usable
    this.#renewal ??= this.#startRenewal()
    const { done, waitOver } = this.#renewal
    if (!usable) return done
    await Promise.race([done, waitOver])
    return usable
  }

  async close(): Promise<void> {
    const last = (await this.#renewal?.done.catch(() => undefined)) ?? this.#newest
    await last?.agent.close()
  }

  /** One renewal at a time: a burst of requests must not open an agent each. */
  #startRenewal(): CertificateRenewal {
    const finished = new AbortController()
    const before = this.#newest
    const done = this.#renewOrKeep(before)
      .then(next => {
        this.#newest = next
        // Requests in flight finish on the old connections.
        if (before && before.agent !== next.agent) before.agent.close().catch(() => undefined)
        return next
      })
      .finally(() => {
        this.#renewal = undefined
        finished.abort(cancelReason)
      })
    done.catch(() => undefined) // Callers that await `done` get the error.
    const { budgetMs = defaultBudgetMs } = this.#options
    return { done, waitOver: systemClock.sleep(budgetMs * renewalWaitShare, finished.signal) }
  }

  /** While the current certificate is valid, an unavailable vault or a half-written file stops no request. */
  async #renewOrKeep(before: OpenedAgent | undefined): Promise<OpenedAgent> {
    try {
      return await this.#renew(before)
    } catch (error) {
      if (!before || this.#hasExpired(before) || !(error instanceof AverbaError)) throw error
      this.#options.onTrouble?.(error)
      return { ...before, fetchedAt: this.#options.clock.now() }
    }
  }

  async #renew(before: OpenedAgent | undefined): Promise<OpenedAgent> {
    const { certificate: source, clock, onExpiring } = this.#options
    const certificate = source === undefined ? undefined : await valueFrom(source, 'client certificate')
    const fetchedAt = clock.now()
    const isSame = before !== undefined && isDeepStrictEqual(certificate, before.certificate)
    if (isSame && !this.#hasExpired(before)) return { ...before, fetchedAt }
    // If the function returned nothing, we must fail rather than connect without a certificate.
    const load = before ? loadNextCertificate : loadCertificate
    const usable = source === undefined ? undefined : await load(certificate as Certificate, fetchedAt) // Checked.
    if (usable && usable.daysLeft <= expiryWarningDays) onExpiring?.(usable.daysLeft)
    const agent = createAgent(await this.#undici, this.#options, usable)
    return { agent, certificate, endsAt: usable?.endsAt ?? Number.POSITIVE_INFINITY, fetchedAt }
  }

  #hasExpired({ endsAt }: OpenedAgent): boolean {
    return endsAt < this.#options.clock.now()
  }
}

function createAgent(
  { Agent, buildConnector }: Undici,
  options: SocketOptions,
  certificate: UsableCertificate | undefined,
): Agent {
  const { ca, localAddress, connectTo, budgetMs = defaultBudgetMs } = options
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
      connector({ ...target, ...redirected, localAddress: localAddress ?? null }, (...connected) => {
        const [error, socket] = connected
        // Nothing is written before the connection exists, so the request was not sent.
        if (error) return callback(new UnsentError(nodeErrorCode(error)), null)
        // TLS 1.3 refuses our certificate only after we began to send: report that alert, not the closed connection.
        socket?.once('error', reason => socket.destroy(reason))
        callback(...connected)
      })
    },
    allowH2: false,
  })
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
  const onStart = () => {
    // Aborted while connecting: it will not be written any more.
    if (signal.aborted) return
    isWriting = true
    onConnected()
  }
  try {
    return await undiciRequest(request.url, {
      dispatcher: agent.compose(notifyOnStart(onStart)),
      method: request.method,
      headers: Object.fromEntries(request.headers),
      body,
      signal,
    })
  } catch (error) {
    if (error instanceof UnsentError || (isWriting && !isRequestUnread(error))) throw error
    // An abort is a DOMException, or an error without a code.
    const isAborted = error instanceof DOMException || nodeErrorCode(error) === ''
    throw new UnsentError(isAborted ? 'UND_ERR_CONNECT_TIMEOUT' : nodeErrorCode(error))
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
  return new Response(isBodiless ? null : body, {
    status: answer.statusCode,
    headers: toHeaders(answer.headers),
  })
}

function toHeaders(raw: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(raw)) {
    for (const each of [value ?? []].flat()) headers.append(name, each)
  }
  return headers
}
