import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Clock, monotonicClock } from '../../runtime/clock.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { noTracing, type Tracing } from '../../vocabulary/tracing.ts'
import type { Secrets } from '../portal/protocol.ts'
import { limits, type RecipientKind, recipientKinds, sourceRanges } from '../portal/wire.ts'
import { type Deadline, Deadlines } from './deadlines.ts'
import { matchesSecrets } from './match-secrets.ts'
import { bodyConsumed, bodyOfIncoming, bodyOfRequest, type ReadBody } from './received-body.ts'
import { headOfIncoming, headOfRequest, namesSeveral, type ReceivedHead } from './received-head.ts'
import { clientAddress, forwardedHops, parseRanges } from './source-ranges.ts'

/** A notification as it came in, checked and not yet stored. */
export interface IncomingNotification {
  readonly evento: string
  readonly recipient: { readonly kind: RecipientKind | null; readonly id: string }
  readonly body: Uint8Array
}

/** Why the portal takes a notification for lost: it was answered too late, or could not be stored. */
type LossReason = 'late' | 'unstored'

/** Whom to believe, and where to store. */
export interface ReceiverOptions {
  readonly clock: Clock
  /** The ranges that notifications may come from, or `any`. The portal's own by default. */
  readonly sources?: readonly string[] | 'any'
  /** How many proxies of yours stand in front and add to `X-Forwarded-For`. */
  readonly trustedProxies?: number
  /** The secrets that a notification of this event may carry: one of them must fit whole. */
  readonly secretsOf: (evento: string) => Promise<readonly Secrets[]>
  /** Asked where none of those fits: whether its secrets are newer or former ones that may be taken. */
  readonly recheck?: (head: ReceivedHead) => Promise<boolean>
  /** Resolves when the notification is durable. */
  readonly store: (incoming: IncomingNotification) => Promise<void>
  readonly bodyBytesMax?: number
  /** Told of every answer, and how long it took. */
  readonly onAnswered?: (status: number, ms: number) => void
  readonly tracing?: Tracing
  /** Told of what was refused: the status, the reason, the event that it named, and what helps to find out why. */
  readonly onRefused: (status: number, reason: string, evento: string, detail: string | undefined) => void
  /** Told of what could not be stored, and was answered 503. */
  readonly onStoreError: (error: unknown) => void
  /** Told of a notification that the portal will have a failure record of, right after it was answered. */
  readonly onMissed?: (reason: LossReason) => void
  /** Told of a request that the host did not pass on whole, and of the event that it named. */
  readonly onMiswired?: (error: AverbaError, evento: string) => void
}

/** Takes the portal's notifications: a 2xx is a commit (document 3, section 6). */
export interface Receiver {
  /**
   * Answers one request on any host. Without an address it is refused, unless sources are `any`. A body that is not
   * what was announced is answered 500.
   *
   * @throws {AverbaError} `REMOTE_ADDRESS_MISSING`, `BODY_CONSUMED` when it was read before: the host wired it wrongly
   */
  fetch(request: Request, from?: { remoteAddress: string }): Promise<Response>
  /** The same for node:http and node:https, and for whatever hands on their requests. */
  listener(incoming: IncomingMessage, outgoing: ServerResponse): void
  /** Reports whether a connection from an address can bring a notification that is not refused for it. */
  takesFrom(remoteAddress: string): boolean
}

interface ReceiverAnswer {
  readonly status: number
  readonly text?: string
}

/** The portal gives up after 3500 ms: our 503 must reach it before that. */
const budgetMs = limits.processingMs - 500
const defaultBodyBytesMax = 1_048_576

/** Stated, so that the end of the answer is known with its head. */
const noContent = { 'content-length': '0' }

/** What the operator is told of a refusal. The sender is told less. */
const refusals: Readonly<Record<number, string>> = {
  400: 'its header event-type is missing, too long or there with several values',
  401: 'its secrets are not those of the subscription',
  403: "its address is in none of the portal's ranges, or of receiver.sources",
  405: 'it is not a POST',
  413: 'its body is too large',
}

