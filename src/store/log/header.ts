import { canonicalJson } from '../../proof/canonical-json.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant, PartMark, RecordedEvent } from '../../vocabulary/message.ts'
import { DamagedEvent } from './damaged.ts'
import { type Schemas, upcast } from './upcasters.ts'

/** The format of the header itself. */
const headerFormat = 1

/** Writes an event's clear header: the exact text that is stored, hashed and verified. */
export function writeHeader(event: RecordedEvent, schema: number): string {
  // Named one by one: nothing else that an object may carry can get into the log. Sorted, so that the canonical writer
  // need not sort.
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
 * Reads a header as it was written, without upcasting.
 *
 * @throws {AverbaError} `CORRUPT` when it is not a JSON object: a damaged page may read as nothing at all
 */
export function parseHeader(text: string) {
  const why = 'its header is not a JSON object'
  let header: unknown
  try {
    header = JSON.parse(text)
  } catch (cause) {
    throw new DamagedEvent(why, { cause })
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header)) throw new DamagedEvent(why)
  return header as ReturnType<typeof JSON.parse> // Who asks knows what the log writes.
}

/** What the key of a part's record is known by; `undefined` where the owner's key itself seals the part. */
export function recordKeyIn(text: string, name: string): string | undefined {
  // Most headers name none, and need not be parsed.
  if (!text.includes('"recordKey":"')) return undefined
  const marks: readonly PartMark[] = parseHeader(text).parts ?? []
  return marks.find(mark => mark.name === name)?.recordKey
}

/** An event with the members of its header that say how to read it. */
interface DatedEvent extends RecordedEvent {
  at: Instant
  readonly format: number
  readonly schema?: number
}

/** Reads a header: the one place where stored events become today's. Unknown members are kept. */
export function readHeader(text: string, schemas: Schemas): RecordedEvent {
  const { format: _, schema: __, ...event } = readWhole(text, schemas)
  return event
}

/** The same with the members of the header: not copying the event saves a tenth of a rebuild. */
export function readWhole(text: string, schemas: Schemas): DatedEvent {
  const event = parseHeader(text)
  if (event.format !== headerFormat) {
    // Only a later number can be a later version's.
    if (!(Number.isSafeInteger(event.format) && event.format > headerFormat))
      throw new DamagedEvent(`its format is ${JSON.stringify(event.format)}`)
    throw new AverbaError('CORRUPT', `Cannot read an event: its format is ${JSON.stringify(event.format)}`, {
      hint: 'The log may be written by a newer version of averba',
    })
  }
  event.id = `${event.stream}/${event.version}`
  return upcast(event, event.schema ?? 1, schemas)
}
