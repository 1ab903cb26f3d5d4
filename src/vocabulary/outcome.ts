import { AverbaError } from './errors.ts'
import type { Actor, Basis, Instant, Json, Problem } from './message.ts'
import { holdsCpf } from './tax-numbers.ts'

/**
 * The result of a command at its service. It is returned, not thrown.
 *
 * - `settled`: the service did it.
 * - `declined`: the service certainly did not do it. (averba refuses; services decline.)
 * - `pending`: recorded, and waiting for a process that calls `run` or `settle`, or parked until an operator releases
 *   it (see `effects.get`).
 * - `deferred`: certainly not done; averba tries again at `retryAt`.
 * - `unknown`: perhaps done, and not repeated automatically. Either a reading will show it, or a person has to find
 *   out.
 */
export type Outcome<T> = {
  readonly position: number
  /** The id of the effect in the ledger; empty if it has none, or none yet. */
  readonly effect: string
  /** Whether the command id was handled before. */
  readonly replayed: boolean
} & (
  | { readonly status: 'settled'; readonly value: T }
  | { readonly status: 'declined'; readonly problem: Problem }
  | { readonly status: 'pending' }
  | { readonly status: 'deferred'; readonly retryAt: Instant; readonly reason: string }
  | { readonly status: 'unknown'; readonly next: 'probe' | 'person' }
)

/** The last argument of every command; all optional. */
export interface CommandOptions {
  /** Idempotency key: the same id gives the same recorded result, even after a crash. Different input is refused. */
  readonly commandId?: string
  readonly actor?: Actor
  readonly basis?: Basis
  readonly correlationId?: string
  /** How many whole milliseconds to wait for the service. 0 returns `pending` as soon as the command is durable. */
  readonly waitMs?: number
  /** Stops the waiting, not the work. */
  readonly signal?: AbortSignal
}

/** The options of what is recorded at once, and has no outcome to wait for. */
export type RecordOptions = Pick<CommandOptions, 'actor' | 'basis' | 'correlationId'>

/** Thrown for an outcome other than `settled`. */
export class OutcomeError extends AverbaError {
  override readonly name = 'OutcomeError'
  declare readonly outcome: Outcome<unknown>

  constructor(outcome: Outcome<unknown>) {
    super('OUTCOME', `Cannot take the value: the outcome is ${describeOutcome(outcome)}`, {
      hint: outcomeHint(outcome),
    })
    // The text of a service may quote personal data: who prints the error does not print it.
    Object.defineProperty(this, 'outcome', { value: outcome })
  }
}

/**
 * Returns the value of a settled outcome.
 *
 * @throws {OutcomeError} `OUTCOME` for any other outcome, so that no failed revocation goes unnoticed
 */
export function valueOf<T>(outcome: Outcome<T>): T {
  if (outcome?.status === 'settled') return outcome.value
  if (outcome?.status === undefined)
    throw new AverbaError('INVALID_INPUT', 'Cannot take the value: this is no outcome', {
      hint: 'Await a promise of one first: valueOf(await promise)',
    })
  throw new OutcomeError(outcome)
}

/** Describes a problem by status and code: a text may quote personal data. Our own title (status 0) is shown. */
export function describeProblem(problem: Problem): string {
  const { status, title } = problem
  return [status || undefined, storableCode(problem), status === 0 && title].filter(Boolean).join(' ')
}

function outcomeHint(outcome: Outcome<unknown>): string {
  if (outcome.status === 'declined')
    return outcome.problem.status === 0
      ? 'No result will come: see outcome.problem of this error'
      : "No result will come: outcome.problem of this error has the service's own text"
  if (outcome.status === 'unknown')
    return outcome.next === 'probe'
      ? 'It may be done: call run or settle, and a reading will show it'
      : "It may be done and is not repeated automatically: check the service's own records, then resolve it"
  return 'It is recorded, and goes on while averba runs: effects.get, or list of its area, has its state'
}

function describeOutcome(outcome: Outcome<unknown>): string {
  if (outcome.status === 'declined') {
    const { problem } = outcome
    const what = describeProblem(problem)
    return problem.status === 0 ? `declined as ${what}` : `declined with status ${what}`
  }
  if (outcome.status === 'deferred') return `deferred until ${outcome.retryAt}: ${outcome.reason}`
  return outcome.status
}

/**
 * Returns the problem's code if it may be stored unencrypted: it is short, has letters, digits, dots and dashes only,
 * and identifies no person.
 *
 * @param sent - the personal data in the request, which a code may quote
 */
export function storableCode(problem: Problem, sent: Json = null): string | null {
  const { code } = problem
  if (code === undefined || !/^[\w.-]{1,40}$/.test(code) || /\d{7}/.test(code) || holdsCpf(code)) return null
  return quotesRequest(code, collectTexts(sent)) ? null : code
}

/** Checks whether a code contains a word of the request, or is part of one, ignoring accents, punctuation and case. */
function quotesRequest(code: string, sent: readonly string[]): boolean {
  const [words, joined] = [extractWords(code), extractWords(code).join('')]
  return sent.some(text => {
    const sentWords = extractWords(text)
    if (joined.length >= wordLengthMin && sentWords.join('').includes(joined)) return true
    return sentWords.some(word => words.includes(word) || (word.length > wordLengthMin && joined.includes(word)))
  })
}

function collectTexts(value: Json): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(collectTexts)
  return [String(value)]
}

/** Shorter words occur in many texts and identify no person. */
const wordLengthMin = 3

function extractWords(text: string): string[] {
  const plain = text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  return plain.match(/[a-z0-9]+/g)?.filter(word => word.length >= wordLengthMin) ?? []
}
