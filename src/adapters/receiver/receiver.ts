import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Clock, cancelReason, monotonicClock } from '../../runtime/clock.ts'
import { AverbaError, hasCode } from '../../vocabulary/errors.ts'
import { noTracing, type Tracing } from '../../vocabulary/tracing.ts'
import type { Secrets } from '../portal/protocol.ts'
import { charactersIn, limits, type RecipientKind, recipientKinds, sourceRanges } from '../portal/wire.ts'
import { createQuota } from './quota.ts'
import { bodyConsumed, bodyOfIncoming, bodyOfRequest, type Deadline, type ReadBody } from './received-body.ts'
import { headOfIncoming, headOfRequest, type ReceivedHead } from './received-head.ts'
import { clientAddress, forwardedHops, matchesSecrets, needsSecret, parseRanges } from './sender.ts'

export interface IncomingNotification {
  readonly evento: string
  readonly recipient: { readonly kind: RecipientKind | null; readonly id: string }
  readonly body: Uint8Array
}

/** Why the portal counts a notification as failed: it was answered too late, or could not be stored. */
type LossReason = 'late' | 'unstored'

/** Which notifications to accept, and where to store them. */
export interface ReceiverOptions {
  readonly clock: Clock
  /** The ranges that notifications may come from, or `any`. The portal's own by default. */
  readonly sources?: readonly string[] | 'any'
  /** How many trusted proxies add to `X-Forwarded-For`. */
  readonly trustedProxies?: number
  /** The accepted secrets of an event. A notification must match one entry in full. */
  readonly secretsOf: (evento: string) => Promise<readonly Secrets[]>
  /** Called when none of those match. Returns whether newer or older secrets match that are accepted too. */
  readonly recheck?: (head: ReceivedHead) => Promise<boolean>
  /** Resolves when the notification is durable. */
  readonly store: (incoming: IncomingNotification) => Promise<void>
  readonly bodyBytesMax?: number
  /** Whether the host declares an event: others may be sent by anybody in the ranges. */
  readonly isDeclared?: (evento: string) => boolean
  /** Bytes an hour to store of notifications that show no secret, or of no declared event: 256 MiB when absent. */
  readonly unprovenBytesPerHourMax?: number
  /** Called when a notification is answered 503 because that is spent. */
  readonly onQuotaSpent?: (evento: string) => void
  /** Called for every answer, with the time that it took. */
  readonly onAnswered?: (status: number, ms: number) => void
  readonly tracing?: Tracing
  /** Called for every refusal: the status, the reason, the event named, and a detail that helps to find the cause. */
  readonly onRefused: (status: number, reason: string, evento: string, detail: string | undefined) => void
  /** Called when a notification was not stored and answered 503. */
  readonly onStoreError: (error: unknown) => void
  /** Called right after the answer to a notification that the portal will have a failure record of. */
  readonly onMissed?: (reason: LossReason) => void
  /** Called for a request that the host did not pass on completely, with the event named. */
  readonly onMiswired?: (error: AverbaError, evento: string) => void
}

/** Receives the portal's notifications: a 2xx means that the notification is stored (document 3, section 6). */
export interface Receiver {
  /**
   * Answers one request on any host. Without an address it is refused, unless sources are `any`. A body that is not as
   * long as announced is answered 500.
   *
   * @throws {AverbaError} `REMOTE_ADDRESS_MISSING`; `BODY_CONSUMED` when the host read the body before
   */
  fetch(request: Request, from?: { remoteAddress: string }): Promise<Response>
  /** The same for node:http and node:https, and for frameworks that expose their requests. */
  listener(incoming: IncomingMessage, outgoing: ServerResponse): void
  /** Reports whether notifications from an address can be accepted. */
  takesFrom(remoteAddress: string): boolean
}

interface ReceiverAnswer {
  readonly status: number
  readonly text?: string
}

/** The portal gives up after 3500 ms: our 503 must reach it before that. */
const budgetMs = limits.processingMs - 500
const defaultBodyBytesMax = 1_048_576
const defaultUnprovenBytesPerHourMax = 256 * 1_048_576

/** States the length, so that the answer ends with its head. */
const noContent = { 'content-length': '0' }

