import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  sign,
} from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { Entropy } from '../clock.ts'
import { AverbaError } from '../errors.ts'

/**
 * The keys of one log: a root key, over epoch keys, over the owners' keys. The root and the epochs stand
 * in the keyring, outside the database; the owners' keys stand in the database, wrapped by an epoch.
 *
 * `digest` is a keyed digest (HMAC-SHA-256): the only form in which a CPF, a service's id or the input of
 * a command can be looked up. Nobody without the keyring can test a guess against it.
 */
export interface Keyring {
  readonly id: string
  readonly epoch: number
  /** Every epoch that it holds, the oldest first. */
  readonly epochs: readonly number[]
  wrap(key: Uint8Array, owner: string): Uint8Array
  unwrap(wrapped: Uint8Array, epoch: number, owner: string): KeyObject
  digest(purpose: string, text: string): Uint8Array
  /** Signs checkpoints of the log: Ed25519, derived from the root key, so that every copy of the keyring has it. */
  readonly signer: { readonly publicKey: Uint8Array; sign(text: Uint8Array): Uint8Array }
}

interface KeyringFile {
  readonly format: 1
  readonly id: string
  readonly root: string
  readonly epochs: Record<string, string>
}

const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** Makes a keyring that lives in memory only, for a log that does. */
export function createKeyring(entropy: Entropy): Keyring {
  return toKeyring(newKeyringFile(entropy), entropy)
}

/**
 * Makes a keyring file with mode 0600, durable before it returns. Never replaces one: where another process
 * was faster, its keyring is opened.
 *
 * @throws {AverbaError} `STORE_UNSAFE` when it cannot be written, or its first copy cannot be removed
 */
export function createKeyringFile(path: string, entropy: Entropy): Keyring {
  const file = newKeyringFile(entropy)
  const temporary = `${path}.${Buffer.from(entropy.bytes(8)).toString('hex')}`
  try {
    writeDurably(temporary, `${JSON.stringify(file, null, 2)}\n`)
    // Unlike a rename, a link fails where a keyring is already.
    linkSync(temporary, path)
    syncFolder(dirname(path))
  } catch (cause) {
    if (existsSync(path)) return openKeyringFile(path, entropy)
    throw new AverbaError('STORE_UNSAFE', `Cannot write the keyring "${path}"`, { cause })
  } finally {
    removeCopy(temporary)
  }
  return toKeyring(file, entropy)
}

