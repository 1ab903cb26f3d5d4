import { systemEntropy } from '../runtime/entropy.ts'
import { type DiagnoseOptions, type Diagnosis, diagnose } from '../store/checks/diagnose.ts'
import { views } from '../views/views.ts'
import { indexKinds } from './with-store.ts'

/**
 * Diagnoses a store, which may be in use, without writing to it: its size and growth, pending calls and faults.
 * `isDeep` compares everything in it with everything else; `keys` names the keyring of a backup.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
 */
export function diagnoseStore(options: {
  store: string
  keys?: string
  isDeep?: boolean
  onProgress?: NonNullable<DiagnoseOptions['onProgress']>
  signal?: AbortSignal
}): Promise<Diagnosis> {
  return diagnose({ ...options, views, indexKinds, entropy: systemEntropy })
}
