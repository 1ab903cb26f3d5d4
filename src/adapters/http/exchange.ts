import pRetry from 'p-retry'
import type { Clock } from '../../runtime/clock.ts'
import { describeConnectionError, OversizedError, UnsentError } from '../../vocabulary/connection-errors.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { type AnswerLimits, answerBytesMax, type Fetch, withLimits } from '../../vocabulary/fetch.ts'
import type { AttemptOutcome, MessageWithParts } from '../../vocabulary/message.ts'
import type { EffectClass, MayLeave } from '../../vocabulary/performer.ts'
import { readBoundedText } from './bounded-body.ts'
import { redactEcho } from './redact-echo.ts'

/** An answer, read to its end. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The text as it may be kept and shown: without the credentials and the CPF that were sent. */
  readonly told: () => string
}

/** How a request ended: answered, certainly never sent, or lost on the way. */
export type Exchange =
  | { readonly status: 'answered'; readonly answer: HttpAnswer }
  /** Of a call that goes again with another token, the first request may have been answered. */
  | { readonly status: 'unsent'; readonly reason: string; readonly isAnswered?: true }
  | { readonly status: 'lost'; readonly reason: string; readonly isOversized?: true }

/** What every client sends and waits with. */
export interface ExchangeOptions {
  readonly fetch: Fetch
  readonly clock: Clock
  /** Limits of the answer, where it may take more than usual. */
  readonly limits?: AnswerLimits
  /** What the body of the request carries that an answer may quote and nobody is shown: keys, a CPF. */
  readonly carried?: readonly string[]
}

const retries = 2

/**
 * Sends a request. A request that certainly never left is tried again at once, and so is a reading that was lost. All
 * waiting is left to the ledger, so p-retry only counts. `mayLeave` is asked each time, once all else is ready.
 */
export async function exchange(
  options: ExchangeOptions,
  effectClass: EffectClass,
  write: () => Request,
  mayLeave: MayLeave = async () => true,
): Promise<Exchange> {
  checkWritable(write)
  let isOurs = true
  const attempt = async (): Promise<HttpAnswer> => {
    isOurs = await mayLeave()
    if (!isOurs) throw new UnsentError('another process has it by now')
    const { status, headers, body } = await options.fetch(withLimits(write(), options.limits))
    // A host's own way out may have no bound.
    const bytesMax = options.limits?.bodyBytesMax ?? answerBytesMax
    const text = await readBoundedText(body ?? [], bytesMax, headers.get('content-type'))
    return { status, headers, text, told: () => redactEcho(write(), options.carried)(text) }
  }
  try {
    const answer = await pRetry(attempt, {
      retries,
      minTimeout: 0,
      maxTimeout: 0,
      shouldRetry: ({ error }) => isOurs && isRepeatable(error, effectClass, options.limits),
    })
    return { status: 'answered', answer }
  } catch (error) {
    if (error instanceof AverbaError) throw error
    if (error instanceof OversizedError)
      return { status: 'lost', reason: describeConnectionError(error), isOversized: true }
    return {
      status: error instanceof UnsentError ? 'unsent' : 'lost',
      reason: describeConnectionError(error),
    }
  }
}

/** A request that cannot even be written was never sent: no header can carry its address or credential. */
function checkWritable(write: () => Request): void {
  try {
    write()
  } catch {
    throw unwritable()
  }
}

/** Without a cause: an error about a credential that cannot be written quotes it. */
export function unwritable(): AverbaError {
  return new AverbaError(
    'MISCONFIGURED',
    'Cannot write the request: its address or a credential is malformed',
    {
      hint: 'A credential holds no line break, and nothing else that a header cannot carry: look at where it is read',
    },
  )
}

function isRepeatable(error: unknown, effectClass: EffectClass, limits: AnswerLimits | undefined): boolean {
  // Neither a wrong certificate nor too large an answer gets better at once.
  if (error instanceof AverbaError || error instanceof OversizedError) return false
  // What may take most of a lease is not waited for twice within it.
  if (limits && error instanceof Error && error.name === 'TimeoutError') return false
  return error instanceof UnsentError || effectClass === 'read'
}

/** How an operation reads its answers. */
export interface AnswerReader {
  /** The service's name in words. */
  readonly service: string
  /** The fact that a success makes; `undefined` when the answer cannot be read. */
  readonly settled: (text: string) => MessageWithParts | undefined
  /** The fact that the service declined. */
  readonly declined: (answer: HttpAnswer) => MessageWithParts
  /** The fact that the outcome is unknown, given what was answered all the same. */
  readonly lost: (text?: string) => MessageWithParts
  readonly isSuccess: (status: number) => boolean
}

/**
 * What an exchange says about the work:
 *
 * - settled: a success that can be read.
 * - declined: any other 4xx: certainly not done, and asking again would not help.
 * - deferred: certainly not done, and it may go later: never sent, 429, 503 with a time.
 * - unknown: perhaps done: lost, unreadable, 408, 5xx. A reading changes nothing, so it is deferred.
 */
export function conclude(
  result: Exchange,
  effectClass: EffectClass,
  reading: AnswerReader,
  clock: Clock,
): AttemptOutcome {
  const doubt = (reason: string, answer?: HttpAnswer): AttemptOutcome =>
    effectClass === 'read' || effectClass === 'idempotent'
      ? { status: 'deferred', reason }
      : { status: 'unknown', reason, fact: reading.lost(answer?.told()) }
  if (result.status === 'unsent') return { ...result, status: 'deferred' }
  if (result.status === 'lost') return doubt(result.reason)
  const { answer } = result
  const { status } = answer
  if (reading.isSuccess(status)) {
    const fact = reading.settled(answer.text)
    return fact ? { status: 'settled', fact } : doubt('the answer cannot be read', answer)
  }
  const reason = `the ${reading.service} answered ${status}`
  const afterMs = retryAfterMs(answer, clock)
  if (status === 429 || (status === 503 && afterMs !== undefined)) {
    return { status: 'deferred', reason, isAnswered: true, ...(afterMs !== undefined && { afterMs }) }
  }
  return isRefusal(status)
    ? { status: 'declined', reason, fact: reading.declined(answer) }
    : doubt(reason, answer)
}

/** Reports whether a status is a no: not that the request came too slowly, or that there are too many. */
export function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429
}

const retryAfterMaxMs = 24 * 3_600_000

/** The wait that a service asks for, clamped to a day: seconds, or an HTTP date. */
function retryAfterMs(answer: HttpAnswer, clock: Clock): number | undefined {
  const text = answer.headers.get('retry-after')
  if (text === null) return undefined
  // Anything else would be read as some year.
  const dated = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*, .+ GMT$/.test(text) ? Date.parse(text) : Number.NaN
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : dated - clock.now()
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 1_000), retryAfterMaxMs)
}
