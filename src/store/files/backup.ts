import { statSync } from 'node:fs'
import type { Entropy } from '../../runtime/entropy.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { type CheckFindings, checkStore, throwOnCutOff, throwOnFaults } from '../checks/check-store.ts'
import { Snapshot } from '../database/snapshot.ts'
import { countPending, type PendingCount } from '../ledger/ledger.ts'
import { readFacts, type StoreFacts } from '../log/facts.ts'
import { writeNewFile } from './new-file.ts'

/** What a backup contains. */
export interface BackupResult extends StoreFacts, Pick<CheckFindings, 'parts'> {
  readonly file: string
  readonly bytes: number
  /** The pending effects in the backup: a restored log would perform them again. */
  readonly pending: readonly PendingCount[]
}

export interface BackupOptions {
  readonly store: string
  /** The path of the backup, which must not exist. */
  readonly to: string
  readonly entropy: Entropy
  readonly onProgress?: (what: 'copy' | 'log' | 'views', done: number, end: number) => void
}

/**
 * Copies a snapshot of a store into one file, checks the copy, and then renames it. Engines can run meanwhile. The
 * backup does not contain the keyring.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT` when the path exists, `STORE_UNSAFE` when it cannot be
 * written, `CORRUPT` when the copy fails the checks
 */
export async function makeBackup(options: BackupOptions): Promise<BackupResult> {
  const { store, to, entropy, onProgress } = options
  const cannot = `Cannot back up "${store}"`
  await using source = await Snapshot.open(store)
  throwOnCutOff(cannot, source)
  return await writeNewFile(to, entropy, async temporary => {
    await source.copyTo(temporary, to, (done, pages) => onProgress?.('copy', done, pages))
    await using copy = await Snapshot.open(temporary, store)
    const checked = await checkStore(copy, options)
    throwOnFaults(cannot, checked.faults)
    const facts = await copy.read(readFacts)
    if (facts.keyring === '') throw new AverbaError('NOT_OURS', `${cannot}: its log has no events`)
    const { parts } = checked
    const { size: bytes } = statSync(temporary)
    return { ...facts, parts, file: to, bytes, pending: await copy.read(countPending) }
  })
}
