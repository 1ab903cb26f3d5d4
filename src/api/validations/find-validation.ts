import { AverbaError } from '../../vocabulary/errors.ts'
import type { Problem } from '../../vocabulary/message.ts'
import type { Outcome } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'

/** The stream of a validation, and whose it is. */
interface FoundValidation {
  readonly stream: string
  readonly subject: string
  /** Which service it was asked of, where it was asked of one. */
  readonly environment: string | undefined
}

/** Finds the stream of a validation by the host's id, which is its command id: the receipt leads to its event. */
export async function findValidation(
  { store }: ApiContext,
  id: string,
): Promise<FoundValidation | undefined> {
  const receipt = await store.receipt(id)
  const event = receipt && (await store.readAt(receipt.position))
  if (event?.type !== 'validation.requested' && event?.type !== 'validation.reused') return undefined
  // As the machine writes both.
  const {
    id: own,
    subject,
    environment,
  } = event.data as { id: string; subject: string; environment?: string }
  return own === id ? { stream: event.stream, subject, environment } : undefined
}

/** The same, for one that has to be there. */
export async function requireValidation(context: ApiContext, id: string): Promise<FoundValidation> {
  const found = await findValidation(context, id)
  if (found) return found
  throw new AverbaError('NOT_FOUND', 'Cannot find the validation: none was asked for under this id', {
    hint: 'It is the id that validate was given, not the trace id: validations.list has all of them',
  })
}

/**
 * The outcome of a validation by what its stream says now: an answer that came after a person had resolved it is true
 * all the same, and is the outcome from then on.
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
  // An answer that came in time ended the call, and is the outcome already.
  if (!last || last.settles) return outcome
  const { problem, ...asked } = outcome
  if (last.type === 'validation.answered') return { ...asked, status: 'settled', value: await value() }
  const late = await context.store.open(`${last.id}/problem`)
  return { ...outcome, problem: (late ?? problem) as Problem } // Sealed as such by the client.
}
