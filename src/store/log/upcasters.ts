import { AverbaError } from '../../vocabulary/errors.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'

/** Turns the clear data of an event, in one schema version, into that of the next. */
export type Upcaster = (data: unknown, event: RecordedEvent) => unknown

/**
 * The schema versions of event types that have changed: `upcasters[0]` leads from version 1 to 2, and so on.
 * The newest version is one more than there are upcasters. A type that is not named has version 1.
 *
 * An upcaster maps one event to exactly one, of the same type: readers and followers ask for types by name, and a
 * name that changed would be passed over.
 */
export type Schemas = Readonly<Record<string, readonly Upcaster[]>>

/** The schema version under which a type is written today. */
export function schemaOf(type: string, schemas: Schemas): number {
  return (schemas[type]?.length ?? 0) + 1
}

/**
 * Brings an event from the schema version that it was written under to the present one. Types without upcasters stay as
 * they are.
 *
 * @throws {AverbaError} `NOT_OURS` when it was written under a version that this library does not know yet
 */
export function upcast<E extends RecordedEvent>(event: E, version: number, schemas: Schemas): E {
  const upcasters = schemas[event.type]
  if (!upcasters && version === 1) return event
  const newest = (upcasters?.length ?? 0) + 1
  if (version > newest) {
    const cannot = `Cannot read an event of type "${event.type}": its schema is ${version}, and this library knows ${newest}`
    throw new AverbaError('NOT_OURS', cannot, { hint: 'Update averba' })
  }
  let { data } = event
  for (const step of upcasters?.slice(version - 1) ?? []) data = step(data, event)
  return { ...event, data }
}
