import type { FieldResult, ValidationResult } from '../../adapters/validation/protocol.ts'
import type { ValidationRow } from '../../views/validations.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant, Json } from '../../vocabulary/message.ts'
import { idOfStream } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'

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
  /** What a person, or a late attempt, reported about an inconclusive one; absent if an answer arrived after all. */
  readonly resolved?: { readonly charged: boolean; readonly at: Instant; readonly note?: string }
  /** The raw answer, up to 16,384 characters, if it could not be read as a validation. */
  readonly unreadable?: string
  /** Its result was destroyed, by retention or with its person, and `fields` is empty. Only in lists. */
  readonly isDestroyed?: true
}

/**
 * Opens a validation.
 *
 * @throws {AverbaError} `PART_DESTROYED` when its answer was destroyed: without fields it would look like a validation
 * without a mismatch
 */
export async function openValidation({ store }: Pick<ApiContext, 'store'>, row: ValidationRow): Promise<Validation> {
  const sealed = await openSealed(store, row)
  if (row.result !== null && sealed.result === undefined) throw resultDestroyed()
  return toValidation(row, sealed)
}

/** Opens a validation for a list; a destroyed result does not throw. */
export async function openListedValidation(
  { store }: Pick<ApiContext, 'store'>,
  row: ValidationRow,
): Promise<Validation> {
  const sealed = await openSealed(store, row)
  const isDestroyed = row.result !== null && sealed.result === undefined
  return { ...toValidation(row, sealed), ...(isDestroyed && { isDestroyed }) }
}

function resultDestroyed(): AverbaError {
  return new AverbaError('PART_DESTROYED', 'Cannot read the validation: its result was destroyed', {
    hint: 'Retention or the erasure of the person destroyed it. See validations.list for the rest; validating again under another id may cost money',
  })
}

interface SealedAnswer {
  readonly result: Json | undefined
  readonly note: Json | undefined
  readonly unreadable: Json | undefined
}

async function openSealed(
  store: ApiContext['store'],
  { result, note, unreadable }: ValidationRow,
): Promise<SealedAnswer> {
  return {
    result: result === null ? undefined : await store.open(result),
    note: note === null ? undefined : await store.open(note),
    unreadable: unreadable === null ? undefined : await store.open(unreadable),
  }
}

function toValidation(row: ValidationRow, { result, note, unreadable }: SealedAnswer): Validation {
  const { fields = {}, cpfDisponivel } = (result ?? {}) as Partial<ValidationResult> // Sealed as such by the client.
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
    ...(row.resolved_at !== null && {
      resolved: {
        charged: row.charged === 1,
        at: row.resolved_at,
        ...(typeof note === 'string' && { note }),
      },
    }),
  }
}
