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
 * the number of rows, and nothing is left in its session. `undefined` for another statement.
 */
export function insertFromArrays(sql: string, rows: readonly (readonly unknown[])[]): PostgresQuery | undefined {
  if (!parameterRow.test(sql)) return undefined
  const columns = (rows[0] ?? []).map((_, i) => rows.map(row => row[i]))
  const types = columns.map(arrayTypeOf)
  const key = `${types.join()} ${sql}`
  let text = texts.get(key)
  if (text === undefined) {
    text = sql.replace(parameterRow, selectArrays(types))
    texts.set(key, text)
  }
  return { text, values: columns.filter((_, i) => types[i] !== undefined) }
}

/** A column without a value needs no array: the server knows its type. */
function selectArrays(types: readonly (string | undefined)[]): string {
  const given = types.flatMap((type, i) => (type === undefined ? [] : [{ type, name: `c${i}` }]))
  const list = types.map((type, i) => (type === undefined ? 'null' : `c${i}`))
  const arrays = given.map(({ type }, i) => `$${i + 1}::${type}[]`)
  return `select ${list.join(', ')} from unnest(${arrays.join(', ')}) as row_of (${given.map(({ name }) => name).join(', ')})`
}

/** The type of an array with these values; `undefined` when none tells it. */
export function arrayTypeOf(values: readonly unknown[]): string | undefined {
  const value = values.find(each => each !== null)
  if (value === undefined) return undefined
  if (typeof value === 'number') return 'bigint'
  return typeof value === 'string' ? 'text' : 'bytea'
}
