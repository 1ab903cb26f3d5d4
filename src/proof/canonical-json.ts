import type { Json } from '../vocabulary/message.ts'

/**
 * Writes the one JSON text of a value: keys sorted, no white space (a strict subset of RFC 8785). What could be read in
 * two ways is refused, since these bytes are hashed and kept for ever: numbers that are not safe integers, text with
 * lone surrogates, `undefined` except as a member, and objects that are not plain. A member that is `undefined` is left
 * out, as in JSON.
 *
 * `fractions` also lets finite numbers with a fraction pass: for digests that are compared with their own
 * kind only.
 *
 * @throws {TypeError} on anything ambiguous, naming where it stands
 */
export function canonicalJson(value: unknown, { fractions = false } = {}): string {
  // The runtime's own writer is several times as fast, once the members are in order.
  const arranged = arrange(value)
  if (arranged === unarranged) return write(value, '$', fractions)
  const text = JSON.stringify(arranged)
  // The runtime writes lone surrogates like this: one look at the whole text instead of one at each.
  return text.includes('\\ud') ? write(value, '$', fractions) : text
}

/** Marks what has to be written member by member, or refused with its place. */
const unarranged = Symbol('unarranged')

/** The value with its members in order, or itself where they already are: what `JSON.stringify` writes canonically. */
function arrange(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? value : unarranged
    case 'object':
      if (value === null) return value
      if (Array.isArray(value)) return arrangeItems(value)
      return isPlain(value) ? arrangeMembers(value) : unarranged
    default:
      return unarranged
  }
}

function arrangeItems(items: readonly unknown[]): unknown {
  let arranged: unknown[] | undefined
  for (let i = 0; i < items.length; i++) {
    const item = arrange(items[i])
    if (item === unarranged) return unarranged
    if (item === items[i]) continue
    arranged ??= [...items]
    arranged[i] = item
  }
  return arranged ?? items
}

function arrangeMembers(value: Record<string, unknown>): unknown {
  // Members that are in order already are looked at in place, without a copy.
  let before = ''
  let isInOrder = true
  let arranged: Record<string, unknown> | undefined
  for (const key in value) {
    const member = value[key]
    if (member === undefined) continue
    // The runtime always puts keys that look like numbers first.
    if (!isPlainKey(key)) return unarranged
    if (key < before) isInOrder = false
    before = key
    const own = arrange(member)
    if (own === unarranged) return unarranged
    if (own === member) continue
    arranged ??= { ...value }
    arranged[key] = own
  }
  return isInOrder ? (arranged ?? value) : inOrder(arranged ?? value)
}

const keysKeptMax = 1_000
const plainKeys = new Set<string>()

/** Most keys have been seen before: a log uses few names for members. */
function isPlainKey(key: string): boolean {
  if (plainKeys.has(key)) return true
  if ((key < ':' && /^\d+$/.test(key)) || key === '__proto__') return false
  if (plainKeys.size < keysKeptMax) plainKeys.add(key)
  return true
}

function inOrder(value: Record<string, unknown>): Record<string, unknown> {
  const sorted: Record<string, unknown> = {}
  for (const key of Object.keys(value).sort()) sorted[key] = value[key]
  return sorted
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
    return `[${Array.from(value, (item, i) => write(item, `${path}[${i}]`, fractions)).join(',')}]`
  if (isPlain(value)) {
    const members = Object.keys(value)
      .filter(key => value[key] !== undefined)
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

function isPlain(value: unknown): value is Record<string, Json | undefined> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
