import { createSecretKey, hash, type KeyObject } from 'node:crypto'
import type { Entropy } from '../runtime/entropy.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import type { Json } from '../vocabulary/message.ts'
import { decrypt, encrypt, Hmac } from './cryptography.ts'
import type { Keyring } from './keyring.ts'

/** An owner's key in the store, wrapped by an epoch of the keyring. */
export interface OwnerKey {
  readonly owner: string
  readonly epoch: number
  readonly wrapped: Uint8Array
  /** A digest of the key that detects a replaced key. */
  readonly commitment: Uint8Array
}

export interface SealedPart {
  readonly sealed: Uint8Array
  /** SHA-256 of the sealed bytes, in hexadecimal. */
  readonly hash: string
  /** The commitment of its record key; absent when the owner's key seals it. */
  readonly recordKey?: string
}

const keysKeptMax = 10_000

/** Seals and opens parts under their owner's key or a record key derived from it. Synchronous, as appends are. */
export class Vault {
  readonly keyring: Keyring
  readonly #entropy: Entropy
  readonly #keysByName = new Map<string, KeyObject>()
  /** The same keys by `OwnerKey` object: the writer passes the same objects often. */
  #keysByObject = new WeakMap<OwnerKey, KeyObject>()
  readonly #recordKinds: ReadonlySet<string>

  /** @param recordKinds the kinds of records that are sealed under record keys */
  constructor(keyring: Keyring, entropy: Entropy, recordKinds: Iterable<string> = []) {
    this.keyring = keyring
    this.#entropy = entropy
    this.#recordKinds = new Set(recordKinds)
  }

  createOwnerKey(owner: string): OwnerKey {
    const key = this.#entropy.bytes(32)
    const commitment = ownerKeyCommitment(key, owner)
    const ownerKey = { owner, epoch: this.keyring.epoch, wrapped: this.keyring.wrap(key, owner), commitment }
    this.#cacheKey(cacheName(ownerKey), createSecretKey(key))
    return ownerKey
  }

  /** Checks that a wrapped key is the owner's. Throws `CORRUPT` or `KEYS_MISMATCH` when it is another one. */
  checkOwnerKey(key: OwnerKey): void {
    this.#unwrapChecked(key)
  }

  /** Wraps the same key by the newest epoch. */
  rewrap(key: OwnerKey): OwnerKey {
    const { keyring } = this
    const unwrapped = this.#unwrapChecked(key).export()
    return { ...key, epoch: keyring.epoch, wrapped: keyring.wrap(unwrapped, key.owner) }
  }

  /** Seals a value for a place: it opens only there. `kind` is the kind of the record that the part belongs to. */
  seal(key: OwnerKey, place: string, value: Json, kind = ''): SealedPart {
    const record = this.#recordKinds.has(kind) ? this.recordKey(key, eventOfPlace(place)) : undefined
    const sealing = record ? createSecretKey(record.key) : this.#unwrap(key)
    const sealed = encrypt(sealing, Buffer.from(JSON.stringify(value)), place, this.#entropy)
    const part = { sealed, hash: hash('sha256', sealed, 'hex') }
    return record ? { ...part, recordKey: record.commitment } : part
  }

  /**
   * Opens a sealed part.
   *
   * @param recordKey the commitment of its record key, if it has one
   * @throws {AverbaError} `CORRUPT` when the key, the place or the bytes differ, `KEYS_MISMATCH` when it is another key
   */
  open(key: OwnerKey, place: string, sealed: Uint8Array, recordKey?: string): Json {
    const opening = recordKey === undefined ? this.#unwrap(key) : this.#recordKey(key, place, recordKey)
    return JSON.parse(openOrCorrupt(`the part "${place}"`, () => decrypt(opening, sealed, place)).toString())
  }

  /** Derives the key of an owner's parts in one event, `<stream>/<version>`. It opens nothing else. */
  recordKey(key: OwnerKey, record: string): RecordKey {
    return deriveRecordKey(this.#unwrap(key), key.owner, record)
  }

  /** Seals a secret for a place under the newest epoch of the keyring. */
  sealSecret(place: string, value: string): { epoch: number; sealed: Uint8Array } {
    return { epoch: this.keyring.epoch, sealed: this.keyring.wrap(Buffer.from(value), place) }
  }

  /** Opens a secret; `undefined` when its epoch was destroyed or the place differs. */
  openSecret(place: string, epoch: number, sealed: Uint8Array): string | undefined {
    try {
      return this.keyring.unwrap(sealed, epoch, place).export().toString()
    } catch {
      return undefined
    }
  }

  forget(): void {
    this.#keysByName.clear()
    this.#keysByObject = new WeakMap()
  }

  #recordKey(owner: OwnerKey, place: string, commitment: string): KeyObject {
    const record = this.recordKey(owner, eventOfPlace(place))
    if (record.commitment === commitment) return createSecretKey(record.key)
    throw new AverbaError('KEYS_MISMATCH', `Cannot open "${place}": its header names another record key`)
  }

  #unwrap(key: OwnerKey): KeyObject {
    const known = this.#keysByObject.get(key)
    if (known) return known
    const name = cacheName(key)
    let found = this.#keysByName.get(name)
    if (!found) {
      found = this.#unwrapChecked(key)
      this.#cacheKey(name, found)
    }
    this.#keysByObject.set(key, found)
    return found
  }

