import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { Entropy } from '../runtime/entropy.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { decrypt, encrypt } from './encrypt.ts'
import { type HmacKey, hmacKey } from './hmac.ts'
import { damaged, type KeyringFile } from './keyring-file.ts'
import type { Keys } from './keys.ts'
import { type KeyringSigner, signerOf } from './signer.ts'

/** The few keys above all others, opened. */
export interface OpenedKeyring {
  readonly file: KeyringFile
  readonly epochs: Map<number, KeyObject>
  readonly digest: HmacKey
  readonly signer: KeyringSigner
}

/** A keyring file with a root key of its own, of one epoch. */
export function newRootedFile(entropy: Entropy): KeyringFile {
  const root = toText(entropy.bytes(32))
  const epoch = encrypt(rootOf(root), entropy.bytes(32), 'epoch 1', entropy)
  const id = `keys_${Buffer.from(entropy.bytes(10)).toString('hex')}`
  return { format: 1, id, root, epochs: { 1: toText(epoch) } }
}

/**
 * Opens the keys in a keyring file.
 *
 * @throws {AverbaError} `KEYS_MISMATCH` when it does not open
 */
export async function openKeys(
  file: KeyringFile,
  path: string,
  keys: Keys | undefined,
): Promise<OpenedKeyring> {
  if (file.root !== undefined) return guarded(path, () => openRooted(file))
  const { unwrap } = required(keys)
  try {
    const epochs = new Map<number, KeyObject>()
    for (const [epoch, wrapped] of Object.entries(file.epochs))
      epochs.set(Number(epoch), createSecretKey(await unwrap(fromText(wrapped))))
    const digest = await unwrap(fromText(file.digest ?? ''))
    return { file, epochs, digest: hmacKey(Buffer.from(digest)), signer: signerOf(digest) }
  } catch (cause) {
    throw new AverbaError(
      'KEYS_MISMATCH',
      `Cannot open the keyring "${path}": its root key did not open it`,
      { cause },
    )
  }
}

/** Opens a keyring file by the root key in it. Any error passes unchanged: see `guarded`. */
export function openRooted(file: KeyringFile): OpenedKeyring {
  const root = rootOf(file.root ?? '')
  const epochs = new Map<number, KeyObject>()
  for (const [epoch, wrapped] of Object.entries(file.epochs))
    epochs.set(Number(epoch), createSecretKey(decrypt(root, fromText(wrapped), `epoch ${epoch}`)))
  const digest = hmacKey(Buffer.from(hkdfSync('sha256', root.export(), '', 'averba digest v1', 32)))
  return { file, epochs, digest, signer: signerOf(root.export()) }
}

/** Turns any error into one that says that the keyring is damaged. */
export function guarded<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch {
    throw damaged(path)
  }
}

/** The keys of a keyring without a root key. */
export function required(keys: Keys | undefined): Keys {
  if (keys) return keys
  throw new TypeError('A keyring without a root key was opened without keys')
}

/** The root key as a keyring file has it. */
export function rootOf(text: string): KeyObject {
  return createSecretKey(fromText(text))
}

/** A key as a keyring file has it. */
export function toText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

function fromText(text: string): Buffer {
  return Buffer.from(text, 'base64')
}
