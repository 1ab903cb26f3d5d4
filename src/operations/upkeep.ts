import { systemEntropy } from '../runtime/entropy.ts'
import { type DiagnoseOptions, type Diagnosis, diagnose } from '../store/checks/diagnose.ts'
import type { RebuildAll, RebuildResult } from '../store/views/rebuilder.ts'
import { views } from '../views/views.ts'
import { indexKinds, type OpenedWith, withStore } from './with-store.ts'

/**
 * Diagnoses a store, which may be in use, without writing to it: its size and growth, pending calls and faults.
 * `isDeep` compares everything in it with everything else; `keys` names the keyring of a backup.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
 */
export function diagnoseStore(
  options: Pick<DiagnoseOptions, 'store' | 'keys' | 'isDeep' | 'onProgress' | 'signal'>,
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
