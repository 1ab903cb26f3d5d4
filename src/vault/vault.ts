import { createSecretKey, hash, type KeyObject } from 'node:crypto'
import type { Entropy } from '../runtime/entropy.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import type { Json } from '../vocabulary/message.ts'
import { decrypt, encrypt } from './encrypt.ts'
import { hmac, hmacKey } from './hmac.ts'
import type { Keyring } from './keyring.ts'

/** An owner's key as the store keeps it: wrapped by an epoch of the keyring. */
export interface OwnerKey {
  readonly owner: string
  readonly epoch: number
  readonly wrapped: Uint8Array
  /** What the key is known by: a key put in its place has another commitment. */
  readonly commitment: Uint8Array
}

/** A part as the store keeps it. */
export interface SealedPart {
  readonly sealed: Uint8Array
  /** SHA-256 of the sealed bytes, in hexadecimal. */
  readonly hash: string
  /** What its record's key is known by; absent where it is sealed under its owner's key itself. */
  readonly recordKey?: string
}

const keysKeptMax = 10_000

/**
 * Seals and opens parts, each under its owner's key, or a key of its record that is derived from that one. Synchronous,
 * so that an append can run in one go.
 */
export class Vault {
  readonly keyring: Keyring
  readonly #entropy: Entropy
  readonly #keys = new Map<string, KeyObject>()
  /** The same, by the object that was passed in: the writer passes the same ones again and again. */
  #asked = new WeakMap<OwnerKey, KeyObject>()
  readonly #recordKinds: ReadonlySet<string>

  /** @param recordKinds the kinds of records that have keys of their own */
  constructor(keyring: Keyring, entropy: Entropy, recordKinds: Iterable<string> = []) {
    this.keyring = keyring
    this.#entropy = entropy
    this.#recordKinds = new Set(recordKinds)
  }

  /** Makes a key for an owner who has none yet. */
  createOwnerKey(owner: string): OwnerKey {
    const key = this.#entropy.bytes(32)
    const commitment = commitmentOf(key, owner)
    const made = { owner, epoch: this.keyring.epoch, wrapped: this.keyring.wrap(key, owner), commitment }
    this.#keep(nameOf(made), createSecretKey(key))
    return made
  }

  /** The same key, wrapped by the newest epoch. */
  rewrap(key: OwnerKey): OwnerKey {
    const { keyring } = this
    const unwrapped = this.#opened(key).export()
    return { ...key, epoch: keyring.epoch, wrapped: keyring.wrap(unwrapped, key.owner) }
  }

  /**
   * Seals a value at its place: the sealed bytes open nowhere else.
   *
   * @param kind of the record that it belongs to
   */
  seal(key: OwnerKey, place: string, value: Json, kind = ''): SealedPart {
    const record = this.#recordKinds.has(kind) ? this.recordKey(key, recordOf(place)) : undefined
    const sealing = record ? createSecretKey(record.key) : this.#unwrap(key)
    const sealed = encrypt(sealing, Buffer.from(JSON.stringify(value)), place, this.#entropy)
    const part = { sealed, hash: hash('sha256', sealed, 'hex') }
    return record ? { ...part, recordKey: record.commitment } : part
  }

  /**
   * Opens what `seal` sealed.
   *
   * @param recordKey what its record's key is known by, where it has one
   * @throws {AverbaError} `CORRUPT` when the key, the place or the bytes differ, `KEYS_MISMATCH` when it is another key
   */
  open(key: OwnerKey, place: string, sealed: Uint8Array, recordKey?: string): Json {
    const opening = recordKey === undefined ? this.#unwrap(key) : this.#recordKey(key, place, recordKey)
    return JSON.parse(opened(`the part "${place}"`, () => decrypt(opening, sealed, place)).toString())
  }

  /** The key for what one event, `<stream>/<version>`, holds of an owner: it opens nothing else. */
  recordKey(key: OwnerKey, record: string): RecordKey {
    return recordKeyOf(this.#unwrap(key), key.owner, record)
  }

  /** Seals a secret under the newest epoch of the keyring, at its place. */
  sealSecret(place: string, value: string): { epoch: number; sealed: Uint8Array } {
    return { epoch: this.keyring.epoch, sealed: this.keyring.wrap(Buffer.from(value), place) }
  }

  /** Opens what `sealSecret` sealed; `undefined` when its epoch is gone, or it stands in another place. */
  openSecret(place: string, epoch: number, sealed: Uint8Array): string | undefined {
    try {
      return this.keyring.unwrap(sealed, epoch, place).export().toString()
    } catch {
      return undefined
    }
  }

  /** Forgets the keys kept in memory. */
  forget(): void {
    this.#keys.clear()
    this.#asked = new WeakMap()
  }

  #recordKey(owner: OwnerKey, place: string, commitment: string): KeyObject {
    const record = this.recordKey(owner, recordOf(place))
    if (record.commitment === commitment) return createSecretKey(record.key)
    throw new AverbaError('KEYS_MISMATCH', `Cannot open "${place}": it names another key of its record`)
  }

  #unwrap(key: OwnerKey): KeyObject {
    const asked = this.#asked.get(key)
    if (asked) return asked
    const name = nameOf(key)
    let found = this.#keys.get(name)
    if (!found) {
      found = this.#opened(key)
      this.#keep(name, found)
    }
    this.#asked.set(key, found)
    return found
  }

  #opened(key: OwnerKey): KeyObject {
    const unwrap = () => this.keyring.unwrap(key.wrapped, key.epoch, key.owner)
    const unwrapped = opened(`the key of "${key.owner}"`, unwrap)
    if (!commitmentOf(unwrapped.export(), key.owner).equals(key.commitment))
      throw new AverbaError(
        'KEYS_MISMATCH',
        `Cannot use the key of "${key.owner}": it is not the one that was made`,
      )
    return unwrapped
  }

  #keep(name: string, key: KeyObject): void {
    if (this.#keys.size >= keysKeptMax) this.#keys.clear()
    this.#keys.set(name, key)
  }
}

/** SHA-256 of the key in its domain: GCM alone would let one text open under two keys that were chosen for it. */
function commitmentOf(key: Uint8Array, owner: string): Buffer {
  return hash('sha256', Buffer.concat([Buffer.from(`averba owner key v1\0${owner}\0`), key]), 'buffer')
}

/** Replaces the runtime's own error for bytes that do not open, which has no message and no code. */
function opened<T>(what: string, open: () => T): T {
  try {
    return open()
  } catch (cause) {
    if (cause instanceof AverbaError) throw cause
    throw new AverbaError('CORRUPT', `Cannot open ${what}: it is not what was sealed there`, {
      cause,
      hint: 'Look at the log with averba doctor --deep, keep the file as it is, and restore a backup beside it',
    })
  }
}

/** The event of a part's place. */
function recordOf(place: string): string {
  return place.slice(0, place.lastIndexOf('/'))
}

function nameOf({ owner, wrapped }: OwnerKey): string {
  return `${owner}\0${Buffer.from(wrapped).toString('base64')}`
}

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
