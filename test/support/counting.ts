import type { Store } from '../../src/store/store.ts'
import type { View } from '../../src/vocabulary/view.ts'
import { rowsOf } from '../store/conformance/counting.ts'
import { openStore } from './store.ts'

export { append, type Breaks, checkpointOf, counting, rowsOf } from '../store/conformance/counting.ts'

/** Opens a store with these views, and closes it when the test ends. */
export const open = (path: string, views: readonly View[], onViewStopped = (_: string) => {}): Promise<Store> =>
  openStore({ path, views, onViewStopped })

/** Sums the events that a view has counted. */
export const sumOf = async (store: Store, name: string) =>
  (await rowsOf(store, name)).reduce((sum, row) => sum + row.n, 0)
