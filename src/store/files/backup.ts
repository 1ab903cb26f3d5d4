import { statSync } from 'node:fs'
import type { Entropy } from '../../runtime/entropy.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { type CheckFindings, checkStore, refuseCutOff, refuseFaults } from '../checks/check-store.ts'
import { Snapshot } from '../database/snapshot.ts'
import { countPending, type PendingCount } from '../ledger/ledger.ts'
import { readFacts, type StoreFacts } from '../log/facts.ts'
import { writeNewFile } from './new-file.ts'

/** What stands in a backup, and what has to be kept beside it. */
export interface BackupResult extends StoreFacts, Pick<CheckFindings, 'parts'> {
  readonly file: string
  readonly bytes: number
  /** Calls that were owed then: opened elsewhere, the backup would make them again. */
  readonly owed: readonly PendingCount[]
}

/** How to make a backup. */
export interface BackupOptions {
  /** The path of the store, which may be in use. */
  readonly store: string
  /** The path of the backup. Nothing may be there. */
  readonly to: string
  readonly entropy: Entropy
  readonly onProgress?: (what: 'copy' | 'log' | 'views', done: number, end: number) => void
}

/**
 * Copies a store as it stands at one moment into one file, checks the copy, and then gives it its name. Engines
 * go on meanwhile. The keyring is not in it.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT` when something is at the path, `STORE_UNSAFE`
 * when it cannot be written, `CORRUPT` when the copy does not pass
 */
export async function makeBackup({ store, to, entropy, onProgress }: BackupOptions): Promise<BackupResult> {
  const cannot = `Cannot back up "${store}"`
  const source = await Snapshot.open(store)
  try {
    refuseCutOff(cannot, source)
    return await writeNewFile(to, entropy, async temporary => {
      await source.copyTo(temporary, to, (done, pages) => onProgress?.('copy', done, pages))
      const copy = await Snapshot.open(temporary, store)
      try {
        const checked = await checkStore(copy, { ...(onProgress && { onProgress }) })
        refuseFaults(cannot, checked)
        const facts = copy.run(readFacts)
        if (facts.keyring === '') throw new AverbaError('NOT_OURS', `${cannot}: its log has not begun`)
        const { parts } = checked
        const { size: bytes } = statSync(temporary)
        return { ...facts, parts, file: to, bytes, owed: copy.run(countPending) }
      } finally {
        copy.close()
      }
    })
  } finally {
    source.close()
  }
}
