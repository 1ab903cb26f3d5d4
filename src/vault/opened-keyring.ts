import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { Entropy } from '../runtime/entropy.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { decrypt, deriveSigner, encrypt, type HmacKey, hmacKey, type KeyringSigner } from './cryptography.ts'
import { damagedKeyringError, type KeyringFile } from './keyring-file.ts'
import type { Keys } from './keys.ts'

/** The unwrapped keys of a keyring file. */
export interface OpenedKeyring {
  readonly file: KeyringFile
  readonly epochs: Map<number, KeyObject>
  readonly digest: HmacKey
  readonly signer: KeyringSigner
}

/** Creates the content of a keyring file with its own root key and one epoch. */
export function newRootedFile(entropy: Entropy): KeyringFile {
  const root = encodeKey(entropy.bytes(32))
  const epoch = encrypt(decodeRootKey(root), entropy.bytes(32), 'epoch 1', entropy)
  const id = `keys_${Buffer.from(entropy.bytes(10)).toString('hex')}`
  return { format: 1, id, root, epochs: { 1: encodeKey(epoch) } }
}

/**
 * Unwraps the keys of a keyring file.
 *
 * @throws {AverbaError} `KEYS_MISMATCH` when the root key does not open it
 */
export async function unwrapKeyring(file: KeyringFile, path: string, keys: Keys | undefined): Promise<OpenedKeyring> {
  if (file.root !== undefined) return throwAsDamaged(path, () => unwrapRootedKeyring(file))
  const { unwrap } = requireKeys(keys)
  try {
    const epochs = new Map<number, KeyObject>()
    for (const [epoch, wrapped] of Object.entries(file.epochs))
      epochs.set(Number(epoch), createSecretKey(await unwrap(decodeKey(wrapped))))
    const digest = await unwrap(decodeKey(file.digest ?? ''))
    return { file, epochs, digest: hmacKey(Buffer.from(digest)), signer: deriveSigner(digest) }
  } catch (cause) {
    throw new AverbaError('KEYS_MISMATCH', `Cannot open the keyring "${path}": its root key did not open it`, { cause })
  }
}

/** Unwraps the keys of a keyring file with its own root key. Errors may quote keys: see `throwAsDamaged`. */
export function unwrapRootedKeyring(file: KeyringFile): OpenedKeyring {
  const root = decodeRootKey(file.root ?? '')
  const epochs = new Map<number, KeyObject>()
  for (const [epoch, wrapped] of Object.entries(file.epochs))
    epochs.set(Number(epoch), createSecretKey(decrypt(root, decodeKey(wrapped), `epoch ${epoch}`)))
  const digest = hmacKey(Buffer.from(hkdfSync('sha256', root.export(), '', 'averba digest v1', 32)))
  return { file, epochs, digest, signer: deriveSigner(root.export()) }
}

/** Replaces any error by one that says that the keyring is damaged, and shows nothing of its content. */
export function throwAsDamaged<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch {
    throw damagedKeyringError(path)
  }
}

/** Gives the external keys, which a keyring without a root key needs. */
export function requireKeys(keys: Keys | undefined): Keys {
  if (keys) return keys
  throw new TypeError('Cannot open a keyring without a root key: no keys were passed')
}

/** Decodes the root key of a keyring file. */
export function decodeRootKey(text: string): KeyObject {
  return createSecretKey(decodeKey(text))
}

/** Encodes a key for a keyring file. */
export function encodeKey(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

function decodeKey(text: string): Buffer {
  return Buffer.from(text, 'base64')
}
