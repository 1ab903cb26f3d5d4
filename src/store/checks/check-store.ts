import { type Fault, Faults } from '../../proof/faults.ts'
import { type LogVerified, LogVerifier } from '../../proof/log-verifier.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Keyring } from '../../vault/keyring.ts'
import { AverbaError, hasCode } from '../../vocabulary/errors.ts'
import type { View } from '../../vocabulary/view.ts'
import type { Reading } from '../database/reading.ts'
import type { StoreFacts } from '../log/facts.ts'
import { HeaderReader, type Schemas, upcasters } from '../log/header.ts'
import { endOfLog } from '../log/read.ts'
import type { Tags } from '../log/tags.ts'
import { findEndFault } from './check-end.ts'
import { checkIndex, checkRecent, type IndexKind } from './check-index.ts'
import { checkLog } from './check-log.ts'
import { checkViews } from './check-views.ts'

export interface CheckOptions {
  /** The views to fold again and compare; absent to check the log only. */
  readonly views?: readonly View[]
  readonly schemas?: Schemas
  /** Those of the log's keyring. Without them, no tag is checked. */
  readonly tags?: Tags | undefined
  /** The kinds of keyed digests to compare with the log; none when absent. */
  readonly indexKinds?: readonly IndexKind[]
  /** Called after each page with what is checked, the position reached and the end of the log. */
  readonly onProgress?: (what: 'log' | 'views', position: number, end: number) => void
  /** Stops the check between two pages: the result is what was found so far. */
  readonly signal?: AbortSignal
}

export type LogChecked = Pick<LogVerified, 'events' | 'parts' | 'erasedParts'>

/** What was checked, and the faults found; none means that the store is sound. */
export interface CheckFindings extends LogChecked {
  readonly faults: readonly Fault[]
}

/** Checks everything in a store at one moment: the medium by its own means, every row of the log, index and views. */
export async function checkStore(reading: Reading, options: CheckOptions = {}): Promise<CheckFindings> {
  const faults = new Faults()
  const verifier = new LogVerifier([], [])
  const checked = await checkRows(reading, verifier, faults, options)
  // Illegal decisions are reported by `verifyStore`: they do not make a copy of the store unsound.
  faults.addAll(verifier.faults.list().filter(({ check }) => check !== 'legality'))
  return { ...checked, faults: faults.list() }
}

/** Like `checkStore`, with a given verifier that receives every event and keeps its own faults. */
export async function checkRows(
  reading: Reading,
  verifier: LogVerifier,
  faults: Faults,
  { views = [], schemas = upcasters, tags, indexKinds = [], onProgress, signal }: CheckOptions,
): Promise<LogChecked & Partial<LogVerified>> {
  const head = (await runCheck(faults, () => checkEndOfLog(reading, faults))) ?? 0
  const onPage = (what: 'log' | 'views') => async (position: number) => {
    onProgress?.(what, position, Math.max(head, position))
    await yieldToEventLoop()
    return !signal?.aborted
  }
  await runCheck(faults, async () => {
    for (const { check, fault } of await reading.findFaults()) faults.add(check, fault)
  })
  const verified = await runCheck(faults, () => checkLog(reading, verifier, faults, tags, onPage('log')))
  const onIndex = () => onPage('log')(head)
  await runCheck(faults, () => checkIndex(reading, indexKinds, views, faults, tags, onIndex))
  await runCheck(faults, () => checkRecent(reading, faults, onIndex))
  if (views.length > 0)
    await runCheck(faults, () => checkViews(reading, views, new HeaderReader(schemas), faults, onPage('views')))
  return verified ?? { events: verifier.size, parts: 0, erasedParts: 0 }
}

export function findKeyFaults(
  facts: Pick<StoreFacts, 'keyring' | 'epochs'>,
  keyring: Pick<Keyring, 'id' | 'epochs'>,
): string[] {
  if (keyring.id !== facts.keyring) return ['the keyring belongs to another log']
  const missing = facts.epochs.filter(epoch => !keyring.epochs.includes(epoch))
  return missing.map(epoch => `the epoch ${epoch} is missing in the keyring`)
}

export function throwOnFaults(what: string, [worst]: readonly Fault[]): void {
  if (worst) throw damagedError(`${what}: ${worst.examples[0]}`)
}

/** Throws for a file that ends within a page: a copy would end with a padded page. */
export function throwOnCutOff(what: string, reading: Reading): void {
  const fault = reading.findCutOff()
  if (fault !== undefined) throw damagedError(`${what}: ${fault}`)
}

function damagedError(message: string): AverbaError {
  return new AverbaError('CORRUPT', message, { hint: 'Run averba doctor --deep: it lists all faults' })
}

async function checkEndOfLog(reading: Reading, faults: Faults): Promise<number> {
  const fault = await reading.read(findEndFault)
  if (fault !== undefined) faults.add('end', fault)
  return await reading.read(endOfLog)
}

/** Runs one check: what it finds stops no other. After other faults, an unexpected error is more of the same damage. */
export async function runCheck<T>(faults: Faults, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!hasCode(error, 'CORRUPT') && (error instanceof AverbaError || faults.list().length === 0)) throw error
    faults.add('file', hasCode(error, 'CORRUPT') ? error.message : 'the damaged data could not be checked completely')
    return undefined
  }
}
