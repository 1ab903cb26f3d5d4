import type { Statement } from './connection.ts'
import { arrayTypeOf, encodeArray, type PostgresArray } from './postgres-inserts.ts'
import type { PostgresQuery } from './postgres-pool.ts'

/** The text before a parameter that may not differ by row. */
const limit = /\b(limit|offset)\s*$/i

/** Reports whether a statement only reads: such statements may be read at once, in any order. */
export function isReading(sql: string): boolean {
  const text = sql.trimStart().toLowerCase()
  return text.startsWith('select ') && !text.includes(' for update')
}

/** Several readings of one text as one query, and how its rows are given back. */
export interface MergedReading {
  readonly query: PostgresQuery
  /** The rows of each statement, in their order. */
  split(rows: readonly unknown[]): readonly (readonly unknown[])[]
}

/**
 * Writes statements with one text and other parameters as one query: planning takes longer than running it, and would
 * be done for each. `undefined` when that cannot be done.
 */
export function mergeReadings(statements: readonly Statement[]): MergedReading | undefined {
  const { sql = '', parameters = [] } = statements[0] ?? {}
  if (statements.length < 2) return undefined
  const columns = parameters.map((_, i) => statements.map(each => each.parameters[i]))
  let isMergeable = true
  const arrays: PostgresArray[] = []
  const values: unknown[] = []
  const texts = sql.split('?')
  const marks = columns.map((column, i) => {
    const type = arrayTypeOf(column)
    // What is the same for all stays one parameter.
    const isSame = column.every(value => value === column[0])
    if (!type || (!isSame && limit.test(texts[i] ?? ''))) isMergeable = false
    values.push(type && !isSame ? encodeArray(type, column) : column[0])
    if (isSame) return `$${values.length}`
    arrays.push({ mark: `$${values.length}::${type}[]`, name: `p${i}` })
    return `each.p${i}`
  })
  if (arrays.length === 0 || !isMergeable) return undefined
  const text = texts.map((each, i) => each + (marks[i] ?? '')).join('')
  const from = `unnest(${arrays.map(each => each.mark).join(', ')}) with ordinality
    as each (${arrays.map(each => each.name).join(', ')}, of_statement)`
  return {
    query: {
      text: `select of_statement, found.* from ${from}
        cross join lateral (select row_number() over () as nth_row, own.* from (${text}) as own) as found
        order by of_statement, nth_row`,
      values,
    },
    split(rows) {
      const found: unknown[][] = statements.map(() => [])
      for (const row of rows as readonly MergedRow[]) {
        const { of_statement: nth, nth_row: _, ...own } = row
        found[nth - 1]?.push(own)
      }
      return found
    },
  }
}

interface MergedRow {
  readonly of_statement: number
  readonly nth_row: number
}
