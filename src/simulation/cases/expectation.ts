import { inspect, isDeepStrictEqual } from 'node:util'

/**
 * What is expected of a value: of an object the named members, of an array every element in order; a regular expression
 * stands for a text. A function decides for itself, and so does a matcher of a test runner, such as
 * `expect.any(String)`.
 */
export type ExpectedValue<T> =
  | RegExp
  | ((value: T) => boolean)
  | { asymmetricMatch(value: unknown): boolean }
  | (T extends readonly (infer E)[] ? readonly ExpectedValue<E>[] : T extends object ? ExpectedMembers<T> : T)

type ExpectedMembers<T> = T extends unknown ? { readonly [K in keyof T]?: ExpectedValue<T[K]> } : never

/** Something differs from what a test expects. `expected` and `actual` are for the test runner to show. */
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

/** Throws where a value is not as expected, and says where. `what` names the value. */
export function meets(what: string, actual: unknown, expected: unknown): void {
  const place = misfitOf(actual, expected, what)
  if (place === undefined) return
  const message = `Expected ${place}\n\nexpected: ${show(expected)}\n\nactual: ${show(actual)}`
  throw new ExpectationError(message, expected, actual)
}

/** Says where a value first differs from what is expected; `undefined` where it does not. */
export function misfitOf(actual: unknown, expected: unknown, place: string): string | undefined {
  if (expected instanceof RegExp) {
    const fits = typeof actual === 'string' && actual.search(expected) >= 0
    return fits ? undefined : `${place} to match ${expected}, not ${show(actual)}`
  }
  if (typeof expected === 'function') {
    return expected(actual) === true ? undefined : `${place} to satisfy a function, not ${show(actual)}`
  }
  if (isMatcher(expected)) {
    return expected.asymmetricMatch(actual)
      ? undefined
      : `${place} to match ${String(expected)}, not ${show(actual)}`
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return `${place} to be a list, not ${show(actual)}`
    if (actual.length !== expected.length) {
      return `${place} to have ${expected.length} elements, not ${actual.length}`
    }
    return firstOf(expected.map((each, i) => () => misfitOf(actual[i], each, `${place}[${i}]`)))
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null) return `${place} to be an object, not ${show(actual)}`
    if (isOpaque(expected))
      return String(actual) === String(expected) && isDeepStrictEqual(actual, expected)
        ? undefined
        : `${place} to be ${show(expected)}, not ${show(actual)}`
    const members = new Map(Object.entries(actual))
    return firstOf(
      Object.entries(expected).map(
        ([name, each]) =>
          () =>
            misfitOf(members.get(name), each, `${place}.${name}`),
      ),
    )
  }
  return Object.is(actual, expected) ? undefined : `${place} to be ${show(expected)}, not ${show(actual)}`
}

/** What such an object holds is no member of it, or not all of it: it is the same, or it is not. */
function isOpaque(expected: object): boolean {
  return [Date, Error, Map, Set, URL].some(kind => expected instanceof kind) || ArrayBuffer.isView(expected)
}

function firstOf(looks: readonly (() => string | undefined)[]): string | undefined {
  for (const look of looks) {
    const found = look()
    if (found !== undefined) return found
  }
  return undefined
}

/** Reports whether a value decides for itself what it matches, as that of a test runner. */
export function isMatcher(value: unknown): value is { asymmetricMatch(value: unknown): boolean } {
  return typeof value === 'object' && value !== null && 'asymmetricMatch' in value
}

function show(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  const readable = (_: string, each: unknown) => {
    if (each instanceof RegExp || typeof each === 'bigint') return String(each)
    return typeof each === 'function' ? 'a function' : each
  }
  try {
    return JSON.stringify(value, readable, 2) ?? 'nothing'
  } catch {
    return inspect(value) // It holds itself.
  }
}
