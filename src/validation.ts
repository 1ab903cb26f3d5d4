import type { FieldResult, ValidationResult } from './adapters/validation/protocol.ts'
import type { Area } from './area.ts'
import { AverbaError } from './errors.ts'
import type { Instant, Json, PartAddress } from './message.ts'
import type { ValidationRow } from './views/validations.ts'

/** A validation of what was claimed of a person (document 2, section 2). */
export interface Validation {
  /** The host's id, which is also its command id. */
  readonly id: string
  readonly state: ValidationRow['state']
  /** By field, such as `nome` or `filiacao.nome_mae`. What the service left out was not evaluated. */
  readonly fields: Readonly<Record<string, FieldResult>>
  readonly cpfDisponivel?: boolean
  /** Our id, which the gateway reports where a trace header is configured. */
  readonly traceId: string
  readonly requestedAt: Instant
  /** When its state was recorded; absent while it is `requested`. */
  readonly endedAt?: Instant
  /** The id of the validation whose answer this one took: nothing was asked of the service. */
  readonly reusedFrom?: string
  /** The id of the inconclusive validation that this one pays for again, and of the one that pays for this one. */
  readonly againOf?: string
  readonly againBy?: string
  /**
   * What a person, or an attempt that reported late, said about an inconclusive one, unless an answer came after all.
   */
  readonly resolved?: { readonly charged: boolean; readonly at: Instant; readonly note?: string }
  /** What the service answered, as it came, up to 16,384 characters, where it could not be read as a validation. */
  readonly unreadable?: string
  /** Its answer or note was moved out to a bundle, and is left out in a list until it is put back. */
  readonly isArchived?: true
  /** Its result was destroyed, by retention or with its person: in a list it is left out, and `fields` is empty. */
  readonly isDestroyed?: true
}

/**
 * Opens a validation.
 *
 * @throws {AverbaError} `PART_ARCHIVED` when its answer was moved out to a bundle, `PART_DESTROYED` when it was
 * destroyed: a validation without fields would read as one without a mismatch
 */
export async function openValidation(
  { store }: Pick<Area, 'store'>,
  row: ValidationRow,
): Promise<Validation> {
  const sealed = await openSealed(row, address => store.open(address))
  if (row.result !== null && sealed.result === undefined) throw destroyed()
  return show(row, sealed)
}

/** Opens a validation for a list, which nothing that was moved out or destroyed ends. */
export async function openListedValidation(
  { store }: Pick<Area, 'store'>,
  row: ValidationRow,
): Promise<Validation> {
  const archived = new Set<PartAddress>()
  const sealed = await openSealed(row, address =>
    store.open(address).catch((error: unknown) => {
      if (!(error instanceof AverbaError) || error.code !== 'PART_ARCHIVED') throw error
      archived.add(address)
      return undefined
    }),
  )
  const { result } = row
  const isDestroyed = result !== null && sealed.result === undefined && !archived.has(result)
  return {
    ...show(row, sealed),
    ...(archived.size > 0 && { isArchived: true }),
    ...(isDestroyed && { isDestroyed }),
  }
}

function destroyed(): AverbaError {
  return new AverbaError(
    'PART_DESTROYED',
    'Cannot read the result of the validation: it was answered, and its result is destroyed',
    {
      hint: 'Retention did, or the erasure of the person. validations.list has the rest of it; under another id the service is asked again, which may cost money',
    },
  )
}

/** What is sealed of a validation. */
interface Sealed {
  readonly result: Json | undefined
  readonly note: Json | undefined
  readonly unreadable: Json | undefined
}

async function openSealed(
  { result, note, unreadable }: ValidationRow,
  open: (address: PartAddress) => Promise<Json | undefined>,
): Promise<Sealed> {
  return {
    result: result === null ? undefined : await open(result),
    note: note === null ? undefined : await open(note),
    unreadable: unreadable === null ? undefined : await open(unreadable),
  }
}

function show(row: ValidationRow, { result, note, unreadable }: Sealed): Validation {
  const { fields = {}, cpfDisponivel } = (result ?? {}) as Partial<ValidationResult> // Sealed as such by the client.
  return {
    id: row.id,
    state: row.state,
    fields,
    ...(cpfDisponivel !== undefined && { cpfDisponivel }),
    traceId: row.validation.slice('validation-'.length),
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
