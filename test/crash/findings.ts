/** What is wrong with a log that was opened again, in words. */
export interface Findings {
  /** Events that were acknowledged and are not there as they were. */
  readonly lost: string[]
  /** Everything else that contradicts itself. */
  readonly corrupt: string[]
}

/** Adds what one file showed to what is known so far: each lost event counts, and the file once. */
export function addFindings(to: Findings, where: string, { lost, corrupt }: Findings): void {
  to.lost.push(...lost.map(each => `${where}: ${each}`))
  if (corrupt.length > 0) to.corrupt.push(`${where}: ${corrupt.join('; ')}`)
}

/** Reports whether anything was wrong. */
export function isAnythingIn({ lost, corrupt }: Findings): boolean {
  return lost.length + corrupt.length > 0
}

/** One row of the table that a campaign ends with. */
export interface Row extends Findings {
  readonly name: string
  /** How often something was broken: a kill, an injected error, a power cut. */
  readonly faults: number
  /** How many acknowledgements were held against a log, over all checks. */
  readonly acknowledged: number
  /** Errors that reached a caller without a code of ours, or after which the process did not go on rightly. */
  readonly unclear: readonly string[]
  /** Why it was not run. */
  readonly notRun?: string
  /** A row that shows that the check can fail: it has to lose. */
  readonly hasToLose?: boolean
}

/** A row of what was not run. */
export function notRun(name: string, why: string): Row {
  return { name, faults: 0, acknowledged: 0, lost: [], corrupt: [], unclear: [], notRun: why }
}

/** Reports whether a row is as it has to be. */
export function isGood(row: Row): boolean {
  if (row.notRun !== undefined) return true
  if (row.corrupt.length + row.unclear.length > 0 || row.faults === 0) return false
  return row.hasToLose ? row.lost.length > 0 : row.lost.length === 0
}

/** Writes the table. */
export function tableOf(rows: readonly Row[]): string {
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
    const verdict = isGood(row) ? 'ok' : 'FAILED'
    return [row.name, ...counts.map(String), row.hasToLose ? `${verdict}: has to lose` : verdict]
  })
  const sums = rows.filter(row => row.notRun === undefined && !row.hasToLose)
  const sum = (count: (row: Row) => number) => String(sums.reduce((total, row) => total + count(row), 0))
  const total = [
    'all but what has to lose',
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
