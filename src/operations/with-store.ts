import { existsSync } from 'node:fs'
import { type Clock, systemClock } from '../runtime/clock.ts'
import { createIds, type Entropy, systemEntropy } from '../runtime/entropy.ts'
import type { IndexKind } from '../store/checks/check-index.ts'
import { Store } from '../store/store.ts'
import type { StoreOptions } from '../store/store-options.ts'
import type { Keys } from '../vault/keys.ts'
import { views } from '../views/views.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { requireFile } from '../vocabulary/file-errors.ts'

/** A store, and what it is opened with. */
export interface OpenedWith {
  readonly store: string
  /** Who holds the root key of the log, if its keyring has none: as `keys` of `openAverba`. */
  readonly rootKey?: Keys
  readonly clock?: Clock
  readonly entropy?: Entropy
}

/** Opens a store, runs work with it, and closes it. */
export async function withStore<T>(
  { store: path, rootKey, clock = systemClock, entropy = systemEntropy }: OpenedWith,
  work: (store: Store) => Promise<T>,
  more: Pick<StoreOptions, 'medium' | 'highWaterMark' | 'acceptRollback'> = {},
): Promise<T> {
  requireFile(path)
  // Otherwise `Store.open` would create it.
  if (!more.medium && !existsSync(path)) throw new AverbaError('NOT_FOUND', `Cannot open "${path}": it does not exist`)
  const createId = createIds(clock, entropy)
  const keys = rootKey && { keys: rootKey }
  const store = await Store.open({ path, views, clock, entropy, createId, ...keys, ...more })
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
