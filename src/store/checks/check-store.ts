import { type Fault, Faults } from '../../proof/faults.ts'
import { type LogVerified, LogVerifier } from '../../proof/log-verifier.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Keyring } from '../../vault/keyring.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { View } from '../../vocabulary/view.ts'
import type { Snapshot } from '../database/snapshot.ts'
import { isCutOff } from '../database/sqlite.ts'
import type { StoreFacts } from '../log/facts.ts'
import { endOfLog } from '../log/position-before.ts'
import type { Schemas } from '../log/upcasters.ts'
import { type ClaimedKind, checkClaims } from './check-claims.ts'
import { endFault } from './check-end.ts'
import { checkLog } from './check-log.ts'
import { checkRecent } from './check-recent.ts'
import { checkViews } from './check-views.ts'

/** How to check a store. */
export interface CheckOptions {
  /** The views to fold anew; without them, the log alone is checked. */
  readonly views?: readonly View[]
  readonly schemas?: Schemas
  /** The kinds of keyed digests to compare with the log; none when absent. */
  readonly claimedKinds?: readonly ClaimedKind[]
  /** Told of each page: what is being checked, the position it has come to, the end of the log. */
  readonly onProgress?: (what: 'log' | 'views', position: number, end: number) => void
  /** Ends the check between two pages: the result is what was found until then. */
  readonly signal?: AbortSignal
}

/** What was looked at of the log. */
export interface LogChecked {
  readonly events: number
  readonly parts: number
  /** Parts that are not there because their owner was erased or their time was over. */
  readonly erasedParts: number
}

/** What a check looked at, and what is wrong: no fault means that all is well. */
export interface CheckFindings extends LogChecked {
  readonly faults: readonly Fault[]
}

/**
 * Compares everything in a store with everything else in it, on one reading, in pages: SQLite's own checks, the
 * head, dense positions and versions, every header, leaf, tile, part, owed effect and receipt, the keyed index and
 * the views.
 */
export async function checkStore(snapshot: Snapshot, options: CheckOptions = {}): Promise<CheckFindings> {
  const faults = new Faults()
  const verifier = new LogVerifier([], [])
  const checked = await checkRows(snapshot, verifier, faults, options)
  // What a decision may be is the verifier's business: a copy of the log is as good.
  faults.take(verifier.faults.list().filter(({ check }) => check !== 'legality'))
  return { ...checked, faults: faults.list() }
}

/** The same, with a verifier that is given every event: what it finds is its own. */
export async function checkRows(
  snapshot: Snapshot,
  verifier: LogVerifier,
  faults: Faults,
  options: CheckOptions,
): Promise<LogChecked & Partial<LogVerified>> {
  const { views = [], schemas = {}, claimedKinds = [], onProgress, signal } = options
  let verified: LogVerified | undefined
  const head = await readEnd(snapshot, faults)
  const onPage = (what: 'log' | 'views') => async (position: number) => {
    onProgress?.(what, position, Math.max(head, position))
    await yieldToEventLoop()
    return !signal?.aborted
  }
  await within(faults, () => checkFile(snapshot, faults))
  await within(faults, async () => {
    verified = await checkLog(snapshot, verifier, faults, onPage('log'))
  })
  const onIndex = () => onPage('log')(head)
  await within(faults, () => checkClaims(snapshot, claimedKinds, views, faults, onIndex))
  await within(faults, () => checkRecent(snapshot, faults, onIndex))
  if (views.length > 0)
    await within(faults, () => checkViews(snapshot, views, schemas, faults, onPage('views')))
  return verified ?? { events: verifier.size, parts: 0, erasedParts: 0 }
}

/** Faults of the keyring with regard to the log. */
export function keyFaults(
  facts: Pick<StoreFacts, 'keyring' | 'epochs'>,
  keyring: Pick<Keyring, 'id' | 'epochs'>,
): string[] {
  if (keyring.id !== facts.keyring) return ['the keyring is that of another log']
  const missing = facts.epochs.filter(epoch => !keyring.epochs.includes(epoch))
  return missing.map(epoch => `the keyring lacks the epoch ${epoch}`)
}

/** Throws for what a check found wrong. */
export function refuseFaults(what: string, { faults }: Pick<CheckFindings, 'faults'>): void {
  const [worst] = faults
  if (!worst) return
  throw new AverbaError('CORRUPT', `${what}: ${worst.examples[0]}`, {
    hint: 'averba doctor --deep says all that is wrong',
  })
}

/** Throws for a file that ends within a page: its copy would end with a page that was filled up. */
export function refuseCutOff(what: string, snapshot: Snapshot): void {
  const fault = cutOffFault(snapshot)
  if (fault === undefined) return
  const faults = new Faults()
  faults.add('file', fault)
  refuseFaults(what, { faults: faults.list() })
}

/** Says that a file ends within a page, where it does. */
function cutOffFault(snapshot: Snapshot): string | undefined {
  const pageBytes = Number(snapshot.pragma('page_size')[0]?.page_size)
  return isCutOff(snapshot.path, pageBytes) ? 'it ends within a page: it was cut off' : undefined
}

async function readEnd(snapshot: Snapshot, faults: Faults): Promise<number> {
  let end = 0
  await within(faults, async () => {
    const fault = snapshot.run(endFault)
    if (fault !== undefined) faults.add('end', fault)
    end = snapshot.run(endOfLog)
  })
  return end
}

async function checkFile(snapshot: Snapshot, faults: Faults): Promise<void> {
  for (const row of snapshot.pragma('integrity_check(10)')) {
    if (row.integrity_check !== 'ok') faults.add('file', String(row.integrity_check))
  }
  const cutOff = cutOffFault(snapshot)
  if (cutOff !== undefined) faults.add('file', cutOff)
  for (const { table, parent } of snapshot.pragma('foreign_key_check'))
    faults.add('references', `a row of "${table}" refers to none of "${parent}"`)
}

/**
 * Runs a check that damage may end without ending the others. In a damaged file anything may stand in place of the
 * log's data: what a check fails at there is not news, and must not hide what was found.
 */
export async function within(faults: Faults, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (error instanceof AverbaError && error.code === 'CORRUPT') return faults.add('file', error.message)
    if (error instanceof AverbaError || faults.list().length === 0) throw error
    faults.add('file', 'what stands there could not be looked at to its end')
  }
}
