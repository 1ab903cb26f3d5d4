import pRetry from 'p-retry'
import type { Clock } from '../../runtime/clock.ts'
import { describeConnectionError, OversizedError, UnsentError } from '../../vocabulary/connection-errors.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { type AnswerLimits, answerBytesMax, type Fetch, withLimits } from '../../vocabulary/fetch.ts'
import { foreignCodeIn, type UnreadAnswer } from '../../vocabulary/foreign-answer.ts'
import { backoffMs, minuteMs } from '../../vocabulary/instant.ts'
import type { AttemptOutcome, Fact, PendingEffect } from '../../vocabulary/message.ts'
import type { ServiceName } from '../../vocabulary/names.ts'
import { alwaysSend, type EffectClass, type MaySend } from '../../vocabulary/performer.ts'
import { errorLengthMax, readBoundedText } from './answer-body.ts'
import { type DeclaredAnswer, declaredMeaning, formOf, isOwnForm, meaningOf } from './answer-meaning.ts'
import { redactEcho } from './redact-echo.ts'

/** An answer whose body has been read. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Its beginning, without the credentials and the CPF that were sent: safe to store and show. */
  readonly redacted: () => string
}

/** The result of a request: answered, certainly not sent, or lost on the way. */
export type Exchange =
  | { readonly status: 'answered'; readonly answer: HttpAnswer }
  /** `isAnswered`: the call was answered before, and could not be repeated with another token. */
  | { readonly status: 'unsent'; readonly reason: string; readonly isAnswered?: true }
  | { readonly status: 'lost'; readonly reason: string }

/** What every client needs to send requests. */
export interface ExchangeOptions {
  readonly fetch: Fetch
  readonly clock: Clock
  readonly answerBytesMax?: number | undefined
  /** How long a request may take. */
  readonly timeoutMs?: number | undefined
  /** Limits of the answer, if not the usual ones. */
  readonly limits?: AnswerLimits
  /** Secrets and CPFs in the request body: they are removed from answers that quote them. */
  readonly sensitive?: readonly string[]
  /** Forms that the host knows its service to answer in. */
  readonly answers?: readonly DeclaredAnswer[] | undefined
}

const retries = 2

/**
 * Sends a request and reads the answer. Retries at once if the request was not sent, or if a read was lost; longer
 * waits are left to the ledger. `maySend` is called before each attempt.
 */
export async function sendRequest(
  options: ExchangeOptions,
  effectClass: EffectClass,
  buildRequest: () => Request,
  maySend: MaySend = alwaysSend,
): Promise<Exchange> {
  checkRequest(buildRequest)
  const { answerBytesMax: bodyBytesMax, timeoutMs: budgetMs } = options
  const limits = { ...(bodyBytesMax && { bodyBytesMax }), ...(budgetMs && { budgetMs }), ...options.limits }
  let isOurs = true
  const attempt = async (): Promise<HttpAnswer> => {
    const mayLeave = await maySend()
    isOurs = mayLeave !== undefined
    if (!mayLeave) throw new UnsentError('another process has taken it over')
    const request = withLimits(buildRequest(), { ...limits, mayLeave })
    const { status, headers, body } = await options.fetch(request)
    // A host's own `fetch` may have no limit.
    const text = await readBoundedText(body ?? [], limits.bodyBytesMax ?? answerBytesMax, headers.get('content-type'))
    return {
      status,
      headers,
      text,
      redacted: () => redactEcho(buildRequest(), options.sensitive)(text.slice(0, errorLengthMax)),
    }
  }
  try {
    const answer = await pRetry(attempt, {
      retries,
      minTimeout: 0,
      maxTimeout: 0,
      shouldRetry: ({ error }) => isOurs && mayRetryAtOnce(error, effectClass, options.limits),
    })
    return { status: 'answered', answer }
  } catch (error) {
    if (error instanceof AverbaError) throw error
    if (error instanceof OversizedError) return { status: 'lost', reason: oversizedReason(error) }
    return { status: error instanceof UnsentError ? 'unsent' : 'lost', reason: describeConnectionError(error) }
  }
}

