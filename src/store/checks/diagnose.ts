import { existsSync, statSync } from 'node:fs'
import type { Entropy } from '../../runtime/entropy.ts'
import { inspectKeyring, type Keyring, openKeyring } from '../../vault/keyring.ts'
import { findLeftoverCopies, KeyringFile } from '../../vault/keyring-file.ts'
import type { Keys } from '../../vault/keys.ts'
import type { RememberedErasures } from '../../vault/stored-keys.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { keyringPath, markPath } from '../../vocabulary/names.ts'
import type { View } from '../../vocabulary/view.ts'
import { checkWhole } from '../checkpoints/check-tail.ts'
import { findMarkContradiction, findSignerFault, readMark } from '../checkpoints/high-water-mark.ts'
import type { Steps } from '../database/connection.ts'
import { Snapshot } from '../database/snapshot.ts'
import { requiredPragmas } from '../database/sqlite.ts'
import { countPending, type PendingCount } from '../ledger/ledger.ts'
import { readFacts, type StoreFacts } from '../log/facts.ts'
import { untaggedHeaders } from '../log/header.ts'
import { positionBefore, timeAt } from '../log/read.ts'
import { Tags } from '../log/tags.ts'
import { describeLostErasures, findLengthFault, findLostErasures, findUnopenedKeys } from '../owners/keyring-faults.ts'
import { readViewProgress, type ViewProgress } from '../views/projector.ts'
import { findEndFault } from './check-end.ts'
import { findSchemaFaults, schemaAdvice } from './check-schema.ts'
import { type CheckFindings, type CheckOptions, checkStore, findKeyFaults, throwOnCutOff } from './check-store.ts'

/** The events of one month (UTC), and roughly how much space they take. */
export interface MonthVolume {
  readonly month: string
  readonly events: number
  readonly bytes: number
}

/** The diagnosis of a store. */
export interface Diagnosis extends StoreFacts {
  readonly store: string
  readonly fileBytes: number
  readonly walBytes: number
  /** Free space in the file, which is used before the file grows. */
  readonly freeBytes: number
  readonly bytesPerEvent: number
  readonly since: Instant
  /** The last months up to the last event, newest first. */
  readonly months: readonly MonthVolume[]
  readonly views: readonly ViewProgress[]
  readonly pending: readonly PendingCount[]
  readonly keys: KeysFound
  readonly pragmas: Readonly<Record<string, unknown>>
  readonly checked?: CheckFindings
  /** What is wrong, in words; empty when the store is sound. */
  readonly problems: readonly string[]
}

/** The keyring found. */
export interface KeysFound {
  readonly path: string
  readonly isPresent: boolean
  readonly id?: string
  readonly epochs?: readonly number[]
  /** Its mode in octal digits, such as `600`. */
  readonly mode?: string
}

/** What to diagnose, and how. */
export interface DiagnoseOptions extends CheckOptions {
  readonly store: string
  readonly views: readonly View[]
  readonly entropy: Entropy
  /** The keyring's path when it is not beside the store: that of a backup is kept apart. */
  readonly keys?: string
  /** Who holds the root key of the log. Without it, a deep diagnosis of a log whose keyring lacks it is incomplete. */
  readonly rootKey?: Keys
  readonly isDeep?: boolean
  /** Whether the log is about to be opened with this root key: then one that does not open it is a problem. */
  readonly isOpening?: boolean
}

const monthsMax = 12

/**
 * Diagnoses a store without writing to it. Engines may be using it.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
 */
