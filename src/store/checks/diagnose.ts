import { existsSync, statSync } from 'node:fs'
import type { Entropy } from '../../runtime/entropy.ts'
import { inspectKeyring, type Keyring, openKeyring } from '../../vault/keyring.ts'
import { findLeftoverCopies, KeyringFile } from '../../vault/keyring-file.ts'
import type { KeyringStore } from '../../vault/keyring-store.ts'
import type { Keys } from '../../vault/keys.ts'
import type { RememberedErasures } from '../../vault/stored-keys.ts'
import { describeError } from '../../vocabulary/error-words.ts'
import { AverbaError, hasCode } from '../../vocabulary/errors.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import { checkWhole } from '../checkpoints/check-tail.ts'
import { describeChangedMark, readNewestCheckpoint } from '../checkpoints/checkpoints.ts'
import { findMarkContradiction, findSignerFault, resolveMark } from '../checkpoints/high-water-mark.ts'
import type { Steps } from '../database/connection.ts'
import { keyringOf, type LogPlace, openReading, whileKeyringStays } from '../database/log-place.ts'
import { findOff } from '../database/postgres.ts'
import type { MediumSize, Reading } from '../database/reading.ts'
import { countPending, type PendingCount } from '../ledger/ledger.ts'
import { readFacts, type StoreFacts } from '../log/facts.ts'
import { untaggedHeaders } from '../log/header.ts'
import { positionBefore, timeAt } from '../log/read.ts'
import { Tags } from '../log/tags.ts'
import { isMoved, movedError } from '../log/tail.ts'
import { describeLostErasures, findLengthFault, findLostErasures, findUnopenedKeys } from '../owners/keyring-faults.ts'
import type { HighWaterMark } from '../store-options.ts'
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
export interface Diagnosis extends StoreFacts, Omit<MediumSize, 'heldBytes'> {
  /** The path of the file, or the schema on the server. */
  readonly store: string
  readonly bytesPerEvent: number
  readonly since: Instant
  /** The last months up to the last event, newest first. */
  readonly months: readonly MonthVolume[]
  readonly views: readonly ViewProgress[]
  readonly pending: readonly PendingCount[]
  readonly keys: KeysFound
  /** Pragmas of a file, settings of a server. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly checked?: CheckFindings
  /** What is wrong, in words; empty when the store is sound. */
  readonly problems: readonly string[]
}

/** The keyring found. */
export interface KeysFound {
  /** Its path, or the name that its store has. */
  readonly path: string
  readonly isPresent: boolean
  readonly id?: string
  readonly epochs?: readonly number[]
  /** The mode of its file in octal digits, such as `600`. */
  readonly mode?: string
}

export interface DiagnoseOptions extends CheckOptions, LogPlace {
  readonly views: readonly View[]
  readonly entropy: Entropy
  /** Who holds the root key of the log. Without it, a deep diagnosis of a log whose keyring lacks it is incomplete. */
  readonly rootKey?: Keys
  readonly isDeep?: boolean
  /** The mark of the host, if it is not beside the file. */
  readonly highWaterMark?: HighWaterMark | undefined
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
  return whileKeyringStays(keyringOf(options, options.entropy), () => diagnoseOnce(options))
}

async function diagnoseOnce(options: DiagnoseOptions): Promise<Diagnosis> {
  const { store, isDeep = false } = options
  // Read before the log: a later mark may be ahead of the reading.
  const mark = await findMark(options)
  await using reading = await openReading(options)
  // A cut-off last page may read as anything, so the quick checks would be misleading.
  if (!isDeep) throwOnCutOff(`Cannot diagnose "${store}"`, reading)
  const facts = await reading.read(readFacts)
  const found = await inspectKeys(reading, keyringOf(options, options.entropy), facts, options.entropy)
  const { keys } = found
  const opened = found.isOurs ? await openIfPossible(options) : { problems: [] }
  const lost = describeLostErasures(await reading.read(() => findLostErasures(untaggedHeaders, found.erased)))
  const keyring = isDeep ? opened.keyring : undefined
  const tags = keyring && new Tags(keyring)
  const checked = isDeep ? await checkStore(reading, { ...options, tags }) : undefined
  const views = await reading.read(readViewProgress)
  const settings = await reading.readSettings()
  const schemaFaults = await reading.read(() => findSchemaFaults(reading.dialect))
  const problems = [
    ...schemaFaults.map(fault => `schema: the log cannot be opened: ${fault}: ${schemaAdvice}`),
    ...(checked ? describeFaults(checked) : await findQuickFaults(reading, views, options.views)),
    ...findOff(settings).map(name => `server: ${name} is off: a power cut would lose what was acknowledged`),
    ...found.problems,
    ...opened.problems,
    ...((await reading.read(isMoved)) ? [`log: ${movedError().message}`] : []),
    ...(keyring ? await checkWithKeys(reading, mark, keyring) : []),
    ...(await describeMark(reading, mark, options.isOpening)),
    ...(lost === undefined ? [] : [`erasures: ${lost}`]),
  ]
  const { heldBytes, ...size } = await reading.readSize()
  const bytesPerEvent = facts.position === 0 ? 0 : Math.round(heldBytes / facts.position)
  return {
    ...facts,
    store: reading.name,
    ...size,
    bytesPerEvent,
    since: await reading.read(() => timeAt(untaggedHeaders, 1)),
    months: await reading.read(() => readMonths(facts, bytesPerEvent)),
    views,
    pending: await reading.read(countPending),
    keys,
    settings,
    ...(checked && { checked }),
    problems,
  }
}

