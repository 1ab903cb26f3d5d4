import { AverbaError } from '../../vocabulary/errors.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'

/** Converts an event's unencrypted data from one schema version to the next. */
export type Upcaster = (data: unknown, event: RecordedEvent) => unknown

/**
 * The upcasters of event types whose schema has changed: the first leads from version 1 to 2, and so on. The newest
 * version is one more than the number of upcasters. A type without upcasters has version 1.
 *
 * An upcaster maps one event to exactly one of the same type: readers and followers select by type, and would miss an
 * event whose type changed.
 */
export type Schemas = Readonly<Record<string, readonly Upcaster[]>>

/** The upcasters of the events of averba. None has changed its schema yet. */
export const upcasters: Schemas = {}

/** The schema version that new events of a type are written with. */
export function schemaOf(type: string, schemas: Schemas): number {
  return (schemas[type]?.length ?? 0) + 1
}

/**
 * Converts an event from its schema version to the newest one.
 *
 * @throws {AverbaError} `NOT_OURS` when its schema version is newer than this library
 */
export function upcast<E extends RecordedEvent>(event: E, version: number, schemas: Schemas): E {
  const steps = schemas[event.type]
  if (!steps && version === 1) return event
  const newest = schemaOf(event.type, schemas)
  if (version > newest) {
    const cannot = `Cannot read an event of type "${event.type}": its schema is ${version}, averba supports ${newest}`
    throw new AverbaError('NOT_OURS', cannot, { hint: 'Update averba' })
  }
  let { data } = event
  for (const step of steps?.slice(version - 1) ?? []) data = step(data, event)
  return { ...event, data }
}