export async function diagnose(options: DiagnoseOptions): Promise<Diagnosis> {
  const { store, isDeep = false } = options
  // Read before the log: a later mark may be ahead of the snapshot.
  const mark = findMark(store)
  using snapshot = await Snapshot.open(store)
  // A cut-off last page may read as anything, so the quick checks would be misleading.
  if (!isDeep) throwOnCutOff(`Cannot diagnose "${store}"`, snapshot)
  const facts = snapshot.run(readFacts)
  const found = await inspectKeys(snapshot, options.keys ?? keyringPath(store), facts, options.entropy)
  const { keys } = found
  const opened = found.isOurs ? await openIfPossible(keys.path, options) : { problems: [] }
  const lost = describeLostErasures(snapshot.run(() => findLostErasures(untaggedHeaders, found.erased)))
  const keyring = isDeep ? opened.keyring : undefined
  const tags = keyring && new Tags(keyring)
  const checked = isDeep ? await checkStore(snapshot, { ...options, tags }) : undefined
  const views = snapshot.run(readViewProgress)
  const problems = [
    ...snapshot.run(findSchemaFaults).map(fault => `schema: the log cannot be opened: ${fault}: ${schemaAdvice}`),
    ...(checked ? describeFaults(checked) : findQuickFaults(snapshot, views, options.views)),
    ...found.problems,
    ...opened.problems,
    ...(keyring ? checkWithKeys(snapshot, mark, keyring) : []),
    ...describeMark(snapshot, mark),
    ...(lost === undefined ? [] : [`erasures: ${lost}`]),
  ]
  const size = readSize(snapshot, store, facts.position)
  return {
    ...facts,
    store,
    ...size,
    since: snapshot.run(() => timeAt(untaggedHeaders, 1)),
    months: snapshot.run(() => readMonths(facts, size.bytesPerEvent)),
    views,
    pending: snapshot.run(countPending),
    keys,
    pragmas: readPragmas(snapshot),
    ...(checked && { checked }),
    problems,
  }
}

/** Opens the keyring if it can be opened: without it, nothing says whether tags, index and owners' keys are genuine. */
async function openIfPossible(
  path: string,
  { entropy, rootKey, isDeep = false, isOpening = false }: DiagnoseOptions,
): Promise<{ readonly keyring?: Keyring; readonly problems: readonly string[] }> {
  if (!rootKey && !isDeep && !isOpening) return { problems: [] }
  try {
    return { keyring: await openKeyring(new KeyringFile(path, entropy), entropy, rootKey), problems: [] }
  } catch (error) {
    if (!(error instanceof AverbaError)) throw error
    const what = isDeep ? "tags, index and owners' keys are not checked: " : ''
    return { problems: [`keys: ${what}${[error.message, error.hint].filter(Boolean).join(': ')}`] }
  }
}

function describeFaults({ faults }: CheckFindings): string[] {
  return faults.map(({ check, count, examples }) => {
    const more = count > examples.length ? `; ${count} in all` : ''
    return `${check}: ${examples.join('; ')}${more}`
  })
}

function findQuickFaults(snapshot: Snapshot, found: readonly ViewProgress[], views: readonly View[]): string[] {
  const end = snapshot.run(findEndFault)
  // A view of another version is rebuilt when the log is opened.
  const isOurs = (each: ViewProgress) => views.some(view => view.name === each.view && view.version === each.version)
  const stopped = found.filter(each => !each.isRunning && isOurs(each))
  return [
    ...(end === undefined ? [] : [`end: ${end}`]),
    ...stopped.map(each => `views: ${each.view} is stopped: ${each.reason}`),
  ]
}

/** The mark beside a store, if any, or why it cannot be read. */
interface FoundMark {
  readonly text?: string | undefined
  readonly fault?: string
}

function findMark(store: string): FoundMark {
  try {
    return { text: readMark(markPath(store)) }
  } catch (error) {
    if (!(error instanceof AverbaError)) throw error
    return { fault: error.message }
  }
}

/** Describes how a mark contradicts the log, if it does. */
function describeMark(snapshot: Snapshot, { text, fault }: FoundMark): string[] {
  const found =
    fault ?? (text === undefined ? undefined : snapshot.run(() => findMarkContradiction(untaggedHeaders, text)))
  return found === undefined ? [] : [`mark: the log cannot be opened with it: ${found}`]
}