/** Opens the keyring if it can be opened: without it, nothing says whether tags, index and owners' keys are genuine. */
async function openIfPossible(
  options: DiagnoseOptions,
): Promise<{ readonly keyring?: Keyring; readonly problems: readonly string[] }> {
  const { entropy, rootKey, isDeep = false, isOpening = false } = options
  if (!rootKey && !isDeep && !isOpening) return { problems: [] }
  try {
    return { keyring: await openKeyring(keyringOf(options, entropy), entropy, rootKey), problems: [] }
  } catch (error) {
    if (!(error instanceof AverbaError)) throw error
    const what = isDeep ? "tags, index and owners' keys are not checked: " : ''
    return { problems: [`keys: ${what}${describeError(error)}`] }
  }
}

function describeFaults({ faults }: CheckFindings): string[] {
  return faults.map(({ check, count, examples }) => {
    const more = count > examples.length ? `; ${count} in all` : ''
    return `${check}: ${examples.join('; ')}${more}`
  })
}

async function findQuickFaults(
  reading: Reading,
  found: readonly ViewProgress[],
  views: readonly View[],
): Promise<string[]> {
  const end = await reading.read(findEndFault)
  // A view of another version is rebuilt when the log is opened.
  const isOurs = (each: ViewProgress) => views.some(view => view.name === each.view && view.version === each.version)
  const stopped = found.filter(each => !each.isRunning && isOurs(each))
  return [
    ...(end === undefined ? [] : [`end: ${end}`]),
    ...stopped.map(each => `views: ${each.view} is stopped: ${each.reason}`),
  ]
}

/** The mark of a store, if it has one, or why it cannot be read. */
interface FoundMark {
  readonly text?: string | undefined
  readonly isMissing?: boolean
  readonly fault?: string
}

async function findMark({ store: path, highWaterMark }: DiagnoseOptions): Promise<FoundMark> {
  try {
    const mark = resolveMark({ path, ...(highWaterMark && { highWaterMark }) })
    const text = await mark?.read()
    return { text, isMissing: mark !== undefined && text === undefined }
  } catch (error) {
    return { fault: describeError(error) }
  }
}

/** Describes how a mark contradicts the log, if it does, or that an engine's is not there. */
async function describeMark(
  reading: Reading,
  { text, isMissing, fault }: FoundMark,
  isOpening = false,
): Promise<string[]> {
  if (isOpening && isMissing && (await reading.read(readNewestCheckpoint)))
    return [`mark: ${describeChangedMark('is missing')}`]
  const found =
    fault ?? (text === undefined ? undefined : await reading.read(() => findMarkContradiction(untaggedHeaders, text)))
  return found === undefined ? [] : [`mark: the log cannot be opened with it: ${found}`]
}

/** Checks what only the keyring shows: its keys, who signed the mark, and whether the end of the log is genuine. */
async function checkWithKeys(reading: Reading, { text: mark }: FoundMark, keyring: Keyring): Promise<string[]> {
  const unopened = await reading.read(() => findUnopenedKeys(keyring))
  const foreign = mark === undefined ? undefined : findSignerFault(keyring.signer, mark)
  const tail = await findTailFault(reading, keyring)
  return [
    ...unopened.map(fault => `keys: ${fault}`),
    ...(foreign === undefined ? [] : [`mark: the log cannot be opened with it: ${foreign}`]),
    ...(tail === undefined ? [] : [`tags: the log cannot be opened: ${tail}`]),
  ]
}

async function findTailFault(reading: Reading, keyring: Keyring): Promise<string | undefined> {
  try {
    await reading.read(() => checkWhole(new Tags(keyring), keyring.signer))
    return undefined
  } catch (error) {
    if (hasCode(error, 'CORRUPT')) return error.message
    throw error
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

async function inspectKeys(
  reading: Reading,
  place: KeyringStore,
  facts: StoreFacts,
  entropy: Entropy,
): Promise<{ keys: KeysFound; isOurs: boolean; erased: RememberedErasures; problems: string[] }> {
  const { name: path } = place
  const file = place instanceof KeyringFile && existsSync(path) ? inspectKeyringFile(path) : { problems: [] }
  const problems = [...file.problems]
  const mode = file.mode === undefined ? {} : { mode: file.mode }
  try {
    if (!(await place.read())) {
      problems.push(missingKeyring)
      return { keys: { path, isPresent: false }, isOurs: false, erased: {}, problems }
    }
    const keyring = await inspectKeyring(place, entropy)
    const { id, epochs, erased } = keyring
    const short = await reading.read(() => findLengthFault(keyring))
    const faults = [...findKeyFaults(facts, keyring), ...(short === undefined ? [] : [short])]
    problems.push(...faults.map(fault => `keys: ${fault}`))
    return { keys: { path, isPresent: true, id, epochs, ...mode }, isOurs: id === facts.keyring, erased, problems }
  } catch (error) {
    if (!(error instanceof AverbaError)) throw error
    const keys = { path, isPresent: true, ...mode }
    return { keys, isOurs: false, erased: {}, problems: [...problems, `keys: ${error.message}`] }
  }
}

const missingKeyring =
  'keys: the keyring is missing, and the log cannot be opened without it. If it is kept elsewhere, name it with keyring, or --keys on the command line'

/** Who may read the file of a keyring, and which copies of it were left. */
function inspectKeyringFile(path: string): { mode?: string; problems: string[] } {
  const mode = (statSync(path).mode & 0o777).toString(8).padStart(3, '0')
  const problems = mode.endsWith('00') ? [] : [`keys: the keyring has mode ${mode} instead of 600`]
  for (const copy of findLeftoverCopies(path))
    problems.push(`keys: a process died and left "${copy}", a copy that opens data erased since: delete it`)
  return { mode, problems }
}
