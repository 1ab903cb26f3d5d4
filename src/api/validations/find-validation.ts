import { AverbaError } from '../../vocabulary/errors.ts'
import type { Area } from '../area.ts'

/** The stream of a validation, and whose it is. */
interface FoundValidation {
  readonly stream: string
  readonly subject: string
  /** Which service it was asked of, where it was asked of one. */
  readonly environment: string | undefined
}

/** Finds the stream of a validation by the host's id, which is its command id: the receipt leads to its event. */
export async function findValidation({ store }: Area, id: string): Promise<FoundValidation | undefined> {
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
export async function requireValidation(area: Area, id: string): Promise<FoundValidation> {
  const found = await findValidation(area, id)
  if (found) return found
  throw new AverbaError('NOT_FOUND', 'Cannot find the validation: none was asked for under this id', {
    hint: 'It is the id that validate was given, not the trace id: validations.list has all of them',
  })
}
