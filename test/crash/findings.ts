/** The problems of a log that was opened after a fault. */
export interface Findings {
  /** Acknowledged events that are missing or differ. */
  readonly lost: string[]
  /** All other contradictions. */
  readonly corrupt: string[]
}

/** Adds the findings of one file: each lost event counts, but a corrupt file only once. */
export function addFindings(to: Findings, where: string, { lost, corrupt }: Findings): void {
  to.lost.push(...lost.map(each => `${where}: ${each}`))
  if (corrupt.length > 0) to.corrupt.push(`${where}: ${corrupt.join('; ')}`)
}

/** Reports whether there are any problems. */
export function hasFindings({ lost, corrupt }: Findings): boolean {
  return lost.length + corrupt.length > 0
}

/** One row of the table at the end of a campaign. */
export interface Row extends Findings {
  readonly name: string
  /** The number of kills, injected errors or power cuts. */
  readonly faults: number
  /** The number of acknowledgements that were checked, over all logs. */
  readonly acknowledged: number
  /** Errors without a code of averba, or after which the process did not continue. */
  readonly unclear: readonly string[]
  /** Why it was not run. */
  readonly notRun?: string
  /** This row must lose events, to show that the check can fail. */
  readonly mustLose?: boolean
}

/** Creates the row of a part that was not run. */
export function notRunRow(name: string, reason: string): Row {
  return { name, faults: 0, acknowledged: 0, lost: [], corrupt: [], unclear: [], notRun: reason }
}

/** Reports whether a row has the expected result. */
export function hasPassed(row: Row): boolean {
  if (row.notRun !== undefined) return true
  if (row.corrupt.length + row.unclear.length > 0 || row.faults === 0) return false
  return row.mustLose ? row.lost.length > 0 : row.lost.length === 0
}

/** Formats the table. */
export function formatTable(rows: readonly Row[]): string {
  const head = [
    'campaign',
    'faults tried',
    'acknowledgements checked',
    'acknowledged events lost',
    'corrupt files',
    'unclear errors',
    '',
  ]
  const cells = rows.map(row => {
    if (row.notRun !== undefined) return [row.name, '-', '-', '-', '-', '-', `not run: ${row.notRun}`]
    const counts = [row.faults, row.acknowledged, row.lost.length, row.corrupt.length, row.unclear.length]
    const verdict = hasPassed(row) ? 'ok' : 'FAILED'
    return [row.name, ...counts.map(String), row.mustLose ? `${verdict}: must lose` : verdict]
  })
  const sums = rows.filter(row => row.notRun === undefined && !row.mustLose)
  const sum = (count: (row: Row) => number) => String(sums.reduce((total, row) => total + count(row), 0))
  const total = [
    'total without "must lose"',
    sum(row => row.faults),
    sum(row => row.acknowledged),
    sum(row => row.lost.length),
    sum(row => row.corrupt.length),
    sum(row => row.unclear.length),
    '',
  ]
  const lines = [head, ...cells, total]
  const widths = head.map((_, i) => Math.max(...lines.map(line => line[i]?.length ?? 0)))
  const isText = (i: number) => i === 0 || i === head.length - 1
  return lines
    .map(line => line.map((cell, i) => (isText(i) ? cell.padEnd : cell.padStart).call(cell, widths[i] ?? 0)))
    .map(line => line.join('  ').trimEnd())
    .join('\n')
}
