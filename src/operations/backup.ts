import { systemEntropy } from '../runtime/entropy.ts'
import { createFileMark } from '../store/checkpoints/high-water-mark.ts'
import { readLastResume } from '../store/checkpoints/resuming.ts'
import { openSqlite } from '../store/database/sqlite.ts'
import { type BackupOptions, type BackupResult, makeBackup } from '../store/files/backup.ts'
import { type RestoreResult, restoreBackup } from '../store/files/restore.ts'
import type { HighWaterMark, StoreOptions } from '../store/store-options.ts'
import { views } from '../views/views.ts'
import { markPath } from '../vocabulary/names.ts'
import { claimedKinds, type OpenedWith, withStore } from './with-store.ts'

type OnProgress = NonNullable<BackupOptions['onProgress']>

/**
 * Copies a store, which may be in use, into one file that was checked. The keyring is not in it: keep it apart.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
 */
export function backupStore(options: {
  store: string
  to: string
  onProgress?: OnProgress
}): Promise<BackupResult> {
  return makeBackup({ ...options, entropy: systemEntropy })
}

/**
 * Makes a store of a backup, and checks it before it gets its name. Nothing is overwritten. Calls that were owed when
 * the backup was made may have been made since: the restored log would make them again.
 *
 * `acceptRollback` lets the log go on under a new name, linked to the old one by an event: also where events that stand
 * behind the backup are lost. Every call that was owed then, except readings, becomes `unknown` instead of being made
 * again. `lostEvents` says how many events stood behind the backup when the high-water mark beside the store was
 * written: so many are lost at least. It is absent where no mark tells of any.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT`, `KEYS_MISSING`, `KEYS_MISMATCH`, `ROLLED_BACK`,
 * `STORE_UNSAFE`, `CORRUPT`
 */
export async function restoreStore(
  options: OpenedWith & {
    backup: string
    keys?: string
    acceptRollback?: boolean
    onProgress?: OnProgress
  },
): Promise<RestoreResult & { readonly resumedAs?: string; readonly lostEvents?: number }> {
  const { entropy = systemEntropy, acceptRollback = false } = options
  let resumed: Awaited<ReturnType<typeof resume>> | undefined
  const accept = async (copy: string) => {
    resumed = await resume(options, copy)
  }
  const how = { ...options, views, claimedKinds, entropy }
  const restored = await restoreBackup({ ...how, ...(acceptRollback && { accept }) })
  if (!resumed) return restored
  await resumed.moveMark()
  const { origin, size, lost } = resumed
  return { ...restored, resumedAs: origin, ...(lost && { lostEvents: lost.size - size }) }
}

/**
 * Lets a copy go on as the log of a store, before anything could open it under that name. The mark moves only when it
 * has the name: until then, what stood there may still be found, or has to be restored again.
 */
async function resume(options: OpenedWith, copy: string) {
  const mark = createFileMark(markPath(options.store))
  let moved: string | undefined
  const highWaterMark: HighWaterMark = {
    read: () => mark.read(),
    write: async checkpoint => {
      moved = checkpoint
    },
  }
  const medium: StoreOptions['medium'] = { open: () => openSqlite(copy), keyring: open => open() }
  const how = { medium, highWaterMark, acceptRollback: true }
  const found = await withStore(options, store => store.reader.read(readLastResume), how)
  if (!found) throw new TypeError('A restore was accepted and not recorded')
  const moveMark = async () => {
    // The log says what is lost: whatever opens it moves the mark, too.
    if (moved !== undefined) await mark.write(moved).catch(() => undefined)
  }
  return { ...found.resumed, moveMark }
}