/** Checks what only the keyring shows: its keys, who signed the mark, and whether the end of the log is genuine. */
function checkWithKeys(snapshot: Snapshot, { text: mark }: FoundMark, keyring: Keyring): string[] {
  const unopened = snapshot.run(() => findUnopenedKeys(keyring)).map(fault => `keys: ${fault}`)
  const foreign = mark === undefined ? undefined : findSignerFault(keyring.signer, mark)
  const tail = findTailFault(snapshot, keyring)
  return [
    ...unopened,
    ...(foreign === undefined ? [] : [`mark: the log cannot be opened with it: ${foreign}`]),
    ...(tail === undefined ? [] : [`tags: the log cannot be opened: ${tail}`]),
  ]
}

function findTailFault(snapshot: Snapshot, keyring: Keyring): string | undefined {
  try {
    snapshot.run(() => checkWhole(new Tags(keyring), keyring.signer))
    return undefined
  } catch (error) {
    if (error instanceof AverbaError && error.code === 'CORRUPT') return error.message
    throw error
  }
}

function readSize(snapshot: Snapshot, store: string, events: number) {
  const readPragma = (name: string) => Number(snapshot.pragmaValue(name))
  const pageBytes = readPragma('page_size')
  const freeBytes = readPragma('freelist_count') * pageBytes
  const held = readPragma('page_count') * pageBytes - freeBytes
  return {
    fileBytes: statSync(store).size,
    walBytes: existsSync(`${store}-wal`) ? statSync(`${store}-wal`).size : 0,
    freeBytes,
    bytesPerEvent: events === 0 ? 0 : Math.round(held / events),
  }
}

function* readMonths({ at, position }: StoreFacts, bytesPerEvent: number): Steps<MonthVolume[]> {
  const months: MonthVolume[] = []
  let [until, month] = [position, at.slice(0, 7)]
  while (until > 0 && months.length < monthsMax) {
    const from = yield* positionBefore(untaggedHeaders, `${month}-01T00:00:00.000Z`)
    months.push({ month, events: until - from, bytes: (until - from) * bytesPerEvent })
    until = from
    month = monthBefore(month)
  }
  return months
}

function monthBefore(month: string): string {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return number === 1 ? `${year - 1}-12` : `${year}-${String(number - 1).padStart(2, '0')}`
}

function readPragmas(snapshot: Snapshot): Record<string, unknown> {
  const names = ['journal_mode', 'page_size', ...Object.keys(requiredPragmas)]
  return Object.fromEntries(names.map(name => [name, snapshot.pragmaValue(name)]))
}

async function inspectKeys(
  snapshot: Snapshot,
  path: string,
  facts: StoreFacts,
  entropy: Entropy,
): Promise<{ keys: KeysFound; isOurs: boolean; erased: RememberedErasures; problems: string[] }> {
  if (!existsSync(path)) {
    const problem =
      'keys: the keyring is missing, and the log cannot be opened without it. If it is kept elsewhere, name it with keys, or --keys on the command line'
    return { keys: { path, isPresent: false }, isOurs: false, erased: {}, problems: [problem] }
  }
  const mode = (statSync(path).mode & 0o777).toString(8).padStart(3, '0')
  const problems = mode.endsWith('00') ? [] : [`keys: the keyring has mode ${mode} instead of 600`]
  for (const copy of findLeftoverCopies(path))
    problems.push(`keys: a process died and left "${copy}", a copy that opens data erased since: delete it`)
  try {
    const keyring = await inspectKeyring(new KeyringFile(path, entropy), entropy)
    const { id, epochs, erased } = keyring
    const short = snapshot.run(() => findLengthFault(keyring))
    const faults = [...findKeyFaults(facts, keyring), ...(short === undefined ? [] : [short])]
    problems.push(...faults.map(fault => `keys: ${fault}`))
    return { keys: { path, isPresent: true, id, epochs, mode }, isOurs: id === facts.keyring, erased, problems }
  } catch (error) {
    if (!(error instanceof AverbaError)) throw error
    const keys = { path, isPresent: true, mode }
    return { keys, isOurs: false, erased: {}, problems: [...problems, `keys: ${error.message}`] }
  }
}
