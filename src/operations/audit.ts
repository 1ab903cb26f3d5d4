import { existsSync, statSync } from 'node:fs'
import { parseCheckpoint, parseVerifierKey } from '../proof/note.ts'
import type { Verdict } from '../proof/verdict.ts'
import { verifyBundle } from '../proof/verify-bundle.ts'
import { systemEntropy } from '../runtime/entropy.ts'
import { readMark } from '../store/checkpoints/high-water-mark.ts'
import { type EventSelector, proveEvent } from '../store/checkpoints/prove.ts'
import { type VerifyStoreOptions, verifyStore } from '../store/checks/verify-store.ts'
import { keyringOf, type LogPlace, openReading, whileKeyringStays } from '../store/database/log-place.ts'
import { type ExportResult, exportLog, openBundle, openSigned } from '../store/files/export-log.ts'
import type { KeyringStore } from '../vault/keyring-store.ts'
import { views } from '../views/views.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { isOnPostgres, markPath } from '../vocabulary/names.ts'
import { indexKinds, type OpenedWith, withStore } from './with-store.ts'

/** See `verifyLog` of src/index.ts. */
export async function verifyLog(options: VerifyLogOptions): Promise<Verdict> {
  const { store, pool, keyring, onProgress, ...others } = options
  for (const line of [...(others.keys ?? []), ...(others.witnesses ?? [])]) checkKeyLine(line)
  checkGivenMark(others.mark)
  if (existsSync(store) && statSync(store).isDirectory()) {
    const { mark: kept, highWaterMark, ...known } = others
    const given = kept ?? (await highWaterMark?.read())
    const mark = given === undefined || given.includes('\n') ? given : readMark(given)
    const progress = onProgress && { onProgress: (done: number, end: number) => onProgress('log', done, end) }
    return verifyBundle(openBundle(store), { ...known, ...(mark !== undefined && { mark }), ...progress })
  }
  const place = { store, ...(pool && { pool }), ...(keyring && { keyring }) }
  // As for a third party, the keyring of a log on PostgreSQL may be left out.
  if (keyring === undefined && isOnPostgres(store)) return verifyAt(place, options)
  const kept = keyringOf(place, systemEntropy)
  return whileKeyringStays(kept, () => verifyAt(place, options, kept))
}

async function verifyAt(place: LogPlace, options: VerifyLogOptions, keyring?: KeyringStore): Promise<Verdict> {
  const { store, pool: _, keyring: __, highWaterMark, onProgress, ...others } = options
  // Read before the log: a mark written meanwhile would be ahead of the snapshot.
  const given = others.mark ?? (await highWaterMark?.read())
  const isMarkGiven = given !== undefined
  // A host that keeps the mark itself has none beside the file.
  const named = given ?? (highWaterMark || isOnPostgres(store) ? undefined : markPath(store))
  const mark = named === undefined ? undefined : (readMarkText(named) ?? named)
  await using reading = await openReading(place)
  return await verifyStore(reading, {
    ...{ ...others, isMarkGiven, views, indexKinds, entropy: systemEntropy },
    ...(keyring && { keyring }),
    ...(mark !== undefined && { mark }),
    ...(onProgress && { onProgress }),
  })
}

/** The text of a mark. If it cannot be read, `verifyStore` reports that as a fault. */
function readMarkText(mark: string): string | undefined {
  if (mark.includes('\n')) return mark
  try {
    const text = readMark(mark)
    return text?.includes('\n') ? text : undefined
  } catch {
    return undefined
  }
}

/** A given mark must be one: a verdict without it would answer another question. */
function checkGivenMark(mark: string | undefined): void {
  if (mark === undefined) return
  const isText = mark.includes('\n')
  const text = isText ? mark : readMark(mark)
  if (text !== undefined && parseCheckpoint(text)) return
  const cannot = `Cannot compare the log with ${isText ? 'the given text' : `"${mark}"`}`
  const hint = 'Name the file of a checkpoint that was kept, such as <store>.mark or the file "checkpoint" of a bundle'
  if (text === undefined) throw new AverbaError('NOT_FOUND', `${cannot}: the file does not exist`, { hint })
  throw new AverbaError('INVALID_INPUT', `${cannot}: it is not a signed checkpoint`, { hint })
}

/** What to verify, the file of a store or the folder of a bundle, and what is known about it from elsewhere. */
export type VerifyLogOptions = LogPlace &
  Omit<VerifyStoreOptions, 'views' | 'entropy' | 'indexKinds' | 'isMarkGiven' | 'keyring' | 'schemas' | 'tags'> &
  Pick<OpenedWith, 'highWaterMark'>

function checkKeyLine(line: string): void {
  if (parseVerifierKey(line.trim())) return
  throw new AverbaError('INVALID_INPUT', 'Cannot use a verifier key: it is not a line of an Ed25519 key', {
    hint: 'Give a line like the one in the file "key" of an exported bundle',
  })
}

/** See `proveRecorded` of src/index.ts. */
export function proveRecorded(options: OpenedWith & { event: EventSelector }): Promise<string> {
  return withStore(options, async store => {
    await store.checkpoint()
    return store.database.read(() => proveEvent(store.headers, options.event))
  })
}

/** See `exportBundle` of src/index.ts. */
export async function exportBundle(options: OpenedWith & ExportTo): Promise<ExportResult> {
  return exportUpTo(options, () => withStore(options, store => store.checkpoint()))
}

export async function exportUpTo(
  { dir, onProgress, ...place }: LogPlace & ExportTo,
  sign: () => Promise<unknown>,
): Promise<ExportResult> {
  await using reading = await openSigned(place, sign)
  return await exportLog(reading, dir, onProgress)
}

export interface ExportTo {
  readonly dir: string
  readonly onProgress?: (done: number, end: number) => void
}
