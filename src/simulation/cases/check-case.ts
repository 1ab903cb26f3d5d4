import { listEventTypes } from '../../engine/machine-tables.ts'
import { machines } from '../../machines/machines.ts'
import { checkKnownNames } from '../../vocabulary/known-names.ts'

/** Every member name that a case may have. */
export type MemberNames<Name extends PropertyKey> = Readonly<Record<Name, true>>

/**
 * Rejects an expectation that can never fail. `isEmpty` reports whether a member's value expects nothing.
 *
 * @throws {AverbaError} `INVALID_INPUT` for an unknown member
 * @throws {TypeError} when the expectation is empty
 */
export function checkExpectation(
  owner: string,
  given: unknown,
  members: MemberNames<string>,
  isEmpty: (value: unknown, name: string) => boolean = value => value === undefined,
): void {
  const expected = typeof given === 'object' && given !== null ? given : {}
  checkKnownNames(expected, Object.keys(members), { noun: 'member', of: `"expected" of ${owner}` })
  if (Object.entries(expected).some(([name, value]) => !isEmpty(value, name))) return
  throw new TypeError(`"expected" of ${owner} is empty: add an expectation, or leave it out`)
}

/** Throws a `TypeError` for an event type that no machine records. */
export function checkEventTypes(types: Iterable<unknown>): void {
  const known: ReadonlySet<unknown> = listEventTypes(machines)
  for (const type of types)
    if (!known.has(type)) throw new TypeError(`No machine records an event of the type "${type}"`)
}

/** Yields the event types in a list of expected events. Patterns, functions and matchers have no type. */
export function* eventTypesIn(events: unknown): Iterable<unknown> {
  if (!Array.isArray(events)) return
  for (const event of events) if (typeof event?.type === 'string') yield event.type
}
