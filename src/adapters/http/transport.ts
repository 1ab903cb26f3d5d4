import { isDeepStrictEqual } from 'node:util'
import type { Agent, Dispatcher } from 'undici'
import { type Clock, cancelReason, systemClock } from '../../runtime/clock.ts'
import { isRequestUnread, nodeErrorCode, UnsentError } from '../../vocabulary/connection-errors.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import {
  answerBytesMax,
  defaultBudgetMs,
  type Fetch,
  limitsOf,
  type StreamingFetch,
} from '../../vocabulary/fetch.ts'
import { isWithin } from '../../vocabulary/instant.ts'
import {
  type Certificate,
  type UsableCertificate,
  useCertificate,
  useNextCertificate,
} from '../credentials/certificate.ts'
import { type Source, valueFrom } from '../credentials/source.ts'
import { bounded, readBounded } from './bounded-body.ts'

type Undici = typeof import('undici')

/** A `Fetch` over real sockets, to be closed. */
export interface Socket {
  readonly fetch: Fetch
  /** An error after the head comes while reading: over the bound, over the time, or cut off. */
  readonly stream: StreamingFetch
  close(): Promise<void>
}

/** Whom to trust, who we are, and how long and how large an answer may be. */
export interface SocketOptions {
  /** Decides whether a certificate has expired. */
  readonly clock: Clock
  /** The authority to trust instead of the system's, as PEM text. */
  readonly ca?: string
  readonly certificate?: Source<Certificate>
  /** Told of a certificate that ends within a month, when it is first used. */
  readonly onExpiring?: (daysLeft: number) => void
  /** Told when a function no longer gives a usable certificate: the former one stays in use. */
  readonly onTrouble?: (error: AverbaError) => void
  /** The whole exchange, from the look-up of the name to the last byte. */
  readonly budgetMs?: number
  readonly bodyBytesMax?: number
  /** The address to send from. */
  readonly localAddress?: string
  /** Sends what is meant for `host:port` to another address; the certificate is still checked by name. */
  readonly connectTo?: (authority: string) => { host: string; port: number } | undefined
}

/** How many days before its end an expiring certificate is told of. */
const expiryWarningDays = 30

/** How long a certificate from a function is used before the function is asked again. */
const certificateAgeMaxMs = 60_000

/** A vault that is slow holds up a request for no more than this part of its budget, while the former one is good. */
const patience = 0.1

interface OpenedAgent {
  readonly agent: Agent
  readonly certificate: Certificate | undefined
  /** When that ends. */
  readonly endsAt: number
  readonly askedAt: number
}

interface CertificateRenewal {
  readonly done: Promise<OpenedAgent>
  /** When nobody waits for it any longer who can do without. */
  readonly slow: Promise<void>
}

/**
 * Opens a way out over sockets. The certificate is asked for when the first request leaves; one that a function
 * gives is asked for again from time to time, and a new one is used for all that leaves from then on.
 */
