import type { CienciaDetalhada, ConsentimentoDetalhado } from '../adapters/consent/wire.ts'
import type { ListedFailure } from '../adapters/portal/protocol.ts'
import type { Falha } from '../adapters/portal/wire.ts'
import type { ValidationResult } from '../adapters/validation/protocol.ts'
import type { MachineTable } from '../machines/definition/machine-table.ts'
import type { MachineEvent } from '../machines/machines.ts'
import type { SubscriptionReading } from '../machines/subscription/messages.ts'
import type { ResumeRecord } from '../store/checkpoints/high-water-mark.ts'
import type { Store } from '../store/store.ts'
import { hasCode } from '../vocabulary/errors.ts'
import { parseJson } from '../vocabulary/json.ts'
import type { DataOf, RecordedIn } from '../vocabulary/log-types.ts'
import type { Json, PartAddress, Problem, RecordedEvent } from '../vocabulary/message.ts'

/** Every type of event, with its clear data. */
export type Events = { [T in MachineEvent['type']]: DataOf<MachineEvent, T> } & {
  /** `key` is the verifier key line of its checkpoints; `machines` says what each machine may decide. */
  'log.began': { origin: string; keyring: string; key: string; machines?: readonly MachineTable[] }
  /** The machines of newer versions, as in `log.began`. */
  'log.machinesAdded': { machines: readonly MachineTable[] }
  /** The log continues from a backup under another name. */
  'log.resumed': ResumeRecord
  /** The log goes on elsewhere. `move` names the move. */
  'log.moved': { move: string }
  /** The log goes on here, after the event of its move. `root` is that of all events up to it. */
  'log.arrived': { move: string; size: number; root: string }
}

export type LogStore = Store<Events>

/** An event as the log holds it. */
export type Recorded<T extends keyof Events = keyof Events> = RecordedIn<Events, T>

/** Reports whether an event of the log is of a type: only machines write to it, so its data is the type's. */
export function isOfType<T extends keyof Events>(event: RecordedEvent, type: T): event is Recorded<T> {
  return event.type === type
}

export function ofType<T extends keyof Events>(event: Recorded, type: T): Recorded<T> {
  if (isOfType(event, type)) return event
  throw new TypeError(`The event ${event.id} is not of the type "${type}"`)
}

export type RecordedBy<K extends string> = Extract<Recorded, { type: `${K}.${string}` }>

/** Reports whether a machine recorded the event. A stream has the events of one machine. */
export function isBy<K extends string>(event: Recorded, machine: K): event is RecordedBy<K> {
  return event.type.startsWith(`${machine}.`)
}

/** Opens a part; `undefined` when it does not exist. */
export async function openAs<K extends keyof SealedParts>(
  store: Pick<LogStore, 'open'>,
  _kind: K,
  address: PartAddress,
): Promise<SealedParts[K] | undefined> {
  const found: unknown = await store.open(address)
  return found as SealedParts[K] | undefined // Only what was sealed at this address opens, and the API sealed it so.
}

/** What a part opens to, or something else where it is damaged: a damaged part hides no other one. */
export function unlessDamaged<T>(opening: Promise<T>, instead: T): Promise<T> {
  return opening.catch((error: unknown) => {
    if (hasCode(error, 'CORRUPT', 'KEYS_MISMATCH')) return instead
    throw error
  })
}

export async function requireAs<K extends keyof SealedParts>(
  store: Pick<LogStore, 'open'>,
  kind: K,
  address: PartAddress,
): Promise<SealedParts[K]> {
  const found = await openAs(store, kind, address)
  if (found === undefined) throw new TypeError(`There is no part "${address}"`)
  return found
}

export type SealedBody = {
  /** The bytes as received, in base64. */
  readonly bytes: string
  /** The recipient as the portal named it, and the event, whose clear copy is redacted if it contains a CPF. */
  readonly recipient?: { readonly tipo: string | null; readonly id: string; readonly evento: string }
}

export function readBody({ bytes }: Pick<SealedBody, 'bytes'>): Json {
  const text = new TextDecoder().decode(Buffer.from(bytes, 'base64')) // Without a byte order mark.
  const value = parseJson(text)
  return value === undefined ? text : value
}

export type ListedAtPortal = Omit<SubscriptionReading, 'deletedAt' | 'readAt'> & { readonly secrets: string }

export type AnsweredFailure = Pick<ListedFailure, 'remoteId' | 'failedAt'>

/** What the parts hold that the API opens, as they were sealed. */
export interface SealedParts {
  /** A consent or a record of awareness, as the service listed it. */
  readonly record: { readonly id: string; readonly cnpjUsuario?: unknown }
  readonly consent: Partial<ConsentimentoDetalhado>
  readonly awareness: Partial<CienciaDetalhada>
  readonly result: Partial<ValidationResult>
  readonly problem: Problem
  readonly body: SealedBody
  /** The beginning of an answer that was not understood. */
  readonly answer: string
  /** The portal's record without its content. */
  readonly failure: Omit<Falha, 'conteudo'>
  readonly list: readonly ListedAtPortal[]
  readonly answered: readonly AnsweredFailure[]
}
