import { systemClock } from '../../src/runtime/clock.ts'
import { createIds, systemEntropy } from '../../src/runtime/entropy.ts'
import { Store } from '../../src/store/store.ts'
import type { StoreOptions } from '../../src/store/store-options.ts'
import type { EventMap } from '../../src/vocabulary/log-types.ts'
import { closeAtEnd } from './close-at-end.ts'

/** Opens a store, and closes it when the test ends: by default without views, in memory and in real time. */
export async function openStore<E extends EventMap = EventMap>(
  options: Partial<StoreOptions<E>> = {},
): Promise<Store<E>> {
  const { clock = systemClock, entropy = systemEntropy } = options
  const createId = createIds(clock, entropy)
  return closeAtEnd(await Store.open<E>({ path: ':memory:', views: [], clock, entropy, createId, ...options }))
}
