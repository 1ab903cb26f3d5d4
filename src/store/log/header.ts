import { canonicalJson } from '../../proof/canonical-json.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { EventMap, TypeIn } from '../../vocabulary/log-types.ts'
import type { PartMark, RecordedEvent } from '../../vocabulary/message.ts'
import type { Schema } from '../database/schema.ts'
import type { Tags } from './tags.ts'

const hint = 'Check the log with averba doctor --deep, keep the file unchanged and restore a backup beside it'

export function damagedLogError(message: string): AverbaError {
  return new AverbaError('CORRUPT', message, { hint })
}

/** The error for a log that somebody without its keys has written to. A lost bit in a tag looks the same. */
export function forgedLogError(message: string): AverbaError {
  return new AverbaError('CORRUPT', message, {
    hint: 'Stop every process on it, keep the file, find out who can write to it, and restore a backup beside it',
  })
}

/** One event cannot be read. Work that does not need it can continue. */
export class DamagedEvent extends AverbaError {
  override readonly name = 'DamagedEvent'
  readonly position: number | undefined
  readonly #reason: string

  constructor(reason: string, { cause, position }: { cause?: unknown; position?: number | undefined } = {}) {
    const what = position === undefined ? 'an event' : `the event at position ${position}`
    super('CORRUPT', `Cannot read ${what}: ${reason}`, { ...(cause !== undefined && { cause }), hint })
    this.#reason = reason
    this.position = position
  }

  /** Copies the error with a position, for a caller that knows it. */
  withPosition(position: number | undefined): DamagedEvent {
    return new DamagedEvent(this.#reason, { cause: this, position })
  }
}

/** A stored event: its exact header, and the tag that only the keyring of its log gives it. */
export type StoredHeader = Pick<Schema['event'], 'position' | 'header' | 'tag'>

/**
 * Reads the headers of one log. Each is checked by its tag, so that nothing acts on an event that was changed, or that
 * somebody without the keyring has written. Tools that run without the keyring pass no tags and check nothing.
 */
export class HeaderReader {
  readonly schemas: Schemas
  readonly #tags: Tags | undefined

  constructor(schemas: Schemas, tags?: Tags) {
    this.schemas = schemas
    this.#tags = tags
  }

  /** Parses a header without upcasting. Throws a `DamagedEvent` when its tag is wrong, or it is no JSON object. */
  parse({ position, header, tag }: StoredHeader) {
    if (this.#tags && this.#tags.ofEvent(header) !== tag)
      throw new DamagedEvent('it was changed, or written without the keys of this log', { position })
    const event = parseHeader(header)
    if (event.position !== position) throw new DamagedEvent('its row has another position', { position })
    return event
  }

  /** Reads a header and upcasts its event, which gets its type here: only the machines of this log wrote it. */
  read<R extends RecordedEvent = RecordedEvent>(stored: StoredHeader): R {
    const event = this.parse(stored)
    // The first format has no number: reading every event without it would take a copy, a tenth of the time.
    if (event.format !== undefined) throw newerError('Cannot read an event: averba does not know its format')
    event.id = `${event.stream}/${event.version}`
    return upcast(event, this.schemas) as R // The caller selected the types.
  }

  /** Finds the commitment of the record key that seals a part; `undefined` when the owner's key seals it. */
  findRecordKey(stored: StoredHeader, name: string): string | undefined {
    // Most headers have no record key and need not be parsed.
    if (!stored.header.includes('"recordKey":"')) return undefined
    const marks: readonly PartMark[] = this.parse(stored).parts ?? []
    return marks.find(mark => mark.name === name)?.recordKey
  }
}

/** Writes an event's unencrypted header: the exact text that is stored, hashed and verified. */
export function writeHeader(event: RecordedEvent, schema: number): string {
  // Listed, so that no other member of the object reaches the log, and sorted, so that `canonicalJson` need not.
  return canonicalJson({
    actor: event.actor,
    anomaly: event.anomaly,
    at: event.at,
    basis: event.basis,
    cancels: event.cancels,
    causedBy: event.causedBy,
    commandId: event.commandId,
    correlationId: event.correlationId,
    data: event.data,
    effects: event.effects,
    input: event.input,
    machine: event.machine,
    moves: event.moves,
    parts: event.parts,
    position: event.position,
    resolves: event.resolves,
    schema: schema === 1 ? undefined : schema,
    settles: event.settles,
    stream: event.stream,
    type: event.type,
    version: event.version,
  })
}

/**
 * Parses a header whose tag is checked elsewhere, or cannot be.
 *
 * @throws {DamagedEvent} when it is not a JSON object: a damaged page may give any text, or none
 */
export function parseHeader(text: string) {
  const reason = 'its header is not a JSON object'
  let header: unknown
  try {
    header = JSON.parse(text)
  } catch (cause) {
    throw new DamagedEvent(reason, { cause })
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header)) throw new DamagedEvent(reason)
  return header as ReturnType<typeof JSON.parse> // The caller knows the members that the log writes.
}

/** Converts an event's unencrypted data from one schema version to the next. */
export type Upcaster = (data: unknown, event: RecordedEvent) => unknown

/**
 * The upcasters of event types whose schema has changed: the first leads from version 1 to 2, and so on. The newest
 * version is one more than the number of upcasters. A type without upcasters has version 1.
 *
 * An upcaster maps one event to exactly one of the same type: readers and followers select by type, and would miss an
 * event whose type changed.
 */
export type Schemas<E extends EventMap = EventMap> = { readonly [T in TypeIn<E>]?: readonly Upcaster[] }

/** The upcasters of the events of averba. None has changed its schema yet. */
export const upcasters: Schemas = {}

/** Reads headers without the keyring, and so without their tags: for tools that a log is given to as evidence. */
export const untaggedHeaders = new HeaderReader(upcasters)

/** The schema version that new events of a type are written with. */
export function schemaOf(type: string, schemas: Schemas): number {
  return (schemas[type]?.length ?? 0) + 1
}

/** The error for an event that a newer version of averba wrote. */
function newerError(message: string): AverbaError {
  return new AverbaError('NOT_OURS', message, { hint: 'Update averba' })
}

/**
 * Converts an event from its schema version to the newest one.
 *
 * @throws {AverbaError} `NOT_OURS` when its schema version is newer than this library
 */
function upcast(recorded: RecordedEvent & { readonly schema?: number }, schemas: Schemas): RecordedEvent {
  const steps = schemas[recorded.type]
  if (!steps && recorded.schema === undefined) return recorded
  const { schema: version = 1, ...event } = recorded
  const newest = schemaOf(event.type, schemas)
  if (version > newest) {
    throw newerError(
      `Cannot read an event of type "${event.type}": its schema is ${version}, averba supports ${newest}`,
    )
  }
  let { data } = event
  for (const step of steps?.slice(version - 1) ?? []) data = step(data, event)
  return { ...event, data }
}
