import type { Keyring } from '../vault/keyring.ts'
import { rows, type Steps } from './connection.ts'

interface WrappedKey {
  readonly owner: string
  readonly epoch: number
  readonly wrapped: Uint8Array
}

/** Says which owners' keys do not open with the keyring. One that does not keeps every later erasure from its end. */
export function* unopenedKeys(keyring: Pick<Keyring, 'unwrap'>): Steps<string[]> {
  const faults: string[] = []
  for (const { epoch, owner, wrapped } of yield* rows<WrappedKey>({ sql: selectKeys, parameters: [] })) {
    try {
      keyring.unwrap(wrapped, epoch, owner)
    } catch {
      faults.push(`the key of "${owner}" does not open with the keyring`)
    }
  }
  return faults
}

/** An erased owner has a row without a key; whether that is right is checked elsewhere. */
const selectKeys = `select owner, epoch, wrapped from owner_key
  where is_erased <> 1 or epoch <> 0 or length(wrapped) > 0`