  #unwrapChecked(key: OwnerKey): KeyObject {
    const unwrap = () => this.keyring.unwrap(key.wrapped, key.epoch, key.owner)
    const unwrapped = openOrCorrupt(`the key of "${key.owner}"`, unwrap)
    if (!ownerKeyCommitment(unwrapped.export(), key.owner).equals(key.commitment))
      throw new AverbaError('KEYS_MISMATCH', `Cannot use the key of "${key.owner}": it was replaced by another key`)
    return unwrapped
  }

  #cacheKey(name: string, key: KeyObject): void {
    if (this.#keysByName.size >= keysKeptMax) this.#keysByName.clear()
    this.#keysByName.set(name, key)
  }
}

/** A domain-separated SHA-256 of the key: with GCM alone, two chosen keys could open the same sealed text. */
function ownerKeyCommitment(key: Uint8Array, owner: string): Buffer {
  return hash('sha256', Buffer.concat([Buffer.from(`averba owner key v1\0${owner}\0`), key]), 'buffer')
}

/** Replaces the runtime's error for bytes that do not open, which has no useful message or code. */
function openOrCorrupt<T>(what: string, open: () => T): T {
  try {
    return open()
  } catch (cause) {
    if (cause instanceof AverbaError) throw cause
    throw new AverbaError('CORRUPT', `Cannot open ${what}: the sealed bytes were changed or moved`, {
      cause,
      hint: 'Check the log with averba doctor --deep, keep the file unchanged and restore a backup beside it',
    })
  }
}

function eventOfPlace(place: string): string {
  return place.slice(0, place.lastIndexOf('/'))
}

function cacheName({ owner, wrapped }: OwnerKey): string {
  return `${owner}\0${Buffer.from(wrapped).toString('base64')}`
}

/** The key of one owner's parts in one event. */
export interface RecordKey {
  readonly key: Buffer
  /** A digest of the key in hexadecimal. No other key with the same commitment can be found. */
  readonly commitment: string
}

/**
 * Derives a record key from its owner's key. It is not stored, so it is destroyed with the owner's key. It reveals
 * nothing of the owner's key or of other record keys (HMAC-SHA-256 as a pseudorandom function).
 *
 * @param record the event, as `<stream>/<version>`
 */
export function deriveRecordKey(ownerKey: KeyObject, owner: string, record: string): RecordKey {
  const key = new Hmac(ownerKey.export()).digest(`averba record key v1\0${owner}\0${record}`)
  // With GCM alone, two chosen keys could open the same text. The same domain as in src/proof/disclosure.ts.
  const domain = Buffer.from(`averba record key commitment v1\0${owner}\0${record}\0`)
  return { key, commitment: hash('sha256', Buffer.concat([domain, key]), 'hex') }
}
