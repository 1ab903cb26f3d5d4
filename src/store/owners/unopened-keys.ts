import type { Keyring } from '../../vault/keyring.ts'
import { first, rows, type Steps } from '../database/connection.ts'

interface WrappedKey {
  readonly owner: string
  readonly epoch: number
  readonly wrapped: Uint8Array
}

/**
 * Says which owners' keys do not open with the keyring, and whether it is older than the log. A key that does not open
 * keeps every later erasure from its end; with an older keyring nothing can be written.
 */
export function* unopenedKeys(keyring: Pick<Keyring, 'unwrap' | 'epoch'>): Steps<string[]> {
  const faults = (yield* isOlderThanLog(keyring))
    ? ['the keyring is older than the log: a newer one exists']
    : []
  for (const { epoch, owner, wrapped } of yield* rows<WrappedKey>({ sql: selectKeys, parameters: [] })) {
    try {
      keyring.unwrap(wrapped, epoch, owner)
    } catch {
      faults.push(`the key of "${owner}" does not open with the keyring`)
    }
  }
  return faults
}

/** Reports whether the log goes by a later epoch than any that a keyring has: it is an older copy. */
export function* isOlderThanLog({ epoch }: Pick<Keyring, 'epoch'>): Steps<boolean> {
  const head = yield* first<{ epoch: number }>({ sql: 'select epoch from head', parameters: [] })
  return head !== undefined && head.epoch > epoch
}

/** An erased owner has a row without a key; whether that is right is checked elsewhere. */
const selectKeys = `select owner, epoch, wrapped from owner_key
  where is_erased <> 1 or epoch <> 0 or length(wrapped) > 0`
