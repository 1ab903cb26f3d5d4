import { AverbaError } from '../../vocabulary/errors.ts'
import type { Problem } from '../../vocabulary/message.ts'
import type { Outcome } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'

interface FoundValidation {
  readonly stream: string
  readonly subject: string
  /** The service that it was requested from; `undefined` in old events. */
  readonly environment: string | undefined
}

/** Finds a validation by the host's id. That is its command id, whose receipt leads to the event. */
export async function findValidation({ store }: ApiContext, id: string): Promise<FoundValidation | undefined> {
  const receipt = await store.receipt(id)
  const event = receipt && (await store.readAt(receipt.position))
  if (event?.type !== 'validation.requested' && event?.type !== 'validation.reused') return undefined
  const data = event.data as { id: string; subject: string; environment?: string } // As the machine writes both.
  return data.id === id ? { stream: event.stream, subject: data.subject, environment: data.environment } : undefined
}

/**
 * The same, for a validation that must exist.
 *
 * @throws {AverbaError} `NOT_FOUND`
 */
export async function requireValidation(context: ApiContext, id: string): Promise<FoundValidation> {
  const found = await findValidation(context, id)
  if (found) return found
  throw new AverbaError('NOT_FOUND', 'Cannot find the validation: no validation has this id', {
    hint: 'Use the id given to validate, not the trace id: validations.list has all of them',
  })
}

/**
 * The outcome of a validation by the current state of its stream: an answer that arrived after a person had resolved it
 * is the outcome from then on.
 */
export async function applyLateAnswer<T>(
  context: ApiContext,
  id: string,
  outcome: Outcome<T>,
  value: () => Promise<T>,
): Promise<Outcome<T>> {
  if (outcome.status !== 'declined' || outcome.problem.code === 'SUBJECT_ERASED') return outcome
  const { stream = '' } = (await findValidation(context, id)) ?? {}
  const types = ['validation.answered', 'validation.declined', 'validation.withheld']
  const last = await context.store.readLast({ stream, types })
  // An answer in time ended the call and is already the outcome.
  if (!last || last.settles) return outcome
  const { problem, ...rest } = outcome
  if (last.type === 'validation.answered') return { ...rest, status: 'settled', value: await value() }
  const late = await context.store.open(`${last.id}/problem`)
  return { ...outcome, problem: (late ?? problem) as Problem } // Sealed as such by the client.
}