function writeDurably(path: string, text: string): void {
  const descriptor = openSync(path, 'wx', 0o600)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** A copy that stays behind is a key that nobody knows of: it is named. */
function removeCopy(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch (cause) {
    const hint = 'It is a copy of the keyring. Remove it, and open the log again'
    throw new AverbaError('STORE_UNSAFE', `Cannot remove "${path}"`, { cause, hint })
  }
}

/** Makes the names in a folder durable. */
export function syncFolder(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Reads a keyring file.
 *
 * @throws {AverbaError} `KEYS_MISSING` when there is none, `KEYS_MISMATCH` when it is not a keyring
 */
export function openKeyringFile(path: string, entropy: Entropy): Keyring {
  if (!existsSync(path)) {
    throw new AverbaError('KEYS_MISSING', `Cannot open the keyring "${path}": it is not there`, {
      hint: 'Without it the personal data in the log cannot be read. Put back the file that was made with the log',
    })
  }
  try {
    return toKeyring(readKeyringFile(path), entropy)
  } catch (cause) {
    throw new AverbaError('KEYS_MISMATCH', `Cannot read the keyring "${path}": it is damaged`, { cause })
  }
}

function newKeyringFile(entropy: Entropy): KeyringFile {
  const root = Buffer.from(entropy.bytes(32))
  const epochKey = encrypt(createSecretKey(root), entropy.bytes(32), 'epoch 1', entropy)
  return {
    format: 1,
    id: `keys_${Buffer.from(entropy.bytes(10)).toString('hex')}`,
    root: root.toString('base64'),
    epochs: { 1: epochKey.toString('base64') },
  }
}

function readKeyringFile(path: string): KeyringFile {
  const file: unknown = JSON.parse(readFileSync(path, 'utf8'))
  if (typeof file !== 'object' || file === null) throw new TypeError('The keyring is not a JSON object')
  const { format, id, root, epochs } = file as Partial<KeyringFile> // Checked member by member below.
  if (format !== 1 || typeof id !== 'string' || typeof root !== 'string' || !epochs) {
    throw new TypeError('The keyring lacks a member')
  }
  return { format, id, root, epochs }
}

function toKeyring(file: KeyringFile, entropy: Entropy): Keyring {
  const root = createSecretKey(Buffer.from(file.root, 'base64'))
  const epochs = new Map<number, KeyObject>()
  for (const [epoch, wrapped] of Object.entries(file.epochs)) {
    const key = decrypt(root, Buffer.from(wrapped, 'base64'), `epoch ${epoch}`)
    epochs.set(Number(epoch), createSecretKey(key))
  }
  const epoch = Math.max(...epochs.keys())
  const digestKey = hmacKey(Buffer.from(hkdfSync('sha256', root.export(), '', 'averba digest v1', 32)))
  return {
    id: file.id,
    epoch,
    epochs: [...epochs.keys()].sort((a, b) => a - b),
    wrap: (key, owner) => encrypt(keyOf(epochs, epoch), key, owner, entropy),
    unwrap: (wrapped, of, owner) => createSecretKey(decrypt(keyOf(epochs, of), wrapped, owner)),
    digest: (purpose, text) => hmac(digestKey, `${purpose}\0${text}`),
    signer: signerOf(root),
  }
}

/** What stands before the 32 bytes of an Ed25519 key in its PKCS#8 form (RFC 8410). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

function signerOf(root: KeyObject): Keyring['signer'] {
  const seed = Buffer.from(hkdfSync('sha256', root.export(), '', 'averba signing v1', 32))
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32)
  return { publicKey: Uint8Array.from(publicKey), sign: text => sign(null, text, key) }
}

function keyOf(epochs: Map<number, KeyObject>, epoch: number): KeyObject {
  const key = epochs.get(epoch)
  if (key) return key
  throw new AverbaError('KEYS_MISMATCH', `Cannot open a key of epoch ${epoch}: the keyring does not hold it`)
}

/** The two pads of a key (RFC 2104). */
interface HmacKey {
  readonly inner: Buffer
  readonly outer: Buffer
}

function hmacKey(key: Buffer): HmacKey {
  const padded = Buffer.concat([key, Buffer.alloc(64 - key.length)])
  return {
    inner: padded.map(byte => byte ^ 0x36) as Buffer,
    outer: padded.map(byte => byte ^ 0x5c) as Buffer,
  } // A Buffer maps to a Buffer.
}

/** HMAC-SHA-256 (RFC 2104) by two one-shot hashes: in Node several times as fast as an Hmac object for each. */
function hmac({ inner, outer }: HmacKey, text: string): Buffer {
  const first = hash('sha256', Buffer.concat([inner, Buffer.from(text)]), 'buffer')
  return hash('sha256', Buffer.concat([outer, first]), 'buffer')
}

/** Encrypts under a key: nonce, ciphertext and tag in one piece, bound to what is said about them. */
export function encrypt(key: KeyObject, plain: Uint8Array, about: string, entropy: Entropy): Buffer {
  const nonce = entropy.bytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(about))
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** Undoes `encrypt`. Throws when the key, the bytes or what is said about them differ. */
export function decrypt(key: KeyObject, sealed: Uint8Array, about: string): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes))
    .setAAD(Buffer.from(about))
    .setAuthTag(bytes.subarray(-tagBytes))
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
}
