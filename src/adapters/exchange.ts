import pRetry from 'p-retry'
import type { Clock } from '../clock.ts'
import { AverbaError } from '../errors.ts'
import type { Outcome } from '../message.ts'
import type { EffectClass } from './performer.ts'
import { describe, type Fetch, UnsentError } from './transport.ts'

/** An answer, read to its end. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** How a request ended: answered, certainly never sent, or lost on the way. */
export type Exchange =
  | { readonly status: 'answered'; readonly answer: Answer }
  | { readonly status: 'unsent'; readonly because: string }
  | { readonly status: 'lost'; readonly because: string }

/** What every client sends and waits with. */
export interface ExchangeOptions {
  readonly fetch: Fetch
  readonly clock: Clock
}

const retries = 2

/**
 * Sends a request. What certainly never left is tried again at once, and so is a reading that was lost;
 * all waiting is left to the ledger, so p-retry only counts.
 */
export async function exchange(
  options: ExchangeOptions,
  effectClass: EffectClass,
  write: () => Request,
): Promise<Exchange> {
  const attempt = async (): Promise<Answer> => {
    const response = await options.fetch(write())
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  try {
    const answer = await pRetry(attempt, {
      retries,
      minTimeout: 0,
      maxTimeout: 0,
      shouldRetry: ({ error }) => isRepeatable(error, effectClass),
    })
    return { status: 'answered', answer }
  } catch (error) {
    const isUnsent = error instanceof UnsentError || error instanceof AverbaError
    return { status: isUnsent ? 'unsent' : 'lost', because: describe(error) }
  }
}

function isRepeatable(error: unknown, effectClass: EffectClass): boolean {
  if (error instanceof AverbaError) return false // A wrong certificate does not mend itself at once.
  return error instanceof UnsentError || effectClass === 'read'
}

/**
 * What a status says about the work, when it is not a success:
 *
 * - `declined`: certainly not done, and asking again would not help.
 * - `deferred`: certainly not done, and it may go later.
 * - `unknown`: perhaps done. A reading changes nothing, so for it there is no such doubt.
 */
export function verdictOf(answer: Answer, effectClass: EffectClass): 'declined' | 'deferred' | 'unknown' {
  const { status } = answer
  if (status === 429 || (status === 503 && answer.headers.has('retry-after'))) return 'deferred'
  if (status >= 400 && status < 500 && status !== 408) return 'declined'
  return effectClass === 'read' || effectClass === 'idempotent' ? 'deferred' : 'unknown'
}

const retryAfterMaxMs = 24 * 3_600_000

/** The wait that a service asks for, clamped to a day: seconds, or an HTTP date. */
export function deferral(answer: Answer, clock: Clock, because: string): Outcome {
  const text = answer.headers.get('retry-after')
  if (text === null) return { status: 'deferred', because }
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - clock.now()
  if (Number.isNaN(ms)) return { status: 'deferred', because }
  return { status: 'deferred', because, afterMs: Math.min(Math.max(ms, 1_000), retryAfterMaxMs) }
}
