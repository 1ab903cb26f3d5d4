import type { Keyring } from '../../vault/keyring.ts'
import { first, rows, type Steps } from '../database/connection.ts'

interface WrappedKey {
  readonly owner: string
  readonly epoch: number
  readonly wrapped: Uint8Array
}

/**
 * Lists the owners' keys that do not open with the keyring, and reports when the keyring is older than the log. A key
 * that does not open blocks every later erasure; with an older keyring the log cannot be written.
 */
export function* findUnopenedKeys(keyring: Pick<Keyring, 'unwrap' | 'epoch'>): Steps<string[]> {
  const faults = (yield* isOlderThanLog(keyring)) ? ['the keyring is older than the log: a newer one exists'] : []
  for (const { epoch, owner, wrapped } of yield* rows<WrappedKey>({ sql: selectKeys, parameters: [] })) {
    try {
      keyring.unwrap(wrapped, epoch, owner)
    } catch {
      faults.push(`the key of "${owner}" does not open with the keyring`)
    }
  }
  return faults
}

/** Reports whether the log uses a later epoch than the keyring has, so the keyring is an older copy. */
export function* isOlderThanLog({ epoch }: Pick<Keyring, 'epoch'>): Steps<boolean> {
  const head = yield* first<{ epoch: number }>({ sql: 'select epoch from head', parameters: [] })
  return head !== undefined && head.epoch > epoch
}

const selectKeys = `select owner, epoch, wrapped from owner_key
  where is_erased <> 1 or epoch <> 0 or length(wrapped) > 0`
