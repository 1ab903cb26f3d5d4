import { systemEntropy } from '../runtime/entropy.ts'
import { type BackupOptions, type BackupResult, makeBackup } from '../store/files/backup.ts'

/**
 * Copies a store, which may be in use, into one file and checks it. The keyring is not in it: back it up separately.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
 */
export function backupStore(options: {
  store: string
  to: string
  onProgress?: NonNullable<BackupOptions['onProgress']>
}): Promise<BackupResult> {
  return makeBackup({ ...options, entropy: systemEntropy })
}