/** Makes a receiver. */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { clock, sources = sourceRanges, trustedProxies = 0, bodyBytesMax = defaultBodyBytesMax } = options
  const isAllowed = sources === 'any' ? undefined : parseRanges(sources)
  const { tracing = noTracing } = options
  const elapsedMs = monotonicClock(clock)
  const deadlines = new Deadlines(clock, budgetMs)

  /** Most wrongly refused senders come through a wrong number of trusted proxies. */
  const wayOf = ({ forwarded }: ReceivedHead) => {
    const { length } = forwardedHops(forwarded)
    return `${length} forwarded hop${length === 1 ? '' : 's'}, trustedProxies ${trustedProxies}`
  }

  /** Refuses what the head alone shows to be wrong. */
  function refuse(head: ReceivedHead, remoteAddress: string): ReceiverAnswer | undefined {
    if (head.method !== 'POST') return { status: 405, text: 'Only POST is taken here' }
    if (isAllowed && !isAllowed(clientAddress(remoteAddress, head.forwarded, trustedProxies))) {
      return { status: 403, text: 'This address may not notify' }
    }
    const isNamed = head.evento !== '' && head.evento.length <= limits.evento && !namesSeveral(head)
    return isNamed
      ? undefined
      : { status: 400, text: 'The header event-type is missing, too long or there with several values' }
  }

  /** Secrets, body and commit, all within the budget: after it no commit begins, and one under way goes on. */
  async function take(head: ReceivedHead, readBody: ReadBody, deadline: Deadline): Promise<ReceiverAnswer> {
    const { evento, contentLength } = head
    const isKnown = matchesSecrets(head, await options.secretsOf(evento))
    if (!isKnown && !(await options.recheck?.(head))) {
      return { status: 401, text: 'The secrets do not fit' }
    }
    const isTooLarge = Number(contentLength) > bodyBytesMax
    const body = isTooLarge ? undefined : await readBody(bodyBytesMax, deadline)
    if (deadline.isOver) return { status: 503, text: 'It came too slowly' }
    if (!body) return { status: 413, text: 'The body is too large' }
    await options.store({ evento, recipient: recipientOf(head), body })
    // Which success counts is not shown: 200 does under every reading, 204 may not.
    return { status: 200 }
  }

  /** Tells of what kept a notification from being stored, and answers so. */
  function fail(error: unknown, { evento }: ReceivedHead): ReceiverAnswer {
    if (error instanceof AverbaError && error.code === 'BODY_CONSUMED') {
      options.onMiswired?.(error, evento)
      return { status: 500, text: `${error.message}. ${error.hint}` }
    }
    options.onStoreError(error)
    return { status: 503, text: 'It could not be stored' }
  }

  /** A body that was already consumed is answered at once. If the portal sent it, the portal has a record of it. */
  function failConsumed(error: AverbaError, head: ReceivedHead, remoteAddress: string): ReceiverAnswer {
    if (!refuse(head, remoteAddress)) options.onMissed?.('unstored')
    return fail(error, head)
  }

  /** Whichever comes first: the answer, or the end of its time. */
  function inTime(head: ReceivedHead, readBody: ReadBody): Promise<ReceiverAnswer> {
    const began = elapsedMs()
    const deadline = deadlines.begin()
    return new Promise(resolve => {
      const end = (answer: ReceiverAnswer, missed?: LossReason) => {
        deadlines.end(deadline)
        resolve(answer)
        if (missed !== undefined) options.onMissed?.(missed)
      }
      deadline.onOver = () => end({ status: 503, text: 'It was not stored in time' }, 'late')
      take(head, readBody, deadline).then(
        answer => {
          if (deadline.isOver) return
          // A store that holds up the whole process holds up the deadline too.
          const isLate = answer.status < 300 && elapsedMs() - began > limits.processingMs
          end(answer, isLate ? 'late' : undefined)
        },
        error => {
          const answer = fail(error, head)
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
    // The sender's own trace is ignored: anybody may claim one.
    const answer = await tracing.span('server', 'averba notification', {}, async end => {
      const made = readBody
        ? (refuse(head, remoteAddress) ?? (await inTime(head, readBody)))
        : failConsumed(bodyConsumed(), head, remoteAddress)
      end({ 'http.response.status_code': made.status })
      return made
    })
    options.onAnswered?.(answer.status, elapsedMs() - began)
    const { status } = answer
    if (status >= 400 && status < 500)
      options.onRefused(status, refusals[status] ?? '', head.evento, status === 403 ? wayOf(head) : undefined)
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
        failConsumed(error, head, remoteAddress)
        throw error
      }
      const { status, text } = await receive(head, remoteAddress, readBody)
      return text === undefined
        ? new Response(null, { status, headers: noContent })
        : new Response(`${text}\n`, { status })
    },
    listener(incoming, outgoing) {
      const { remoteAddress = '' } = incoming.socket
      const head = headOfIncoming(incoming)
      receive(head, remoteAddress, bodyOfIncoming(incoming, head))
        .then(answer => {
          // The portal got what the host had answered before, and may have a record of what is stored.
          if (!write(outgoing, answer) && answer.status < 300) options.onMissed?.('late')
        })
        .catch(options.onStoreError)
    },
    // A proxy stands for whoever is behind it.
    takesFrom: remoteAddress => !isAllowed || trustedProxies > 0 || isAllowed(remoteAddress),
  }
}

function addressMissing(): AverbaError {
  return new AverbaError('REMOTE_ADDRESS_MISSING', 'Cannot check where the notification comes from', {
    hint: "Pass { remoteAddress }, or set receiver.sources to 'any' when another layer checks it",
  })
}

/**
 * Answers, unless somebody has already. What is left of an unread body would have to be read: the connection is closed
 * instead.
 */
function write(outgoing: ServerResponse, { status, text }: ReceiverAnswer): boolean {
  // The host has answered in our place, such as when its own time was over.
  if (outgoing.headersSent) return false
  if (text === undefined) outgoing.writeHead(status, noContent).end()
  else {
    outgoing.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
    outgoing.end(`${text}\n`)
  }
  return true
}

/** Far longer than any that is known: those that differ behind it are one recipient. */
const recipientIdMax = 1_000

function recipientOf({ recipientKind, recipientId }: ReceivedHead): IncomingNotification['recipient'] {
  const tipo = recipientKind.trim().toUpperCase()
  const kind = recipientKinds.find(each => each === tipo) ?? null
  return { kind, id: recipientId.trim().slice(0, recipientIdMax) }
}
