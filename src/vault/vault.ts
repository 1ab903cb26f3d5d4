import { createSecretKey, hash, type KeyObject } from 'node:crypto'
import type { Entropy } from '../clock.ts'
import type { Json } from '../message.ts'
import { decrypt, encrypt, type Keyring } from './keyring.ts'

/** An owner's key as the store keeps it: wrapped by an epoch of the keyring. */
export interface OwnerKey {
  readonly owner: string
  readonly epoch: number
  readonly wrapped: Uint8Array
}

/** A part as the store keeps it. */
export interface SealedPart {
  readonly sealed: Uint8Array
  /** SHA-256 of the sealed bytes, in hexadecimal. */
  readonly hash: string
}

const keysKeptMax = 10_000

/** Seals and opens parts, each under its owner's key. Synchronous, so that an append can run in one go. */
export class Vault {
  readonly keyring: Keyring
  readonly #entropy: Entropy
  readonly #keys = new Map<string, KeyObject>()

  constructor(keyring: Keyring, entropy: Entropy) {
    this.keyring = keyring
    this.#entropy = entropy
  }

  /** Makes a key for an owner who has none yet. */
  createOwnerKey(owner: string): OwnerKey {
    const key = this.#entropy.bytes(32)
    const made = { owner, epoch: this.keyring.epoch, wrapped: this.keyring.wrap(key, owner) }
    this.#keep(nameOf(made), createSecretKey(key))
    return made
  }

  /** Seals a value at its place: the sealed bytes open nowhere else. */
  seal(key: OwnerKey, place: string, value: Json): SealedPart {
    const sealed = encrypt(this.#unwrap(key), Buffer.from(JSON.stringify(value)), place, this.#entropy)
    return { sealed, hash: hash('sha256', sealed, 'hex') }
  }

  /** Opens what `seal` sealed. Throws when the key or the place differ. */
  open(key: OwnerKey, place: string, sealed: Uint8Array): Json {
    return JSON.parse(decrypt(this.#unwrap(key), sealed, place).toString())
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
  }

  #unwrap(key: OwnerKey): KeyObject {
    const name = nameOf(key)
    const known = this.#keys.get(name)
    if (known) return known
    const unwrapped = this.keyring.unwrap(key.wrapped, key.epoch, key.owner)
    this.#keep(name, unwrapped)
    return unwrapped
  }

  #keep(name: string, key: KeyObject): void {
    if (this.#keys.size >= keysKeptMax) this.#keys.clear()
    this.#keys.set(name, key)
  }
}

function nameOf({ owner, wrapped }: OwnerKey): string {
  return `${owner}\0${Buffer.from(wrapped).toString('base64')}`
}
