import type { Json } from '../message.ts'

/**
 * Writes the one JSON text of a value: keys sorted, no white space (a strict subset of RFC 8785). What
 * could be read in two ways is refused, since these bytes are hashed and kept for ever: numbers that are
 * not safe integers, text with lone surrogates, `undefined`, and objects that are not plain.
 *
 * `fractions` also lets finite numbers with a fraction pass: for digests that are compared with their own
 * kind only.
 *
 * @throws {TypeError} on anything ambiguous, naming where it stands
 */
export function canonicalJson(value: unknown, { fractions = false } = {}): string {
  return write(value, '$', fractions)
}

function write(value: unknown, path: string, fractions: boolean): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return writeText(value, path)
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value) && !Object.is(value, -0)) return String(value)
    if (fractions && Number.isFinite(value)) return String(value)
    throw new TypeError(`Cannot write ${path}: only safe integers are allowed`)
  }
  if (Array.isArray(value))
    return `[${value.map((item, i) => write(item, `${path}[${i}]`, fractions)).join(',')}]`
  if (isPlain(value)) {
    const members = Object.keys(value)
      .sort()
      .map(key => `${writeText(key, path)}:${write(value[key], `${path}.${key}`, fractions)}`)
    return `{${members.join(',')}}`
  }
  throw new TypeError(`Cannot write ${path}: only plain JSON values are allowed`)
}

function writeText(text: string, path: string): string {
  if (!text.isWellFormed()) throw new TypeError(`Cannot write ${path}: the text has a lone surrogate`)
  return JSON.stringify(text)
}

function isPlain(value: unknown): value is Record<string, Json> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Returns the value without its `undefined` members, at every depth, ready for `canonicalJson`. */
export function withoutUndefined<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutUndefined) as T // An array maps to an array of its own kind.
  if (!isPlain(value)) return value
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members.map(([key, member]) => [key, withoutUndefined(member)])) as T // Same members.
}
