import { AverbaError } from './errors.ts'
import type { Actor, Basis, Instant, Problem } from './message.ts'
import { clearCode } from './problem.ts'

/**
 * What became of a command at its service. The outside world is returned, not thrown.
 *
 * - `settled`: the service did it.
 * - `declined`: the service said no, for certain. (We refuse; services decline.)
 * - `pending`: recorded and on its way, waiting for a process that calls `settle`, or parked until an operator lets it
 *   go (`effects.get` tells).
 * - `deferred`: certainly not done; it goes again at `retryAt`.
 * - `unknown`: perhaps done; never repeated blindly. Either a reading will tell, or a person has to.
 */
export type Outcome<T> = {
  /** The position in the log of what was recorded first. */
  readonly position: number
  /** The id of the effect in the ledger. */
  readonly effect: string
  /** Whether the same command id had been handled before. */
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
  /** The same id gives the same recorded result, even after a crash; another input under it is refused. */
  readonly commandId?: string
  readonly actor?: Actor
  readonly basis?: Basis
  /** Kept with every event that follows from this command. */
  readonly correlationId?: string
  /**
   * How long to wait for the service: a whole number of milliseconds. 0 returns `pending` once the intention is
   * durable.
   */
  readonly waitMs?: number
  /** Ends the waiting, never the work. */
  readonly signal?: AbortSignal
}

/** An outcome other than `settled`, as an error. */
export class OutcomeError extends AverbaError {
  override readonly name = 'OutcomeError'
  readonly outcome: Outcome<unknown>

  constructor(outcome: Outcome<unknown>) {
    super('OUTCOME', `Cannot take the value: the outcome is ${describeOutcome(outcome)}`, {
      hint: outcomeHint(outcome),
    })
    this.outcome = outcome
  }
}

/**
 * The value of a settled outcome.
 *
 * @throws {OutcomeError} `OUTCOME` on any other outcome: a bare `await` must not hide a lost revocation
 */
export function valueOf<T>(outcome: Outcome<T>): T {
  if (outcome.status === 'settled') return outcome.value
  throw new OutcomeError(outcome)
}

/**
 * Shows a refusal by its status and code alone: a service's own words may quote what is personal or secret. Words that
 * are ours are shown too.
 */
export function describeProblem(problem: Problem): string {
  const { status, title } = problem
  return [status || undefined, clearCode(problem), status === 0 && title].filter(Boolean).join(' ')
}

function outcomeHint(outcome: Outcome<unknown>): string {
  if (outcome.status === 'declined')
    return outcome.problem.status === 0
      ? 'No result will come: outcome.problem of this error says why'
      : "No result will come: the service's own words are in outcome.problem of this error"
  if (outcome.status === 'unknown') {
    return outcome.next === 'probe'
      ? 'It is perhaps done: a reading will tell, while run or settle does'
      : "It is perhaps done, and is not repeated by itself: look into the service's own records, and resolve it"
  }
  return 'It is recorded: it goes on while run or settle does, and effects.get says how it stands'
}

function describeOutcome(outcome: Outcome<unknown>): string {
  if (outcome.status === 'declined') {
    const { problem } = outcome
    return `declined${problem.status === 0 ? ',' : ' with status'} ${describeProblem(problem)}`
  }
  if (outcome.status === 'deferred') return `deferred until ${outcome.retryAt}: ${outcome.reason}`
  return outcome.status
}
