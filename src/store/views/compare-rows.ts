import type { View } from '../../vocabulary/view.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import { type ViewRow, ViewTable } from './view-table.ts'

const pageKeys = 1_000
const examplesMax = 10

/** The differences between two tables, as far as they were compared. */
export class RowDifferences {
  rows = 0
  count = 0
  readonly examples: string[] = []
  /** The last key compared; `undefined` after the last row. */
  after: string | undefined = ''

  add(key: string): void {
    this.count += 1
    if (this.examples.length < examplesMax) this.examples.push(key)
  }
}

/**
 * Counts the next page of a view's new rows by key, and compares them with the serving ones in every column.
 *
 * @param held new rows that are not written yet
 */
export function* compareRows(
  view: View,
  built: ViewTable,
  differences: RowDifferences,
  held: ReadonlyMap<string, ViewRow | undefined> = new Map(),
  isCompared = true,
): Steps<void> {
  const serving = new ViewTable(view)
  const { after = '' } = differences
  const [key = '', ...others] = Object.keys(view.columns)
  const nth = ({ name }: ViewTable) =>
    `select (select ${key} from ${name} where ${key} > ? order by ${key} limit 1 offset ${pageKeys - 1}) as nth`
  const end = yield* first<{ until: string | null }>({
    sql: `select min(nth) as until from (${nth(serving)} union all ${nth(built)}) as ends`,
    parameters: [after, after],
  })
  const until = end?.until ?? undefined
  const within = (table: string) => `${table}.${key} > ?${until === undefined ? '' : ` and ${table}.${key} <= ?`}`
  const range = until === undefined ? [after] : [after, until]
  const counted = yield* first<{ n: number }>({
    sql: `select count(*) as n from ${built.name} b where ${within('b')}`,
    parameters: range,
  })
  differences.rows += counted?.n ?? 0
  for (const [key, row] of held) {
    if (!row || !isKeyWithin(key, after, until)) continue
    if (!(yield* built.find(key))) differences.rows += 1
    if (isCompared && !isSameRow(view, row, yield* serving.find(key))) differences.add(key)
  }
  if (isCompared) {
    const isOther = others.map(column => `a.${column} is distinct from b.${column}`).join(' or ')
    const differing = yield* rows<{ key: string }>({
      sql: `select a.${key} as key from ${serving.name} a left join ${built.name} b on b.${key} = a.${key}
          where ${within('a')} and (b.${key} is null${isOther && ` or ${isOther}`})
        union all select b.${key} from ${built.name} b left join ${serving.name} a on a.${key} = b.${key}
          where ${within('b')} and a.${key} is null`,
      parameters: [...range, ...range],
    })
    for (const { key } of differing) if (!held.get(key)) differences.add(key)
  }
  differences.after = until
}

/** Compares keys by their bytes, as the database does. */
function isKeyWithin(key: string, after: string, until: string | undefined): boolean {
  const bytes = Buffer.from(key)
  if (bytes.compare(Buffer.from(after)) <= 0) return false
  return until === undefined || bytes.compare(Buffer.from(until)) <= 0
}

function isSameRow({ columns }: View, a: ViewRow, b: ViewRow | undefined): boolean {
  return b !== undefined && Object.keys(columns).every(column => (a[column] ?? null) === (b[column] ?? null))
}
