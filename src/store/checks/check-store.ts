import { type Fault, Faults } from '../../proof/faults.ts'
import { type LogVerified, LogVerifier } from '../../proof/log-verifier.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Keyring } from '../../vault/keyring.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { View } from '../../vocabulary/view.ts'
import type { Snapshot } from '../database/snapshot.ts'
import { isCutOff } from '../database/sqlite.ts'
import type { StoreFacts } from '../log/facts.ts'
import { type Schemas, upcasters } from '../log/header.ts'
import { endOfLog } from '../log/read.ts'
import { findEndFault } from './check-end.ts'
import { checkIndex, checkRecent, type IndexKind } from './check-index.ts'
import { checkLog } from './check-log.ts'
import { checkViews } from './check-views.ts'

/** Options of a check. */
export interface CheckOptions {
  /** The views to fold again and compare; absent to check the log only. */
  readonly views?: readonly View[]
  readonly schemas?: Schemas
  /** The kinds of keyed digests to compare with the log; none when absent. */
  readonly indexKinds?: readonly IndexKind[]
  /** Called after each page with what is checked, the position reached and the end of the log. */
  readonly onProgress?: (what: 'log' | 'views', position: number, end: number) => void
  /** Stops the check between two pages: the result is what was found so far. */
  readonly signal?: AbortSignal
}

/** How much of the log was checked. */
export type LogChecked = Pick<LogVerified, 'events' | 'parts' | 'erasedParts'>

/** What was checked, and the faults found; none means that the store is sound. */
export interface CheckFindings extends LogChecked {
  readonly faults: readonly Fault[]
}

/** Checks everything in a store on one read transaction: SQLite's own checks, every row of the log, index and views. */
export async function checkStore(snapshot: Snapshot, options: CheckOptions = {}): Promise<CheckFindings> {
  const faults = new Faults()
  const verifier = new LogVerifier([], [])
  const checked = await checkRows(snapshot, verifier, faults, options)
  // Illegal decisions are reported by `verifyStore`: they do not make a copy of the store unsound.
  faults.addAll(verifier.faults.list().filter(({ check }) => check !== 'legality'))
  return { ...checked, faults: faults.list() }
}

/** Like `checkStore`, with a given verifier that receives every event and keeps its own faults. */
export async function checkRows(
  snapshot: Snapshot,
  verifier: LogVerifier,
  faults: Faults,
  options: CheckOptions,
): Promise<LogChecked & Partial<LogVerified>> {
  const { views = [], schemas = upcasters, indexKinds = [], onProgress, signal } = options
  let verified: LogVerified | undefined
  const head = await checkEndOfLog(snapshot, faults)
  const onPage = (what: 'log' | 'views') => async (position: number) => {
    onProgress?.(what, position, Math.max(head, position))
    await yieldToEventLoop()
    return !signal?.aborted
  }
  await runCheck(faults, () => checkFile(snapshot, faults))
  await runCheck(faults, async () => {
    verified = await checkLog(snapshot, verifier, faults, onPage('log'))
  })
  const onIndex = () => onPage('log')(head)
  await runCheck(faults, () => checkIndex(snapshot, indexKinds, views, faults, onIndex))
  await runCheck(faults, () => checkRecent(snapshot, faults, onIndex))
  if (views.length > 0) await runCheck(faults, () => checkViews(snapshot, views, schemas, faults, onPage('views')))
  return verified ?? { events: verifier.size, parts: 0, erasedParts: 0 }
}

/** Faults of a keyring with respect to a log. */
export function findKeyFaults(
  facts: Pick<StoreFacts, 'keyring' | 'epochs'>,
  keyring: Pick<Keyring, 'id' | 'epochs'>,
): string[] {
  if (keyring.id !== facts.keyring) return ['the keyring belongs to another log']
  const missing = facts.epochs.filter(epoch => !keyring.epochs.includes(epoch))
  return missing.map(epoch => `the epoch ${epoch} is missing in the keyring`)
}

/** Throws if a check found faults. */
export function throwOnFaults(what: string, { faults }: Pick<CheckFindings, 'faults'>): void {
  const [worst] = faults
  if (!worst) return
  throw new AverbaError('CORRUPT', `${what}: ${worst.examples[0]}`, {
    hint: 'Run averba doctor --deep: it lists all faults',
  })
}

/** Throws for a file that ends within a page: a copy would end with a padded page. */
export function throwOnCutOff(what: string, snapshot: Snapshot): void {
  const fault = findCutOff(snapshot)
  if (fault === undefined) return
  const faults = new Faults()
  faults.add('file', fault)
  throwOnFaults(what, { faults: faults.list() })
}

function findCutOff(snapshot: Snapshot): string | undefined {
  const pageBytes = Number(snapshot.pragma('page_size')[0]?.page_size)
  return isCutOff(snapshot.path, pageBytes) ? 'it ends within a page: it was cut off' : undefined
}

async function checkEndOfLog(snapshot: Snapshot, faults: Faults): Promise<number> {
  let end = 0
  await runCheck(faults, async () => {
    const fault = snapshot.run(findEndFault)
    if (fault !== undefined) faults.add('end', fault)
    end = snapshot.run(endOfLog)
  })
  return end
}

async function checkFile(snapshot: Snapshot, faults: Faults): Promise<void> {
  for (const row of snapshot.pragma('integrity_check(10)')) {
    if (row.integrity_check !== 'ok') faults.add('file', String(row.integrity_check))
  }
  const cutOff = findCutOff(snapshot)
  if (cutOff !== undefined) faults.add('file', cutOff)
  for (const { table, parent } of snapshot.pragma('foreign_key_check'))
    faults.add('references', `a row of "${table}" refers to a missing row of "${parent}"`)
}

/**
 * Runs one check, so that damage found by it does not stop the others. After other faults, an unexpected error is
 * reported as more of the same damage.
 */
export async function runCheck(faults: Faults, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (error instanceof AverbaError && error.code === 'CORRUPT') return faults.add('file', error.message)
    if (error instanceof AverbaError || faults.list().length === 0) throw error
    faults.add('file', 'the damaged data could not be checked completely')
  }
}
