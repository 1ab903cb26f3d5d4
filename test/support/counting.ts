import type { Store } from '../../src/store/store.ts'
import type { View } from '../../src/vocabulary/view.ts'
import { append, rowsOf } from '../store/conformance/counting.ts'
import { openStore } from './store.ts'

export { append, type Breaks, checkpointOf, counting, rowsOf } from '../store/conformance/counting.ts'

/** Opens a store with these views, and closes it when the test ends. */
export const open = (path: string, views: readonly View[], onViewStopped = (_: string) => {}): Promise<Store> =>
  openStore({ path, views, onViewStopped })

/** Sums the events that a view has counted. */
export const sumOf = async (store: Store, name: string) =>
  (await rowsOf(store, name)).reduce((sum, row) => sum + row.n, 0)

/** Appends to stores in turn as long as some work is under way. Returns how many events, and what the work gave. */
export async function appendDuring<T>(work: Promise<T>, ...stores: Store[]): Promise<{ appended: number; result: T }> {
  let [appended, isOver] = [0, false]
  const ended = work.finally(() => {
    isOver = true
  })
  while (!isOver)
    for (const store of stores) {
      await append(store, 3)
      appended += 3
    }
  return { appended, result: await ended }
}
