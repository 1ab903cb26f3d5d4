import { systemClock } from '../../src/runtime/clock.ts'
import { createIds, systemEntropy } from '../../src/runtime/entropy.ts'
import { Store } from '../../src/store/store.ts'
import type { View } from '../../src/vocabulary/view.ts'

export { append, checkpointOf, counting } from './conformance/counting.ts'

/** Opens a store with these views. */
export const open = (path: string, views: readonly View[], onViewStopped = (_: string) => {}) =>
  Store.open({
    path,
    views,
    onViewStopped,
    clock: systemClock,
    entropy: systemEntropy,
    createId: createIds(systemClock, systemEntropy),
  })

/** The rows of a view that counts. */
export const rowsOf = async (store: Store, name: string) => {
  const sql = `select * from ${name} order by stream`
  const query = { sql, parameters: [], query: undefined as never, queryId: undefined as never }
  return (await store.reader.readOnly(query)) as { stream: string; n: number }[]
}
/** How many events a view has counted. */
export const sumOf = async (store: Store, name: string) =>
  (await rowsOf(store, name)).reduce((sum, row) => sum + row.n, 0)
