import type { Problem } from '../../vocabulary/message.ts'
import type { Outcome } from '../../vocabulary/outcome.ts'
import type { Area } from '../area.ts'
import { findValidation } from './find-validation.ts'

/**
 * The outcome of a validation by what its stream says now: an answer that came after a person had resolved it is true
 * all the same, and is the outcome from then on.
 */
export async function believeLate<T>(
  area: Area,
  id: string,
  outcome: Outcome<T>,
  value: () => Promise<T>,
): Promise<Outcome<T>> {
  if (outcome.status !== 'declined' || outcome.problem.code === 'SUBJECT_ERASED') return outcome
  const { stream = '' } = (await findValidation(area, id)) ?? {}
  const types = ['validation.answered', 'validation.declined', 'validation.withheld']
  const last = await area.store.readLast({ stream, types })
  // An answer that came in time ended the call, and is the outcome already.
  if (!last || last.settles) return outcome
  const { problem, ...asked } = outcome
  if (last.type === 'validation.answered') return { ...asked, status: 'settled', value: await value() }
  const late = await area.store.open(`${last.id}/problem`)
  return { ...outcome, problem: (late ?? problem) as Problem } // Sealed as such by the client.
}
