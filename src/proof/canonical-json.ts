import type { Json } from '../message.ts'

/**
 * Writes the one JSON text of a value: keys sorted, no white space (a strict subset of RFC 8785). What
 * could be read in two ways is refused, since these bytes are hashed and kept for ever: numbers that are
 * not safe integers, text with lone surrogates, `undefined` but as a member, and objects that are not plain.
 * A member that is `undefined` is left out, as JSON has it.
 *
 * `fractions` also lets finite numbers with a fraction pass: for digests that are compared with their own
 * kind only.
 *
 * @throws {TypeError} on anything ambiguous, naming where it stands
 */
export function canonicalJson(value: unknown, { fractions = false } = {}): string {
  // Most values are in order as they are: then the runtime's own writer is several times as fast.
  return isInOrder(value) ? JSON.stringify(value) : write(value, '$', fractions)
}

/** Reports whether `JSON.stringify` writes the canonical text; no for whatever has to be looked at closely. */
function isInOrder(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed()
    case 'number':
      return Number.isSafeInteger(value) && !Object.is(value, -0)
    case 'boolean':
      return true
    case 'object':
      if (value === null) return true
      return Array.isArray(value) ? hasItemsInOrder(value) : isPlain(value) && hasMembersInOrder(value)
    default:
      return false
  }
}

function hasItemsInOrder(value: readonly unknown[]): boolean {
  for (let i = 0; i < value.length; i++) if (!isInOrder(value[i])) return false
  return true
}

function hasMembersInOrder(value: Record<string, unknown>): boolean {
  let last = ''
  for (const key in value) {
    const member = value[key]
    if (member === undefined) continue
    if (key <= last || !key.isWellFormed() || !isInOrder(member)) return false
    last = key
  }
  return true
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
