import { CompiledQuery } from 'kysely'
import type { Store } from '../../src/store/store.ts'
import type { View } from '../../src/vocabulary/view.ts'
import { openStore } from './store.ts'

export { append, checkpointOf, counting } from '../store/conformance/counting.ts'

/** Opens a store with these views, and closes it when the test ends. */
export const open = (path: string, views: readonly View[], onViewStopped = (_: string) => {}): Promise<Store> =>
  openStore({ path, views, onViewStopped })

/** Reads the rows of a counting view. */
export const rowsOf = async (store: Store, name: string) => {
  const sql = `select * from ${name} order by stream`
  const query = CompiledQuery.raw(sql)
  return (await store.database.readOnly(query)) as { stream: string; n: number }[]
}
/** Sums the events that a view has counted. */
export const sumOf = async (store: Store, name: string) =>
  (await rowsOf(store, name)).reduce((sum, row) => sum + row.n, 0)
