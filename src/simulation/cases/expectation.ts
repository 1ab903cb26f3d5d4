import { inspect, isDeepStrictEqual } from 'node:util'

/**
 * The expectation of a value: for an object the named members, for an array every element in order, for a text also a
 * regular expression. A function, or a matcher of a test runner such as `expect.any(String)`, decides by itself.
 */
export type ExpectedValue<T> =
  | RegExp
  | ((value: T) => boolean)
  | { asymmetricMatch(value: unknown): boolean }
  | (T extends readonly (infer E)[] ? readonly ExpectedValue<E>[] : T extends object ? ExpectedMembers<T> : T)

type ExpectedMembers<T> = T extends unknown ? { readonly [K in keyof T]?: ExpectedValue<T[K]> } : never

/** A value differs from what a test expects. A test runner shows `expected` and `actual`. */
export class ExpectationError extends Error {
  override readonly name = 'ExpectationError'
  readonly expected: unknown
  readonly actual: unknown

  constructor(message: string, expected: unknown, actual: unknown) {
    super(message)
    this.expected = expected
    this.actual = actual
  }
}

/** Throws an `ExpectationError` that says where a value differs from the expected one. `what` names the value. */
export function assertMatches(what: string, actual: unknown, expected: unknown): void {
  const mismatch = findMismatch(actual, expected, what)
  if (mismatch === undefined) return
  const message = `Expected ${mismatch}\n\nexpected: ${formatValue(expected)}\n\nactual: ${formatValue(actual)}`
  throw new ExpectationError(message, expected, actual)
}

/** Describes the first difference of a value from the expected one; `undefined` when it matches. */
export function findMismatch(actual: unknown, expected: unknown, place: string): string | undefined {
  if (expected instanceof RegExp) {
    const fits = typeof actual === 'string' && actual.search(expected) >= 0
    return fits ? undefined : `${place} to match ${expected}, not ${formatValue(actual)}`
  }
  if (typeof expected === 'function') {
    return expected(actual) === true ? undefined : `${place} to satisfy a function, not ${formatValue(actual)}`
  }
  if (isMatcher(expected)) {
    return expected.asymmetricMatch(actual)
      ? undefined
      : `${place} to match ${String(expected)}, not ${formatValue(actual)}`
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return `${place} to be a list, not ${formatValue(actual)}`
    if (actual.length !== expected.length) {
      return `${place} to have ${expected.length} elements, not ${actual.length}`
    }
    return findMemberMismatch(expected.map((each, i) => [`${place}[${i}]`, actual[i], each]))
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null) {
      return `${place} to be an object, not ${formatValue(actual)}`
    }
    if (isComparedWhole(expected)) {
      const isSame = String(actual) === String(expected) && isDeepStrictEqual(actual, expected)
      return isSame ? undefined : `${place} to be ${formatValue(expected)}, not ${formatValue(actual)}`
    }
    const members = new Map(Object.entries(actual))
    return findMemberMismatch(
      Object.entries(expected).map(([name, each]) => [`${place}.${name}`, members.get(name), each]),
    )
  }
  return Object.is(actual, expected) ? undefined : `${place} to be ${formatValue(expected)}, not ${formatValue(actual)}`
}

/** Reports whether an object keeps its content outside its members, so that it is compared as a whole. */
function isComparedWhole(expected: object): boolean {
  return [Date, Error, Map, Set, URL].some(kind => expected instanceof kind) || ArrayBuffer.isView(expected)
}

function findMemberMismatch(
  members: readonly (readonly [place: string, actual: unknown, expected: unknown])[],
): string | undefined {
  for (const [place, actual, expected] of members) {
    const mismatch = findMismatch(actual, expected, place)
    if (mismatch !== undefined) return mismatch
  }
  return undefined
}

/** Reports whether a value is a matcher of a test runner. */
export function isMatcher(value: unknown): value is { asymmetricMatch(value: unknown): boolean } {
  return typeof value === 'object' && value !== null && 'asymmetricMatch' in value
}

function formatValue(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  const readable = (_: string, each: unknown) => {
    if (each instanceof RegExp || typeof each === 'bigint') return String(each)
    return typeof each === 'function' ? 'a function' : each
  }
  try {
    return JSON.stringify(value, readable, 2) ?? 'nothing'
  } catch {
    return inspect(value) // A circular value.
  }
}
