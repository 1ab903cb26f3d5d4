import type { FieldResult } from '../../adapters/validation/protocol.ts'
import type { ValidationRow } from '../../views/validations.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant, PartAddress } from '../../vocabulary/message.ts'
import { idOfStream } from '../../vocabulary/names.ts'
import type { Outcome } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { openAs } from '../events.ts'

/** A validation of claims about a person (document 2, section 2). */
export interface Validation {
  readonly id: string
  readonly state: ValidationRow['state']
  /** By field, such as `nome` or `filiacao.nome_mae`. A field that the service left out was not evaluated. */
  readonly fields: Readonly<Record<string, FieldResult>>
  readonly cpfDisponivel?: boolean
  /** Our id, which the gateway reports if a trace header is configured. */
  readonly traceId: string
  readonly requestedAt: Instant
  /** When its state was recorded; absent while it is `requested`. */
  readonly endedAt?: Instant
  /** The id of the validation whose answer was reused: no request was sent. */
  readonly reusedFrom?: string
  /** The ids of the inconclusive validation that this one repeats, and of the one that repeats this one. */
  readonly againOf?: string
  readonly againBy?: string
  /** What a person, or a late attempt, reported about a resolved one; absent if an answer arrived after all. */
  readonly resolved?: { readonly charged: boolean; readonly at: Instant; readonly note?: string }
  /** The raw answer, up to 16,384 characters, if it could not be read as a validation. */
  readonly unreadable?: string
  /** Its result was destroyed, by retention or with its person, and `fields` is empty. Only in lists. */
  readonly isDestroyed?: true
}

/** Opens a validation. Throws `PART_DESTROYED` without its answer: no fields would look like no mismatch. */
export async function openValidation(context: ApiContext, row: ValidationRow): Promise<Validation> {
  const { isDestroyed, ...validation } = await openListedValidation(context, row)
  if (!isDestroyed) return validation
  throw new AverbaError('PART_DESTROYED', 'Cannot read the validation: its result was destroyed', {
    hint: 'Retention or the erasure of the person destroyed it. See validations.list for the rest; validating again under another id may cost money',
  })
}

/** Opens a validation for a list; a destroyed result does not throw. */
export async function openListedValidation({ store }: ApiContext, row: ValidationRow): Promise<Validation> {
  const open = async (address: PartAddress | null) => (address === null ? undefined : await store.open(address))
  const result = row.result === null ? undefined : await openAs(store, 'result', row.result)
  const [note, unreadable] = [await open(row.note), await open(row.unreadable)]
  const { fields = {}, cpfDisponivel } = result ?? {}
  const { charged, resolved_at: at } = row
  return {
    id: row.id,
    state: row.state,
    fields,
    ...(cpfDisponivel !== undefined && { cpfDisponivel }),
    traceId: idOfStream(row.validation),
    requestedAt: row.requested_at,
    ...(row.ended_at !== null && { endedAt: row.ended_at }),
    ...(row.reused_from !== null && { reusedFrom: row.reused_from }),
    ...(row.again_of !== null && { againOf: row.again_of }),
    ...(row.again_by !== null && { againBy: row.again_by }),
    ...(typeof unreadable === 'string' && { unreadable }),
    ...(at !== null && { resolved: { charged: charged === 1, at, ...(typeof note === 'string' && { note }) } }),
    ...(row.result !== null && result === undefined && { isDestroyed: true }),
  }
}

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
  const { data } = event
  return data.id === id ? { stream: event.stream, subject: data.subject, environment: data.environment } : undefined
}

/** The same, for a validation that must exist. Throws `NOT_FOUND`. */
export async function requireValidation(context: ApiContext, id: string): Promise<FoundValidation> {
  const found = await findValidation(context, id)
  if (found) return found
  throw new AverbaError('NOT_FOUND', 'Cannot find the validation: no validation has this id', {
    hint: 'Use the id given to validate, not the trace id: validations.list has all of them',
  })
}

/** The outcome by its stream: what a person found out last counts, and then an answer that came after all. */
export async function applyLateAnswer<T>(
  context: ApiContext,
  id: string,
  outcome: Outcome<T>,
  value: () => Promise<T>,
): Promise<Outcome<T>> {
  if (outcome.status !== 'declined' || outcome.problem.code === 'SUBJECT_ERASED') return outcome
  const { stream = '' } = (await findValidation(context, id)) ?? {}
  const types = ['validation.answered', 'validation.declined', 'validation.withheld', 'validation.resolved'] as const
  const last = await context.store.readLast({ stream, types })
  // An answer in time ended the call and is already the outcome.
  if (!last || last.settles) return outcome
  const { problem, ...rest } = outcome
  if (last.type === 'validation.answered') return { ...rest, status: 'settled', value: await value() }
  const late = await openAs(context.store, 'problem', `${last.id}/problem`)
  return { ...outcome, problem: late ?? problem }
}
