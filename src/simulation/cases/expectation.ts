import assert, { AssertionError } from 'node:assert/strict'
import { listEventTypes } from '../../engine/machine-tables.ts'
import { machines } from '../../machines/machines.ts'
import { checkKnownNames } from '../../vocabulary/names.ts'

/**
 * Rejects an expectation that can never fail. `isEmpty` reports whether a member's value expects nothing.
 *
 * @throws {AverbaError} `INVALID_INPUT` for an unknown member
 * @throws {TypeError} when the expectation is empty
 */
export function checkExpectation(
  owner: string,
  given: unknown,
  members: readonly string[],
  isEmpty: (value: unknown, name: string) => boolean = value => value === undefined,
): void {
  const expected = typeof given === 'object' && given !== null ? given : {}
  checkKnownNames(expected, members, { noun: 'member', of: `"expected" of ${owner}` })
  if (Object.entries(expected).some(([name, value]) => !isEmpty(value, name))) return
  throw new TypeError(`"expected" of ${owner} is empty: add an expectation, or leave it out`)
}

/** Throws a `TypeError` for an event whose type no machine records. An expected event need not have a type. */
export function checkEventTypes(events: readonly unknown[] = []): void {
  const known: ReadonlySet<unknown> = listEventTypes(machines)
  for (const type of events.map(event => Object(event).type))
    if (type !== undefined && !known.has(type)) throw new TypeError(`No machine records an event of the type "${type}"`)
}

/**
 * What a value is expected to be: the members that matter, compared by `partialDeepStrictEqual` of `node:assert`, or a
 * function that throws for a wrong value, with `node:assert` or the `expect` of a test runner.
 */
export type ExpectedValue<T> = ExpectedMembers<T> | ((value: T) => void)

type ExpectedMembers<T> = T extends object ? { readonly [K in keyof T]?: ExpectedMembers<T[K]> } : T

/** Compares a value, or every element of a list. An `AssertionError` begins with `what`, and shows what differs. */
export function assertExpected(what: string, actual: unknown, expected: unknown): void {
  const isList = Array.isArray(expected)
  if (isList && Array.isArray(actual) && actual.length === expected.length)
    for (const [i, each] of expected.entries()) assertExpected(`${what}[${i}]`, actual[i], each)
  else
    assertNamed(what, () => {
      if (typeof expected === 'function') expected(actual)
      else if (isList) assert.deepStrictEqual(actual, expected)
      else assert.partialDeepStrictEqual(actual, expected)
    })
}

/** Runs an assertion. Its `AssertionError` begins with `what`. */
export function assertNamed(what: string, assertion: () => void): void {
  try {
    assertion()
  } catch (error) {
    if (!(error instanceof AssertionError)) throw error
    const { actual, expected } = error
    throw new AssertionError({ message: `${what}: ${error.message}`, actual, expected })
  }
}
