import type { RebuildAll } from '../store/views/rebuild-all.ts'
import type { RebuildResult } from '../store/views/rebuilder.ts'
import { type OpenedWith, withStore } from './with-store.ts'

/**
 * Rebuilds views of a store, which may be in use, and reports how their rows differed.
 *
 * @throws {AverbaError} `NOT_FOUND`, `STORE_BUSY` when another process rebuilds the same view, and as `openAverba`
 */
export function rebuildStore(options: OpenedWith & RebuildAll): Promise<RebuildResult[]> {
  return withStore(options, store => store.rebuild(options))
}