function oversizedReason({ message }: OversizedError): string {
  return `ANSWER_TOO_LARGE: ${message}`
}

/** Throws for a request that cannot be built, such as one whose credential no header can carry. */
function checkRequest(buildRequest: () => Request): void {
  try {
    buildRequest()
  } catch {
    throw malformedRequest()
  }
}

/** The error for a request that cannot be built. It has no cause, which would quote the credential. */
export function malformedRequest(): AverbaError {
  return new AverbaError('MISCONFIGURED', 'Cannot build the request: its address or a credential is malformed', {
    hint: 'Remove line breaks and other characters that a header cannot carry: check where it is read from',
  })
}

function mayRetryAtOnce(error: unknown, effectClass: EffectClass, limits: AnswerLimits | undefined): boolean {
  // A second attempt helps neither a wrong certificate nor too large an answer.
  if (error instanceof AverbaError || error instanceof OversizedError) return false
  // A proxy that refuses our password may lock the account.
  if (error instanceof UnsentError && foreignCodeIn(error.message)) return false
  // A request with its own limits may take most of a lease: there is no time for a second timeout.
  if (limits && error instanceof Error && error.name === 'TimeoutError') return false
  return error instanceof UnsentError || effectClass === 'read'
}

/** What a success says; `undefined` when it cannot be read. A long list is read in pieces. */
export type ReadFact<F extends Fact> = F | undefined | Promise<F | undefined>

export interface AnswerReader<F extends Fact> {
  readonly service: ServiceName
  readonly settled: (text: string) => ReadFact<F>
  /** Why a success cannot be read, when more can be said than that. */
  readonly unreadable?: string
  readonly declined: (answer: HttpAnswer) => F
  /** The fact that the outcome is unknown, with the text of the answer if there was one. */
  readonly lost: (text?: string) => F
  /** Whether a refusal in the service's form is about what was asked: any is when absent. */
  readonly isAboutCall?: (answer: HttpAnswer) => boolean
  /** 200 alone is a success when absent. */
  readonly isSuccess?: (status: number) => boolean
}

const serviceWords: Readonly<Record<ServiceName, string>> = {
  consentService: 'consent service',
  tokenService: 'token service',
  validationService: 'validation service',
  portal: 'portal',
}

/** Growing waits while somebody else answers: each is twice the one before. */
const foreignBaseMs = minuteMs
const foreignMaxMs = 15 * minuteMs

/** How many characters of an answer that was not understood are kept. */
const unreadMax = 16_384

/**
 * Concludes from an exchange what happened to the effect:
 *
 * - settled: a success that can be read.
 * - otherwise what the table of answers says. Of a reading, an unknown outcome is a deferred one, since it changes
 *   nothing. An answer of somebody else defers a call that can be repeated or read back, with growing waits; a call
 *   that is sent once is unknown.
 */
