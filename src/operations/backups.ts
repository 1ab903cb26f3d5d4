import { systemClock } from '../runtime/clock.ts'
import { systemEntropy } from '../runtime/entropy.ts'
import { createFileMark, readLastResume } from '../store/checkpoints/high-water-mark.ts'
import { type CheckOptions, checkStore, throwOnFaults } from '../store/checks/check-store.ts'
import { keyringOf, openReading } from '../store/database/log-place.ts'
import { openSqlite } from '../store/database/sqlite.ts'
import { type BackupOptions, type BackupResult, makeBackup } from '../store/files/backup.ts'
import { checkIdle } from '../store/files/copy-log.ts'
import { type RestoreOptions, type RestoreResult, restoreBackup } from '../store/files/restore.ts'
import { countPending } from '../store/ledger/ledger.ts'
import { readFacts, type StoreFacts } from '../store/log/facts.ts'
import { untaggedHeaders } from '../store/log/header.ts'
import { findLostErasures } from '../store/owners/keyring-faults.ts'
import type { HighWaterMark, StoreOptions } from '../store/store-options.ts'
import { inspectKeyring } from '../vault/keyring.ts'
import { views } from '../views/views.ts'
import { toInstant } from '../vocabulary/instant.ts'
import { markPath } from '../vocabulary/names.ts'
import { indexKinds, type OpenedWith, withStore } from './with-store.ts'

/** See `backupStore` of src/index.ts. */
export function backupStore(options: Omit<BackupOptions, 'entropy'>): Promise<BackupResult> {
  return makeBackup({ ...options, entropy: systemEntropy })
}

/** See `restoreStore` of src/index.ts. */
export async function restoreStore(
  options: OpenedWith & Pick<RestoreOptions, 'backup' | 'keys' | 'onProgress'> & { acceptRollback?: boolean },
): Promise<RestoreResult & { readonly resumedAs?: string; readonly lostEvents?: number }> {
  const { entropy = systemEntropy, acceptRollback = false } = options
  let resumed: Awaited<ReturnType<typeof resumeFromCopy>> | undefined
  const accept = async (copy: string) => {
    resumed = await resumeFromCopy(options, copy)
  }
  const how = { ...options, views, indexKinds, entropy }
  const restored = await restoreBackup({ ...how, ...(acceptRollback && { accept }) })
  if (!resumed) return restored
  const { moveMark, ...recorded } = resumed
  await moveMark()
  return { ...restored, ...recorded }
}

/** What a log continues with that was put back to an earlier state. */
export type ResumeResult = StoreFacts &
  Pick<RestoreResult, 'pending' | 'lostErasures'> & { readonly resumedAs: string; readonly lostEvents?: number }

/** See `resumeStore` of src/index.ts. */
export async function resumeStore(options: OpenedWith & Pick<CheckOptions, 'onProgress'>): Promise<ResumeResult> {
  return { ...(await checkPutBack(options)), ...(await recordRollback(options)) }
}

/** Checks a log that was put back, and closes it: opening it may replace tables of views. */
async function checkPutBack(options: OpenedWith & Pick<CheckOptions, 'onProgress'>) {
  const { clock = systemClock, entropy = systemEntropy, onProgress } = options
  await using reading = await openReading(options)
  await reading.read(() => checkIdle(reading.dialect, toInstant(clock.now())))
  const { erased } = await inspectKeyring(keyringOf(options, entropy), entropy)
  const { faults } = await checkStore(reading, { indexKinds, ...(onProgress && { onProgress }) })
  throwOnFaults('Cannot continue this log', faults)
  const pending = await reading.read(countPending)
  const lostErasures = await reading.read(() => findLostErasures(untaggedHeaders, erased))
  return { ...(await reading.read(readFacts)), pending, lostErasures }
}

/** Lets a copy continue the log, before it gets the store's name. The mark moves last, in case it is repeated. */
async function resumeFromCopy(options: OpenedWith, copy: string) {
  const mark = createFileMark(markPath(options.store))
  let moved: string | undefined
  const highWaterMark: HighWaterMark = {
    read: () => mark.read(),
    write: async checkpoint => {
      moved = checkpoint
    },
  }
  const medium: StoreOptions['medium'] = { open: () => openSqlite(copy), keyring: open => open() }
  const recorded = await recordRollback(options, { medium, highWaterMark })
  const moveMark = async () => {
    // The log records the loss, so whatever opens it next moves the mark too.
    if (moved !== undefined) await mark.write(moved).catch(() => undefined)
  }
  return { ...recorded, moveMark }
}

/** Opens a log that is behind its mark: it records under which name it continues. */
async function recordRollback(options: OpenedWith, more: Pick<StoreOptions, 'medium' | 'highWaterMark'> = {}) {
  const how = { ...more, acceptRollback: true }
  const found = await withStore(options, store => store.database.read(() => readLastResume(store.headers)), how)
  if (!found) throw new TypeError('A restore was accepted but not recorded')
  const { origin, size, lost } = found.resumed
  return { resumedAs: origin, ...(lost && { lostEvents: lost.size - size }) }
}
