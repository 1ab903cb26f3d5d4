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
  faults: number
  /** The number of acknowledgements that were checked, over all logs. */
  acknowledged: number
  /** Errors without a code of averba, or after which the process did not continue. */
  readonly unclear: string[]
  /** Why it was not run. */
  readonly notRun?: string
  /** This row must lose events, to show that the check can fail. */
  readonly mustLose?: boolean
}

export function createRow(name: string, others: Pick<Row, 'notRun' | 'mustLose'> = {}): Row {
  return { name, faults: 0, acknowledged: 0, lost: [], corrupt: [], unclear: [], ...others }
}

/** Reports whether a row has the expected result. */
export function hasPassed(row: Row): boolean {
  if (row.notRun !== undefined) return true
  if (row.corrupt.length + row.unclear.length > 0 || row.faults === 0) return false
  return row.mustLose ? row.lost.length > 0 : row.lost.length === 0
}

const counted = [
  'faults tried',
  'acknowledgements checked',
  'acknowledged events lost',
  'corrupt files',
  'unclear errors',
]

/** Formats the table. */
export function formatTable(rows: readonly Row[]): string {
  const countsOf = ({ faults, acknowledged, lost, corrupt, unclear }: Row) =>
    [faults, acknowledged, lost.length, corrupt.length, unclear.length] as const
  const cells = rows.map(row => {
    if (row.notRun !== undefined) return [row.name, ...counted.map(() => '-'), `not run: ${row.notRun}`]
    const verdict = hasPassed(row) ? 'ok' : 'FAILED'
    return [row.name, ...countsOf(row).map(String), row.mustLose ? `${verdict}: must lose` : verdict]
  })
  const summed = rows.filter(row => row.notRun === undefined && !row.mustLose).map(countsOf)
  const sums = counted.map((_, i) => summed.reduce((sum, counts) => sum + (counts[i] ?? 0), 0))
  const lines = [['campaign', ...counted, ''], ...cells, ['total without "must lose"', ...sums.map(String), '']]
  const widths = ['', ...counted, ''].map((_, i) => Math.max(...lines.map(line => line[i]?.length ?? 0)))
  const isText = (i: number) => i === 0 || i > counted.length
  return lines
    .map(line => line.map((cell, i) => (isText(i) ? cell.padEnd : cell.padStart).call(cell, widths[i] ?? 0)))
    .map(line => line.join('  ').trimEnd())
    .join('\n')
}
