import { systemEntropy } from '../runtime/entropy.ts'
import { type DiagnoseOptions, type Diagnosis, diagnose } from '../store/checks/diagnose.ts'
import type { LogPlace } from '../store/database/log-place.ts'
import type { RebuildAll, RebuildResult } from '../store/views/rebuilder.ts'
import type { Keys } from '../vault/keys.ts'
import { views } from '../views/views.ts'
import { indexKinds, type OpenedWith, withStore } from './with-store.ts'

/** See `diagnoseStore` of src/index.ts. */
export function diagnoseStore(
  options: LogPlace &
    Pick<DiagnoseOptions, 'rootKey' | 'highWaterMark' | 'isDeep' | 'isOpening' | 'onProgress' | 'signal'>,
): Promise<Diagnosis> {
  return diagnose({ ...options, views, indexKinds, entropy: systemEntropy })
}

/** See `rebuildStore` of src/index.ts. */
export function rebuildStore(options: OpenedWith & RebuildAll): Promise<RebuildResult[]> {
  return withStore(options, store => store.rebuild(options))
}

/** See `changeRootKey` of src/index.ts. */
export function changeRootKey(options: OpenedWith & { newRootKey?: Keys }): Promise<void> {
  return withStore(options, store => store.owners.changeRootKey(options.newRootKey))
}
