import { AverbaError } from '../errors.ts'
import type { Recorded } from '../message.ts'
import { canonicalJson, withoutUndefined } from '../proof/canonical-json.ts'

/** The format of the header itself. */
const headerFormat = 1

/** Writes an event's clear header: the exact bytes that are stored, hashed and verified. */
export function writeHeader(event: Recorded): Uint8Array {
  // Named one by one: nothing else that an object may carry can slip into the log.
  const { position, stream, version, type, data, at, machine, because } = event
  const { commandId, correlationId, actor, basis, effects, settles, resolves, anomaly, parts } = event
  const about = { commandId, correlationId, actor, basis, effects, settles, resolves, anomaly, parts }
  const header = {
    format: headerFormat,
    position,
    stream,
    version,
    type,
    data,
    at,
    machine,
    because,
    ...about,
  }
  return Buffer.from(canonicalJson(withoutUndefined(header)))
}

/** Reads a header. Members that this version does not know are kept. */
export function readHeader(bytes: Uint8Array): Recorded {
  const { format, ...event } = JSON.parse(Buffer.from(bytes).toString())
  if (format === headerFormat) return { ...event, id: `${event.stream}/${event.version}` }
  throw new AverbaError('CORRUPT', `Cannot read an event: its format is ${JSON.stringify(format)}`, {
    hint: 'The log may be written by a newer version of averba',
  })
}
