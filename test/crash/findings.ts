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
  readonly notRun?: string
  /** This row must lose events, to show that the check can fail. */
  readonly mustLose?: boolean
}

export function createRow(name: string, others: Pick<Row, 'notRun' | 'mustLose'> = {}): Row {
  return { name, faults: 0, acknowledged: 0, lost: [], corrupt: [], unclear: [], ...others }
}

/** Whether a row is evidence: something acknowledged was checked, and what must be lost was lost. */
function isConclusive({ acknowledged, lost, mustLose }: Row): boolean {
  return acknowledged > 0 && (!mustLose || lost.length > 0)
}

/** Reports whether a row has the expected result. */
export function hasPassed(row: Row): boolean {
  if (row.notRun !== undefined) return true
  const { lost, corrupt, unclear, mustLose } = row
  return isConclusive(row) && corrupt.length + unclear.length === 0 && (mustLose || lost.length === 0)
}

/** How often the tries are doubled, at most. */
const doublingsMax = 6

/** Tries a part again with twice as many tries while it shows nothing: a few may all come before the first answer. */
export async function untilConclusive(tries: number, part: (tries: number) => Promise<Row | Row[]>): Promise<Row[]> {
  for (let doublings = 0; ; doublings++) {
    const rows = [await part(tries * 2 ** doublings)].flat()
    const isShown = (row: Row) =>
      row.notRun !== undefined || isConclusive(row) || row.corrupt.length + row.unclear.length > 0
    if (doublings === doublingsMax || rows.every(isShown)) return rows
  }
}

export function printTable(rows: readonly Row[]): void {
  const cells = rows.map(row => {
    const { name, notRun, faults, acknowledged, lost, corrupt, unclear, mustLose } = row
    if (notRun !== undefined) return [name, { result: `not run: ${notRun}` }] as const
    const result = `${hasPassed(row) ? 'ok' : 'FAILED'}${mustLose ? ': must lose' : ''}`
    const counts = { 'acknowledgements checked': acknowledged, lost: lost.length, corrupt: corrupt.length }
    return [name, { 'faults tried': faults, ...counts, unclear: unclear.length, result }] as const
  })
  console.table(Object.fromEntries(cells))
}