/** The reason of each refusal in the operator's log. The answer to the sender says less. */
const refusalReasons: Readonly<Record<number, string>> = {
  400: 'its header event-type is missing, too long or has several values',
  401: 'its secrets are not those of the subscription',
  403: "its address is not in the portal's ranges, or not in receiver.sources",
  405: 'it is not a POST',
  413: 'its body is too large',
}

export function createReceiver(options: ReceiverOptions): Receiver {
  const { clock, sources = sourceRanges, trustedProxies = 0, bodyBytesMax = defaultBodyBytesMax } = options
  const isAllowed = sources === 'any' ? undefined : parseRanges(sources)
  const { tracing = noTracing } = options
  const elapsedMs = monotonicClock(clock)
  const quota = createQuota(options.unprovenBytesPerHourMax ?? defaultUnprovenBytesPerHourMax, elapsedMs)

  /** A wrong number of trusted proxies is the usual cause of a wrong 403. */
  const describeHops = ({ forwarded }: ReceivedHead) => {
    const { length } = forwardedHops(forwarded)
    return `${length} forwarded hop${length === 1 ? '' : 's'}, trustedProxies ${trustedProxies}`
  }

  function checkHead(head: ReceivedHead, remoteAddress: string): ReceiverAnswer | undefined {
    if (head.method !== 'POST') return { status: 405, text: 'Only POST is allowed' }
    if (isAllowed && !isAllowed(clientAddress(remoteAddress, head.forwarded, trustedProxies)))
      return { status: 403, text: 'This address may not notify' }
    const { evento } = head
    const isNamed = evento !== '' && charactersIn(evento) <= limits.evento && !evento.includes(', ')
    return isNamed
      ? undefined
      : { status: 400, text: 'The header event-type is missing, too long or has several values' }
  }

  /** Checks the secrets, reads the body and stores it. No commit begins after the budget; one in progress continues. */
  async function accept(head: ReceivedHead, readBody: ReadBody, deadline: Deadline): Promise<ReceiverAnswer> {
    const { evento, contentLength } = head
    const candidates = await options.secretsOf(evento)
    const isKnown = matchesSecrets(head, candidates)
    if (!isKnown && !(await options.recheck?.(head))) return { status: 401, text: 'The secrets do not match' }
    const isDeclared = options.isDeclared?.(evento) !== false
    const isProven = candidates.some(needsSecret) && isDeclared
    const bytes = Number(contentLength) || 0
    const isTooLarge = bytes > bodyBytesMax
    // What would not be stored is not read either.
    const isRead = !isTooLarge && (isProven || quota.has(bytes))
    const body = isRead ? await readBody(bodyBytesMax, deadline) : undefined
    if (deadline.isOver) return { status: 503, text: 'The body arrived too slowly' }
    if (isTooLarge || (isRead && !body)) return { status: 413, text: 'The body is too large' }
    if (!body || !(isProven || quota.take(body.byteLength))) {
      options.onQuotaSpent?.(evento)
      // The portal may have sent it: then it has a failure record.
      if (isDeclared) options.onMissed?.('unstored')
      return { status: 503, text: 'Too much was received that shows no secret' }
    }
    await options.store({ evento, recipient: readRecipient(head), body })
    // The contract does not show which status means success: 200 is safe, 204 may not be.
    return { status: 200 }
  }

  /** Reports why a notification was not stored, and returns the answer. */
  function answerFailure(error: unknown, { evento }: ReceivedHead): ReceiverAnswer {
    if (hasCode(error, 'BODY_CONSUMED')) {
      options.onMiswired?.(error, evento)
      return { status: 500, text: `${error.message}. ${error.hint}` }
    }
    options.onStoreError(error)
    return { status: 503, text: 'The notification could not be stored' }
  }

  /** If the portal sent the consumed body, it will have a failure record. */
  function answerConsumed(error: AverbaError, head: ReceivedHead, remoteAddress: string): ReceiverAnswer {
    if (!checkHead(head, remoteAddress)) options.onMissed?.('unstored')
    return answerFailure(error, head)
  }

  /** Resolves with the answer, or with a 503 when its time is over first. */
  function withDeadline(head: ReceivedHead, readBody: ReadBody): Promise<ReceiverAnswer> {
    const began = elapsedMs()
    const deadline = { isOver: false }
    const answered = new AbortController()
    return new Promise(resolve => {
      const end = (answer: ReceiverAnswer, missed?: LossReason) => {
        answered.abort(cancelReason)
        resolve(answer)
        if (missed !== undefined) options.onMissed?.(missed)
      }
      void clock.sleep(budgetMs, answered.signal, 'the time of a request').then(() => {
        if (answered.signal.aborted) return
        deadline.isOver = true
        end({ status: 503, text: 'The notification was not stored in time' }, 'late')
      })
      accept(head, readBody, deadline).then(
        answer => {
          if (deadline.isOver) return
          // A store that blocks the whole process blocks the deadline timer too.
          const isLate = answer.status < 300 && elapsedMs() - began > limits.processingMs
          end(answer, isLate ? 'late' : undefined)
        },
        error => {
          const answer = answerFailure(error, head)
          if (!deadline.isOver) end(answer, 'unstored')
        },
      )
    })
  }

  async function receive(
    head: ReceivedHead,
    remoteAddress: string,
    readBody: ReadBody | undefined,
  ): Promise<ReceiverAnswer> {
    const began = elapsedMs()
    // The sender's trace context is ignored: anyone can send one.
    const answer = await tracing.span('server', 'averba notification', {}, async end => {
      const made = readBody
        ? (checkHead(head, remoteAddress) ?? (await withDeadline(head, readBody)))
        : answerConsumed(bodyConsumed(), head, remoteAddress)
      end({ 'http.response.status_code': made.status })
      return made
    })
    options.onAnswered?.(answer.status, elapsedMs() - began)
    const { status } = answer
    const detail = status === 403 ? describeHops(head) : undefined
    if (status >= 400 && status < 500) options.onRefused(status, refusalReasons[status] ?? '', head.evento, detail)
    return answer
  }

  return {
    async fetch(request, from) {
      const head = headOfRequest(request)
      if (!from && isAllowed) {
        const error = addressMissing()
        options.onMiswired?.(error, head.evento)
        throw error
      }
      const remoteAddress = from?.remoteAddress ?? ''
      const readBody = bodyOfRequest(request, head)
      if (!readBody) {
        const error = bodyConsumed()
        answerConsumed(error, head, remoteAddress)
        throw error
      }
      const { status, text } = await receive(head, remoteAddress, readBody)
      return text === undefined
        ? new Response(null, { status, headers: noContent })
        : new Response(`${text}\n`, { status, headers: refusalHeaders(status) })
    },
    listener(incoming, outgoing) {
      const { remoteAddress = '' } = incoming.socket
      const head = headOfIncoming(incoming)
      receive(head, remoteAddress, bodyOfIncoming(incoming, head))
        .then(answer => {
          // The host had already answered, so the portal may have a failure record of a stored notification.
          if (!writeAnswer(outgoing, answer) && answer.status < 300) options.onMissed?.('late')
        })
        .catch(options.onStoreError)
    },
    // With a proxy the remote address is not the sender's.
    takesFrom: remoteAddress => !isAllowed || trustedProxies > 0 || isAllowed(remoteAddress),
  }
}

