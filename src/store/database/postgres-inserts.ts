import type { PostgresQuery } from './postgres-pool.ts'

/** The value list of an insert of one row whose values are all parameters. */
const parameterRow = /values \(\?(?:, \?)*\)/

/** An array among the parameters of a statement, and the name of its elements. */
export interface PostgresArray {
  readonly mark: string
  readonly name: string
}

const texts = new Map<string, string>()

/**
 * Writes an insert of one row as one of many, with an array for each column: the server parses a short text, whatever
 * the number of rows, and nothing is left in its session. `undefined` for another statement, and for a column whose
 * values are not of one type.
 */
export function insertFromArrays(sql: string, rows: readonly (readonly unknown[])[]): PostgresQuery | undefined {
  const columns = (rows[0] ?? []).map((_, i) => rows.map(row => row[i]))
  const types = columns.map(arrayTypeOf)
  if (!parameterRow.test(sql) || types.includes(undefined)) return undefined
  const key = `${types.join()} ${sql}`
  let text = texts.get(key)
  if (text === undefined) {
    text = sql.replace(parameterRow, selectArrays(types))
    texts.set(key, text)
  }
  return { text, values: columns.flatMap((column, i) => (types[i] ? [encodeArray(types[i], column)] : [])) }
}

/** A column without a value needs no array: the server knows its type. */
function selectArrays(types: readonly (string | null | undefined)[]): string {
  const given = types.flatMap((type, i) => (type ? [{ type, name: `c${i}` }] : []))
  const list = types.map((type, i) => (type ? `c${i}` : 'null'))
  const arrays = given.map(({ type }, i) => `$${i + 1}::${type}[]`)
  return `select ${list.join(', ')} from unnest(${arrays.join(', ')}) as row_of (${given.map(({ name }) => name).join(', ')})`
}

/** The types of elements, and the numbers by which the server knows them. */
const elementTypes = { bigint: 20, text: 25, bytea: 17 } as const
type ElementType = keyof typeof elementTypes

/** The type of an array with these values: null when none tells it, `undefined` when they are not of one type. */
export function arrayTypeOf(values: readonly unknown[]): ElementType | null | undefined {
  const types = new Set(values.filter(value => value !== null).map(elementTypeOf))
  return types.size > 1 ? undefined : types.size === 0 ? null : [...types][0]
}

function elementTypeOf(value: unknown): ElementType | undefined {
  if (typeof value === 'string') return 'text'
  if (value instanceof Uint8Array) return 'bytea'
  return Number.isSafeInteger(value) ? 'bigint' : undefined
}

/** Writes values of one type in the binary form of the protocol: nothing is escaped, and the server parses nothing. */
export function encodeArray(type: ElementType, values: readonly unknown[]): Buffer {
  const sizes = values.map(sizeOf)
  const dimensions = [1, 1, elementTypes[type], values.length, 1]
  const bytes = sizes.reduce((sum, size) => sum + 4 + Math.max(size, 0), 4 * dimensions.length)
  const array = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const number of dimensions) at = array.writeInt32BE(number, at)
  for (const [i, value] of values.entries()) {
    at = array.writeInt32BE(sizes[i] ?? 0, at)
    if (typeof value === 'number') at = array.writeBigInt64BE(BigInt(value), at)
    else if (typeof value === 'string') at += array.write(value, at)
    else if (value instanceof Uint8Array) {
      array.set(value, at)
      at += value.length
    }
  }
  return array
}

/** How many bytes a value has as an element. That of null is -1. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (value instanceof Uint8Array) return value.length
  return value === null ? -1 : 8
}
