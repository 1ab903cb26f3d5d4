import { systemEntropy } from '../runtime/entropy.ts'
import { type DiagnoseOptions, type Diagnosis, diagnose } from '../store/checks/diagnose.ts'
import type { LogPlace } from '../store/database/log-place.ts'
import type { RebuildAll, RebuildResult } from '../store/views/rebuilder.ts'
import type { Keys } from '../vault/keys.ts'
import { views } from '../views/views.ts'
import { indexKinds, type OpenedWith, withStore } from './with-store.ts'

/**
 * Diagnoses a store, which may be in use, without writing to it: its size and growth, pending calls and faults.
 * `isDeep` compares everything in it with everything else, with `rootKey` when the keyring lacks it. A
 * backup has its keyring elsewhere: name it with `keyring`.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
 */
export function diagnoseStore(
  options: LogPlace &
    Pick<DiagnoseOptions, 'rootKey' | 'highWaterMark' | 'isDeep' | 'isOpening' | 'onProgress' | 'signal'>,
): Promise<Diagnosis> {
  return diagnose({ ...options, views, indexKinds, entropy: systemEntropy })
}

/**
 * Rebuilds views of a store, which may be in use, and reports how their rows differed.
 *
 * @throws {AverbaError} `NOT_FOUND`, `STORE_BUSY` when another process rebuilds the same view, and as `openAverba`
 */
export function rebuildStore(options: OpenedWith & RebuildAll): Promise<RebuildResult[]> {
  return withStore(options, store => store.rebuild(options))
}

/**
 * Moves a log to another root key: that of `newRootKey`, or without it one that its keyring file then holds. Nothing is
 * sealed, signed or tagged anew, and the former keyring is overwritten. Close every engine on the log first: it cannot
 * read the keyring any more until it is opened with the new root key. Copies of the former keyring still open with the
 * former root key: destroy both.
 *
 * @throws {AverbaError} `NOT_FOUND`, `KEYS_MISMATCH` when the new holder does not open what it wrapped, and as
 * `openAverba`
 */
export function changeRootKey(options: OpenedWith & { newRootKey?: Keys }): Promise<void> {
  return withStore(options, store => store.owners.changeRootKey(options.newRootKey))
}
