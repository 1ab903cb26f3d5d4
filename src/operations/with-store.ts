import { type Clock, systemClock } from '../runtime/clock.ts'
import { createIds, type Entropy, systemEntropy } from '../runtime/entropy.ts'
import type { IndexKind } from '../store/checks/check-index.ts'
import { type LogPlace, openReading } from '../store/database/log-place.ts'
import { placeOf } from '../store/opening.ts'
import { Store } from '../store/store.ts'
import type { HighWaterMark, StoreOptions } from '../store/store-options.ts'
import type { Keys } from '../vault/keys.ts'
import { views } from '../views/views.ts'

/** A store, and what it is opened with. */
export interface OpenedWith extends LogPlace {
  /** Who holds the root key of the log, if its keyring has none: as `keys` of `openAverba`. */
  readonly rootKey?: Keys
  /** The host's own mark, in place of the file beside the store. */
  readonly highWaterMark?: HighWaterMark
  readonly clock?: Clock
  readonly entropy?: Entropy
}

export async function withStore<T>(
  options: OpenedWith,
  work: (store: Store) => Promise<T>,
  more: Pick<StoreOptions, 'medium' | 'highWaterMark' | 'acceptRollback' | 'isArriving'> = {},
): Promise<T> {
  const { rootKey, highWaterMark, clock = systemClock, entropy = systemEntropy } = options
  // Otherwise `Store.open` would create it.
  if (!more.medium) await (await openReading(options)).close()
  const createId = createIds(clock, entropy)
  const given = { ...(rootKey && { keys: rootKey }), ...(highWaterMark && { highWaterMark }), ...more }
  const store = await Store.open({ ...(await placeOf(options)), views, clock, entropy, createId, ...given })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Where the value of each kind of keyed digest is found, for deep checks. */
export const indexKinds: readonly IndexKind[] = [
  { kind: 'cpf', stream: 'subject-', isOfEach: true },
  { kind: 'consent', stream: 'consent-' },
  { kind: 'subscription', stream: 'subscription-', isOfEach: true },
  { kind: 'recovery', stream: 'notification-' },
  { kind: 'validated', stream: '' },
  { kind: 'awareness', view: 'awareness' },
  { kind: 'failure', view: 'failures' },
]
