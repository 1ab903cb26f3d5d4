import { canonicalJson } from '../../proof/canonical-json.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant, PartMark, RecordedEvent } from '../../vocabulary/message.ts'
import { DamagedEvent } from './damaged.ts'
import { type Schemas, upcast } from './upcasters.ts'

const headerFormat = 1

/** Writes an event's unencrypted header: the exact text that is stored, hashed and verified. */
export function writeHeader(event: RecordedEvent, schema: number): string {
  // Members are listed, so that no other member of the object reaches the log, and sorted, so that `canonicalJson`
  // need not sort them.
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
    format: headerFormat,
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
 * Parses a header without upcasting.
 *
 * @throws {AverbaError} `CORRUPT` when it is not a JSON object: a damaged page may give any text, or none
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

/** Finds the commitment of the record key that seals a part; `undefined` when the owner's key seals it. */
export function findRecordKey(text: string, name: string): string | undefined {
  // Most headers have no record key and need not be parsed.
  if (!text.includes('"recordKey":"')) return undefined
  const marks: readonly PartMark[] = parseHeader(text).parts ?? []
  return marks.find(mark => mark.name === name)?.recordKey
}

/** An event with the version of its header and of its data. */
interface EventWithSchema extends RecordedEvent {
  at: Instant
  readonly format: number
  readonly schema?: number
}

/** Reads a header and upcasts its event. Unknown members are kept. */
export function readHeader(text: string, schemas: Schemas): RecordedEvent {
  const { format: _, schema: __, ...event } = readHeaderWithSchema(text, schemas)
  return event
}

/** Like `readHeader`, but keeps `format` and `schema`: saving the copy saves a tenth of a rebuild's time. */
export function readHeaderWithSchema(text: string, schemas: Schemas): EventWithSchema {
  const event = parseHeader(text)
  if (event.format !== headerFormat) {
    // A higher number was written by a newer version. Anything else is damage.
    if (!(Number.isSafeInteger(event.format) && event.format > headerFormat))
      throw new DamagedEvent(`its format is ${JSON.stringify(event.format)}`)
    throw new AverbaError('CORRUPT', `Cannot read an event: its format is ${JSON.stringify(event.format)}`, {
      hint: 'Update averba: a newer version may have written the log',
    })
  }
  event.id = `${event.stream}/${event.version}`
  return upcast(event, event.schema ?? 1, schemas)
}