function addressMissing(): AverbaError {
  return new AverbaError('REMOTE_ADDRESS_MISSING', 'Cannot check the source of the notification', {
    hint: "Pass { remoteAddress }, or set receiver.sources to 'any' when another layer checks it",
  })
}

function refusalHeaders(status: number): Record<string, string> {
  return { 'content-type': 'text/plain; charset=utf-8', ...(status === 405 && { allow: 'POST' }) }
}

/** Returns false if the host has already answered. An unread body closes the connection. */
function writeAnswer(outgoing: ServerResponse, { status, text }: ReceiverAnswer): boolean {
  if (outgoing.headersSent) return false
  if (text === undefined) outgoing.writeHead(status, noContent).end()
  else {
    outgoing.writeHead(status, { ...refusalHeaders(status), connection: 'close' })
    outgoing.end(`${text}\n`)
  }
  return true
}

/** Far longer than any known id. Ids that differ only after it count as one recipient. */
const recipientIdMax = 1_000

function readRecipient({ recipientKind, recipientId }: ReceivedHead): IncomingNotification['recipient'] {
  const tipo = recipientKind.trim().toUpperCase()
  const kind = recipientKinds.find(each => each === tipo) ?? null
  return { kind, id: recipientId.trim().slice(0, recipientIdMax) }
}
