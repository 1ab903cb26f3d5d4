import { hash, type KeyObject } from 'node:crypto'
import { hmac, hmacKey } from './hmac.ts'

/** The key of one record: for what one event holds of one owner. */
export interface RecordKey {
  readonly key: Buffer
  /** What the key is known by, in hexadecimal: nobody can find another key with the same commitment. */
  readonly commitment: string
}

/**
 * Derives the key of a record from its owner's: nothing is stored for it, and it goes with the owner's. Whoever is
 * given it learns nothing of the owner's key, or of the key of any other record (HMAC-SHA-256 as a pseudorandom
 * function).
 *
 * @param record the event, as `<stream>/<version>`
 */
export function recordKeyOf(ownerKey: KeyObject, owner: string, record: string): RecordKey {
  const key = hmac(hmacKey(ownerKey.export()), `averba record key v1\0${owner}\0${record}`)
  // GCM alone would let one text open under two keys that were chosen for it. The same as in src/proof/disclosure.ts.
  const domain = Buffer.from(`averba record key commitment v1\0${owner}\0${record}\0`)
  return { key, commitment: hash('sha256', Buffer.concat([domain, key]), 'hex') }
}
