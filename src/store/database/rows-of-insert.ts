const insertedRow = /(?<=values )\([^()]+\)/

const texts = new Map<string, string>()

/** Writes an insert of one row as one of so many rows; `undefined` for another statement. */
export function insertOf(sql: string, rows: number): string | undefined {
  const key = `${rows} ${sql}`
  let text = texts.get(key)
  if (text === undefined && insertedRow.test(sql)) {
    text = sql.replace(insertedRow, row => Array(rows).fill(row).join(', '))
    texts.set(key, text)
  }
  return text
}
