import { listEventTypes } from '../../engine/machine-tables.ts'
import { machines } from '../../machines/machines.ts'
import { checkKnownNames } from '../../vocabulary/known-names.ts'

/** The names of all members that a case may have. */
export type MembersOf<Name extends PropertyKey> = Readonly<Record<Name, true>>

/**
 * Refuses an expectation that everything meets: no such members, or none that says something. `isEmpty` tells of a
 * value that says nothing for its member.
 *
 * @throws {AverbaError} `INVALID_INPUT` for an unknown member
 * @throws {TypeError} where it expects nothing
 */
export function checkExpectation(
  of: string,
  given: unknown,
  members: MembersOf<string>,
  isEmpty: (value: unknown, name: string) => boolean = value => value === undefined,
): void {
  const expected = typeof given === 'object' && given !== null ? given : {}
  checkKnownNames(expected, Object.keys(members), { noun: 'member', of: `"expected" of ${of}` })
  if (Object.entries(expected).some(([name, value]) => !isEmpty(value, name))) return
  throw new TypeError(`"expected" of ${of} expects nothing: leave it out, or say what is expected`)
}

/** Refuses types of events that nothing records: none of them would ever come. Throws a `TypeError`. */
export function checkTypes(types: Iterable<unknown>): void {
  const known: ReadonlySet<unknown> = listEventTypes(machines)
  for (const type of types)
    if (!known.has(type)) throw new TypeError(`No machine records an event of the type "${type}"`)
}

/** The types that a list of expected events names; a pattern, a function or a matcher names none. */
export function* typesIn(events: unknown): Iterable<unknown> {
  if (!Array.isArray(events)) return
  for (const event of events) if (typeof event?.type === 'string') yield event.type
}