export function openSocket(options: SocketOptions): Socket {
  const { budgetMs = defaultBudgetMs, bodyBytesMax = answerBytesMax, clock } = options
  // Begun with the socket: most commands open none, and the first request of a host should not pay for it.
  const undici = import('undici')
  let opened: OpenedAgent | undefined
  let renewal: CertificateRenewal | undefined

  const hasEnded = ({ endsAt }: OpenedAgent) => endsAt < clock.now()

  async function renew(before: OpenedAgent | undefined): Promise<OpenedAgent> {
    const { certificate: source } = options
    const certificate = source === undefined ? undefined : await valueFrom(source, 'client certificate')
    const askedAt = clock.now()
    const isSame = before !== undefined && isDeepStrictEqual(certificate, before.certificate)
    if (isSame && !hasEnded(before)) return { ...before, askedAt }
    // A function that gives nothing would have us go without any.
    const use = before ? useNextCertificate : useCertificate
    const usable = source === undefined ? undefined : await use(certificate as Certificate, askedAt) // Checked.
    if (usable && usable.daysLeft <= expiryWarningDays) options.onExpiring?.(usable.daysLeft)
    const agent = createAgent(await undici, options, usable)
    return { agent, certificate, endsAt: usable?.endsAt ?? Number.POSITIVE_INFINITY, askedAt }
  }

  /** While there is a certificate that has not ended, a vault that is away or a half-written file ends nothing. */
  async function renewOrKeep(before: OpenedAgent | undefined): Promise<OpenedAgent> {
    try {
      return await renew(before)
    } catch (error) {
      if (!before || hasEnded(before) || !(error instanceof AverbaError)) throw error
      options.onTrouble?.(error)
      return { ...before, askedAt: clock.now() }
    }
  }

  /** One renewal at a time: a burst of requests must not open an agent each. */
  function beginRenewal(): CertificateRenewal {
    const over = new AbortController()
    const before = opened
    const done = renewOrKeep(before)
      .then(next => {
        opened = next
        // Requests under way on the old connections end there.
        if (before && before.agent !== next.agent) before.agent.close().catch(() => undefined)
        return next
      })
      .finally(() => {
        renewal = undefined
        over.abort(cancelReason)
      })
    done.catch(() => undefined) // Whoever still waits is told.
    return { done, slow: systemClock.sleep(budgetMs * patience, over.signal) }
  }

  /** One that has ended is shown to nobody: some services answer as if they refused what was asked. */
  async function freshen(): Promise<OpenedAgent> {
    const good = opened && !hasEnded(opened) ? opened : undefined
    const isOld = good && !isWithin(certificateAgeMaxMs, good.askedAt, clock.now())
    if (good && !(isOld && typeof options.certificate === 'function')) return good
    renewal ??= beginRenewal()
    const { done, slow } = renewal
    if (!good) return done
    await Promise.race([done, slow])
    return good
  }

  async function send(request: Request, onConnected?: () => void): Promise<Dispatcher.ResponseData> {
    const withinMs = limitsOf(request)?.budgetMs ?? budgetMs
    const { request: ask } = await undici
    const body = request.body === null ? null : Buffer.from(await request.arrayBuffer())
    // A vault that hangs has a limit of its own: its time is none in which a request is on its way.
    const found = await freshen()
    const signal = AbortSignal.any([AbortSignal.timeout(withinMs), request.signal])
    // Another may have taken its place since, and its connections are closed then.
    const { agent } = opened ?? found
    return exchange(ask, { request, body, agent, signal }, onConnected)
  }

  return {
    async fetch(request) {
      const answer = await send(request)
      const bytesMax = limitsOf(request)?.bodyBytesMax ?? bodyBytesMax
      return responseOf(answer, await readBounded(answer.body, bytesMax))
    },
    async stream(request, onConnected) {
      const answer = await send(request, onConnected)
      return responseOf(answer, streamOf(answer.body, bodyBytesMax))
    },
    async close() {
      const last = (await renewal?.done.catch(() => undefined)) ?? opened
      await last?.agent.close()
    },
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
    // Whatever NODE_TLS_REJECT_UNAUTHORIZED says: it is often set for something else.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2' as const,
    allowH2: false,
  }
  // A signal does not end a connection that is still being made.
  const connector = buildConnector({ ...tls, timeout: budgetMs })
  return new Agent({
    connect(target, callback) {
      const port = target.port || (target.protocol === 'https:' ? '443' : '80')
      const to = connectTo?.(`${target.hostname}:${port}`)
      const redirected = to && { hostname: to.host, port: String(to.port), servername: target.hostname }
      connector({ ...target, ...redirected, localAddress: localAddress ?? null }, (...connected) => {
        const [error, socket] = connected
        // Whatever ended it: nothing is written before the connection is there.
        if (error) return callback(new UnsentError(nodeErrorCode(error)), null)
        // TLS 1.3 refuses our certificate only after we have begun to send: its alert is the reason, not the end of the
        // connection that follows.
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

/** Sends a request and waits for the head of its answer. */
async function exchange(
  ask: Undici['request'],
  { request, body, agent, signal }: PendingRequest,
  onConnected: () => void = () => undefined,
): Promise<Dispatcher.ResponseData> {
  let isBegun = false
  const onBegun = () => {
    // Called off while its connection was being made, it is not written any more.
    if (signal.aborted) return
    isBegun = true
    onConnected()
  }
  try {
    return await ask(request.url, {
      dispatcher: agent.compose(telling(onBegun)),
      method: request.method,
      headers: Object.fromEntries(request.headers),
      body,
      signal,
    })
  } catch (error) {
    if (error instanceof UnsentError || (isBegun && !isRequestUnread(error))) throw error
    // What aborts has a number for a code, or none.
    const isCalledOff = error instanceof DOMException || nodeErrorCode(error) === ''
    throw new UnsentError(isCalledOff ? 'UND_ERR_CONNECT_TIMEOUT' : nodeErrorCode(error))
  }
}

/** Tells when a request begins to be written: its connection exists then. */
function telling(onBegun: () => void): Dispatcher.DispatcherComposeInterceptor {
  return dispatch => (options, handler) =>
    dispatch(options, {
      onRequestStart(controller, context) {
        onBegun()
        handler.onRequestStart?.(controller, context)
      },
      onResponseStart: (...given) => handler.onResponseStart?.(...given),
      onResponseData: (...given) => handler.onResponseData?.(...given),
      onResponseEnd: (...given) => handler.onResponseEnd?.(...given),
      onResponseError: (...given) => handler.onResponseError?.(...given),
    })
}

/** The body as a stream. Cancelling it breaks the connection, even while a chunk is awaited. */
function streamOf(body: Dispatcher.ResponseData['body'], bytesMax: number): ReadableStream<Uint8Array> {
  const chunks = bounded(body, bytesMax)
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel() {
      body.on('error', () => undefined) // That it was broken off is no news.
      body.destroy()
    },
  })
}

function responseOf(answer: Dispatcher.ResponseData, body: Buffer<ArrayBuffer> | ReadableStream): Response {
  const isBodiless = [204, 205, 304].includes(answer.statusCode)
  return new Response(isBodiless ? null : body, {
    status: answer.statusCode,
    headers: headersOf(answer.headers),
  })
}

function headersOf(raw: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(raw)) {
    for (const each of [value ?? []].flat()) headers.append(name, each)
  }
  return headers
}