export async function toOutcome<F extends Fact>(
  result: Exchange,
  effectClass: EffectClass,
  reader: AnswerReader<F>,
  { clock, answers }: Pick<ExchangeOptions, 'clock' | 'answers'>,
  pending: Pick<PendingEffect, 'attempts' | 'reason'>,
): Promise<AttemptOutcome<F>> {
  const unknownOutcome = (reason: string, answer?: HttpAnswer): AttemptOutcome<F> => {
    const isUnread = answer && (answer.status < 300 || !isOwnForm(answer, reader.service))
    const unread = isUnread && { unread: unreadAnswer(answer, reader.service) }
    return effectClass === 'read' || effectClass === 'idempotent'
      ? { status: 'deferred', reason, ...unread, ...(foreignCodeIn(reason) && { afterMs: foreignWaitMs(pending) }) }
      : { status: 'unknown', reason, fact: reader.lost(answer?.redacted()), ...unread }
  }
  if (result.status === 'unsent') {
    const wait = foreignCodeIn(result.reason) && { afterMs: foreignWaitMs(pending) }
    return { ...result, status: 'deferred', ...wait }
  }
  if (result.status === 'lost') return unknownOutcome(result.reason)
  const { answer } = result
  const { status } = answer
  if (reader.isSuccess?.(status) ?? status === 200) {
    try {
      const fact = await reader.settled(answer.text)
      return fact
        ? { status: 'settled', fact }
        : unknownOutcome(reader.unreadable ?? 'the answer cannot be read', answer)
    } catch (error) {
      if (error instanceof OversizedError) return unknownOutcome(oversizedReason(error))
      throw error
    }
  }
  const { service } = reader
  const reason = `the ${serviceWords[service]} answered ${status}`
  const afterMs = retryAfterMs(answer, clock)
  // A wait that cannot be read is none.
  const has = (name: string) => answer.headers.has(name) && (name !== 'retry-after' || afterMs !== undefined)
  const headers = { get: (name: string) => answer.headers.get(name), has }
  const byTable = meaningOf({ ...answer, headers }, service, effectClass === 'once')
  const told = byTable === 'declined' && reader.isAboutCall?.(answer) === false ? 'SERVICE_MISDIRECTED' : byTable
  const meaning = declaredMeaning(answer, answers) ?? told
  switch (meaning) {
    case 'deferred':
      return {
        ...{ status: 'deferred', reason, isAnswered: true },
        ...(afterMs !== undefined && { afterMs, isServiceBusy: true }),
      }
    case 'declined':
      return { status: 'declined', reason, fact: reader.declined(answer) }
    case 'unknown':
      return unknownOutcome(reason, answer)
    default: {
      const whose = `${meaning}: the address of the ${serviceWords[service]} answered ${status}, and the answer is not its own`
      if (effectClass === 'once') return unknownOutcome(whose, answer)
      const afterMs = foreignWaitMs(pending)
      return { status: 'deferred', reason: whose, afterMs, isAnswered: true, unread: unreadAnswer(answer, service) }
    }
  }
}

/** The first of these answers in a row is followed by a minute; then all attempts count, also those of an outage. */
function foreignWaitMs({ reason, attempts }: Pick<PendingEffect, 'attempts' | 'reason'>): number {
  return backoffMs(foreignCodeIn(reason) ? attempts - 1 : 0, foreignBaseMs, foreignMaxMs)
}

/** Members whose values are never kept: tokens, and the secrets of subscriptions, which may be those of others. */
const secretMembers =
  /("(?:access_token|refresh_token|id_token|chaveSecreta|chaveAutenticacao|conteudo|senha|password|secret|authorization)"\s*:\s*)"(?:[^"\\]|\\[\s\S])*"?/gi

function unreadAnswer(answer: HttpAnswer, service: ServiceName): UnreadAnswer {
  const { status } = answer
  // A success that cannot be read is full of what the service holds: only that of a person's call is kept.
  const isTheirs = status < 300 && (service === 'tokenService' || service === 'portal')
  const text = isTheirs ? '' : answer.redacted().replace(secretMembers, '$1"***"').slice(0, unreadMax).toWellFormed()
  return { httpStatus: status, form: formOf(answer), text }
}

const retryAfterMaxMs = 24 * 3_600_000

/** The wait that a service asks for, in seconds or as an HTTP date: between a second and a day. */
function retryAfterMs(answer: HttpAnswer, clock: Clock): number | undefined {
  const text = answer.headers.get('retry-after')
  if (text === null) return undefined
  // `Date.parse` makes some year of other texts.
  const dated = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*, .+ GMT$/.test(text) ? Date.parse(text) : Number.NaN
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : dated - clock.now()
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 1_000), retryAfterMaxMs)
}
