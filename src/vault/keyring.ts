import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { Entropy } from '../runtime/entropy.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { decrypt, deriveSigner, encrypt, Hmac, type KeyringSigner } from './cryptography.ts'
import {
  authenticate,
  createKeyringFileAt,
  damagedKeyringError,
  type ErasureToRemember,
  type KeyringFile,
  type RememberedErasures,
  readKeyringFile,
  replaceKeyringFile,
  withErasure,
  withoutOldErasures,
} from './keyring-file.ts'
import type { Keys } from './keys.ts'

const tagLength = 22

/** The keyring lacks the epoch that wraps a key of the store. Another process may have begun it. */
export class EpochMissingError extends AverbaError {
  /** The epoch is newer than all that the keyring holds, so it was not destroyed: read the keyring again. */
  readonly isNewer: boolean

  constructor(epoch: number, newest: number) {
    super('KEYS_MISMATCH', `Cannot open a key of epoch ${epoch}: the keyring does not hold it`)
    this.isNewer = epoch > newest
  }
}

/** The keyring could not be read again. The failure may be temporary: its file or its key service may come back. */
export class KeyringUnreadableError extends AverbaError {
  constructor({ code, message, hint, path, cause }: AverbaError) {
    super(code, message, { cause, ...(hint !== undefined && { hint }), ...(path !== undefined && { path }) })
  }
}

/** The key of the next epoch, created and wrapped in advance: wrapping may call a key service. */
export interface PreparedEpoch {
  readonly key: KeyObject
  readonly wrapped: string
}

/** The keys of a keyring, wrapped in advance under another root key. */
export interface PreparedRoot {
  readonly keys: Keys | undefined
  readonly wrapped: Pick<KeyringFile, 'root' | 'holder' | 'secret' | 'epochs'>
}

/** Who wraps the keys of a keyring: an external root key, or that of the file. */
type RootHolder = Pick<Keys, 'wrap' | 'unwrap'>

interface OpenedKeyring {
  readonly file: KeyringFile
  readonly epochs: Map<number, KeyObject>
  readonly digest: Hmac
  readonly tag: Hmac
  /** Authenticates the file of the keyring. */
  readonly mac: Hmac
  readonly signer: KeyringSigner
}

/** The path of a keyring, and the holder of its root key. Both are absent for a keyring in memory. */
interface KeyringLocation {
  readonly path?: string
  readonly keys?: Keys | undefined
}

/**
 * The keys of one log. A root key wraps epoch keys, and the newest epoch wraps the owners' keys. The keyring file holds
 * the epochs and the root, unless an external `Keys` holds the root. The database holds the wrapped owners' keys.
 * Destroying an epoch also destroys the owners' keys in older copies of the database.
 */
export class Keyring {
  readonly #entropy: Entropy
  #location: KeyringLocation
  #opened: OpenedKeyring

  constructor(opened: OpenedKeyring, location: KeyringLocation, entropy: Entropy) {
    this.#opened = opened
    this.#location = location
    this.#entropy = entropy
  }

  get id(): string {
    return this.#opened.file.id
  }

  /** Signs checkpoints of the log. Every copy of the keyring gives the same signer. */
  get signer(): KeyringSigner {
    return this.#opened.signer
  }

  get epoch(): number {
    return newestEpoch(this.#opened.epochs)
  }

  get epochs(): readonly number[] {
    return [...this.#opened.epochs.keys()].sort((a, b) => a - b)
  }

  /** The erasures that are missing from backups which still open. */
  get erased(): RememberedErasures {
    return this.#opened.file.erased ?? {}
  }

  /** The number of events in the log when the keyring was last written. */
  get size(): number {
    return this.#opened.file.size ?? 0
  }

  wrap(key: Uint8Array, owner: string): Uint8Array {
    return encrypt(epochKey(this.#opened.epochs, this.epoch), key, owner, this.#entropy)
  }

  /** Reverses `wrap`. Throws when the keyring lacks the epoch, or the key belongs to another owner. */
  unwrap(wrapped: Uint8Array, epoch: number, owner: string): KeyObject {
    return createSecretKey(decrypt(epochKey(this.#opened.epochs, epoch), wrapped, owner))
  }

  /**
   * Computes a keyed digest (HMAC-SHA-256), the only form in which a CPF, a service's id or the input of a command is
   * indexed. Testing a guess against it takes the keyring.
   */
  digest(purpose: string, text: string): Uint8Array {
    return this.#opened.digest.digest(`${purpose}\0${text}`)
  }

  /** Computes a tag: the first 22 characters of an HMAC-SHA-256 in base64url, 16 bytes and 4 bits. */
  tag(text: string): string {
    return this.#opened.tag.encode(text, 'base64url').slice(0, tagLength)
  }

  /**
   * Reads the keyring again: other processes may have begun or destroyed epochs.
   *
   * @throws {KeyringUnreadableError} with code `KEYS_MISSING`, `KEYS_MISMATCH` or `STORE_UNSAFE`
   */
  async refresh(): Promise<void> {
    const { path, keys } = this.#location
    if (path === undefined) return
    try {
      const file = readKeyringFile(path)
      if (file.id !== this.id)
        throw new AverbaError('KEYS_MISMATCH', `Cannot use "${path}": it is the keyring of another log`, { path })
      this.#opened = await unwrapKeyring(file, path, keys, this.#entropy)
    } catch (error) {
      throw error instanceof AverbaError ? new KeyringUnreadableError(error) : error
    }
  }

  /** Runs work. When it needs an epoch that another process has begun, reads the keyring again and repeats it once. */
  async withRefresh<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof EpochMissingError)) throw error
      await this.refresh()
      return work()
    }
  }

  async prepareEpoch(): Promise<PreparedEpoch> {
    const key = this.#entropy.bytes(32)
    const wrapped = await this.#holder().wrap(key, epochName(this.epoch + 1))
    return { key: createSecretKey(key), wrapped: encodeKey(wrapped) }
  }

  /**
   * Begins the next epoch, durable when it returns, and gives its number. The caller must hold a lock against other
   * processes.
   *
   * @param size the number of events in the log
   * @throws {EpochMissingError} when another process has begun one since: `refresh` and prepare again
   */
  beginEpoch({ key, wrapped }: PreparedEpoch, size: number): number {
    const file = this.#readFile()
    const newest = Math.max(...Object.keys(file.epochs).map(Number))
    if (newest !== this.epoch) throw new EpochMissingError(newest, this.epoch)
    const epoch = newest + 1
    this.#replaceFile({ ...file, size, epochs: { ...file.epochs, [epoch]: wrapped } })
    this.#opened.epochs.set(epoch, key)
    return epoch
  }

  /** Remembers an erasure durably, while backups from before it open. Hold a lock against other processes. */
  remember(erasure: ErasureToRemember): void {
    this.#replaceFile(withErasure(this.#readFile(), erasure))
  }

  /** Remembers the size of a log that was restored, which may be smaller. */
  rememberSize(size: number): void {
    this.#replaceFile({ ...this.#readFile(), size })
  }

  /**
   * Destroys an epoch that no longer wraps any key. The caller must hold a lock against other processes.
   *
   * @param lost subjects whose erasures stay remembered because they were lost in a restore and must be repeated
   */
  destroyEpoch(epoch: number, lost: ReadonlySet<string> = new Set()): void {
    const file = this.#readFile()
    const { [String(epoch)]: destroyed, ...epochs } = file.epochs
    if (destroyed !== undefined) this.#replaceFile(withoutOldErasures({ ...file, epochs }, lost))
    this.#opened.epochs.delete(epoch)
  }

  async announceDestroyed(epoch: number): Promise<void> {
    await this.#location.keys?.destroyEpoch(epoch)
  }

  /**
   * Wraps all keys under another root key, or under one that the file holds. Data, signatures and tags stay as they
   * are.
   *
   * @throws {AverbaError} `KEYS_MISMATCH` when the other holder does not open what it wrapped
   */
  async prepareRoot(keys?: Keys): Promise<PreparedRoot> {
    const { file, epochs } = this.#opened
    if (keys && keys.id === this.#location.keys?.id) {
      const hint = 'Give another one: what is known of the former key would still open the log'
      throw new AverbaError('INVALID_INPUT', 'Cannot change the root key: the new one is the present one', { hint })
    }
    const root = keys ? undefined : encodeKey(this.#entropy.bytes(32))
    const to = keys ?? fileRoot(root, this.#entropy)
    const secret = await this.#holder().unwrap(decodeKey(file.secret), secretName)
    const moved: Record<string, string> = {}
    for (const [epoch, key] of epochs) moved[epoch] = encodeKey(await to.wrap(key.export(), epochName(epoch)))
    const holder = keys && keys.id !== file.id ? keys.id : undefined
    const wrapped = { root, holder, secret: encodeKey(await to.wrap(secret, secretName)), epochs: moved }
    // A holder that fails would otherwise be found out when the former file is gone.
    const { path } = this.#location
    await unwrapKeyring(authenticate({ ...file, ...wrapped }, this.#opened.mac), path, keys, this.#entropy)
    return { keys, wrapped }
  }

  /**
   * Replaces the root key, durable when it returns. The caller must hold a lock against other processes.
   *
   * @throws {EpochMissingError} when another process has begun an epoch since: `refresh` and prepare again
   */
  replaceRoot({ keys, wrapped }: PreparedRoot): void {
    const file = this.#readFile()
    const newest = Math.max(...Object.keys(file.epochs).map(Number))
    if (newest !== this.epoch) throw new EpochMissingError(newest, this.epoch)
    this.#replaceFile({ ...file, ...wrapped })
    this.#location = { ...this.#location, keys }
  }

  #holder(): RootHolder {
    return holderOf(this.#opened.file, this.#location.keys, this.#entropy)
  }

  #readFile(): KeyringFile {
    const { path } = this.#location
    return path === undefined ? this.#opened.file : readKeyringFile(path)
  }

  #replaceFile(file: KeyringFile): void {
    const authentic = authenticate(file, this.#opened.mac)
    if (this.#location.path !== undefined) replaceKeyringFile(this.#location.path, authentic)
    this.#opened = { ...this.#opened, file: authentic }
  }
}

/** Creates a keyring in memory, for a log in memory. */
export function createKeyring(entropy: Entropy): Keyring {
  const { file, epoch, secret } = newFile(entropy)
  return new Keyring(derive(file, new Map([[1, createSecretKey(epoch)]]), secret), {}, entropy)
}

/**
 * Creates a keyring file of mode 0600, durable when it returns. Opens the existing one when another process was faster.
 *
 * @param keys the holder of its root key; without it, the file holds a new one
 * @throws {AverbaError} `STORE_UNSAFE` when it cannot be written, or its temporary copy cannot be removed
 */
export async function createKeyringFile(path: string, entropy: Entropy, keys?: Keys): Promise<Keyring> {
  const { file, epoch, secret } = newFile(entropy)
  const made = keys ? await moveUnder(keys, file, epoch, secret) : file
  createKeyringFileAt(path, made, entropy)
  return openKeyringFile(path, entropy, keys)
}

/**
 * Opens a keyring file.
 *
 * @param keys the holder of its root key; absent when the file holds it
 * @throws {AverbaError} `KEYS_MISSING` when it does not exist or its root key is elsewhere, `KEYS_MISMATCH` when it was
 * created under another root key, or is not a keyring or damaged
 */
export async function openKeyringFile(path: string, entropy: Entropy, keys?: Keys): Promise<Keyring> {
  const file = readKeyringFile(path)
  const holder = file.root === undefined ? (file.holder ?? file.id) : undefined
  if (keys && holder !== keys.id) {
    const cannot = `Cannot open the keyring "${path}": it is under another root key`
    const hint = holder === undefined ? 'Pass no keys: it holds its root key' : `Pass the keys with id ${holder}`
    throw new AverbaError('KEYS_MISMATCH', cannot, { hint: `${hint} instead of ${keys.id}` })
  }
  if (!keys && file.root === undefined) {
    throw new AverbaError('KEYS_MISSING', `Cannot open the keyring "${path}": it does not hold its root key`, {
      hint: 'Pass the root key: keys to openAverba, rootKey to a function on a store, --root-key-from to a command',
    })
  }
  return new Keyring(await unwrapKeyring(file, path, keys, entropy), { path, keys }, entropy)
}

/** Reports whether a keyring file holds its own root key. Throws as `openKeyringFile` does. */
export function holdsRootKey(path: string): boolean {
  return readKeyringFile(path).root !== undefined
}

/** Reads what a keyring file shows without its root key, or opens it. Throws as `openKeyringFile` does. */
export async function inspectKeyringFile(
  path: string,
  entropy: Entropy,
): Promise<Pick<Keyring, 'id' | 'epochs' | 'erased' | 'size'>> {
  const { id, root, epochs, erased = {}, size = 0 } = readKeyringFile(path)
  if (root !== undefined) return openKeyringFile(path, entropy)
  return { id, erased, size, epochs: Object.keys(epochs).map(Number) }
}

/** The content of a new keyring file with its own root key and one epoch, and what is wrapped in it. */
function newFile(entropy: Entropy): { file: KeyringFile; epoch: Uint8Array; secret: Uint8Array } {
  const [root, secret, epoch] = [entropy.bytes(32), entropy.bytes(32), entropy.bytes(32)]
  const key = createSecretKey(root)
  const wrap = (plain: Uint8Array, name: string) => encodeKey(encrypt(key, plain, name, entropy))
  const file = {
    format: 1,
    id: `keys_${Buffer.from(entropy.bytes(10)).toString('hex')}`,
    root: encodeKey(root),
    secret: wrap(secret, secretName),
    epochs: { 1: wrap(epoch, epochName(1)) },
  } as const
  return { file: authenticate(file, macKey(secret)), epoch, secret }
}

/** The same keys under an external root key, which names the keyring. */
async function moveUnder(
  keys: Keys,
  { format }: KeyringFile,
  epoch: Uint8Array,
  secret: Uint8Array,
): Promise<KeyringFile> {
  const [wrapped, first] = await Promise.all([keys.wrap(secret, secretName), keys.wrap(epoch, epochName(1))])
  const file = { format, id: keys.id, secret: encodeKey(wrapped), epochs: { 1: encodeKey(first) } }
  return authenticate(file, macKey(secret))
}

/**
 * Unwraps the keys of a keyring file.
 *
 * @throws {AverbaError} `KEYS_MISMATCH` when the root key does not open it
 */
async function unwrapKeyring(
  file: KeyringFile,
  path: string | undefined,
  keys: Keys | undefined,
  entropy: Entropy,
): Promise<OpenedKeyring> {
  try {
    const { unwrap } = holderOf(file, keys, entropy)
    const epochs = new Map<number, KeyObject>()
    for (const [epoch, wrapped] of Object.entries(file.epochs))
      epochs.set(Number(epoch), createSecretKey(await unwrap(decodeKey(wrapped), epochName(Number(epoch)))))
    return derive(file, epochs, await unwrap(decodeKey(file.secret), secretName))
  } catch (cause) {
    // The error may quote keys of the file.
    if (file.root !== undefined) throw damagedKeyringError(path ?? '')
    throw new AverbaError('KEYS_MISMATCH', `Cannot open the keyring "${path}": its root key did not open it`, { cause })
  }
}

/** Derives the other keys from the secret of a keyring. Throws when a member of the file was changed. */
function derive(file: KeyringFile, epochs: Map<number, KeyObject>, secret: Uint8Array): OpenedKeyring {
  const digest = new Hmac(deriveKey(secret, 'averba digest v1'))
  const tag = new Hmac(deriveKey(secret, 'averba tags v1'))
  return { file, epochs, digest, tag, mac: checkMac(file, secret), signer: deriveSigner(secret) }
}

function holderOf({ root }: KeyringFile, keys: Keys | undefined, entropy: Entropy): RootHolder {
  if (root !== undefined) return fileRoot(root, entropy)
  if (keys) return keys
  throw new TypeError('Cannot open a keyring without a root key: no keys were passed')
}

/** The root key that a file holds. */
function fileRoot(root: string | undefined, entropy: Entropy): RootHolder {
  const key = createSecretKey(decodeKey(root ?? ''))
  return {
    wrap: async (plain, name) => encrypt(key, plain, name, entropy),
    unwrap: async (wrapped, name) => decrypt(key, wrapped, name),
  }
}

function deriveKey(secret: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', purpose, 32))
}

/** The name of the secret, bound into its wrapped form. */
export const secretName = 'secret'

/** The name of an epoch, bound into its wrapped key: the key of another one does not open in its place. */
function epochName(epoch: number): string {
  return `epoch ${epoch}`
}

/** The key that authenticates a keyring file, from its secret. */
export function macKey(secret: Uint8Array): Hmac {
  return new Hmac(deriveKey(secret, 'averba keyring mac v1'))
}

/** Returns the key that authenticates a keyring file. Throws when a member was changed. */
function checkMac(file: KeyringFile, secret: Uint8Array): Hmac {
  const key = macKey(secret)
  if (authenticate(file, key).mac !== file.mac) throw new TypeError('The keyring was changed')
  return key
}

function encodeKey(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

function decodeKey(text: string): Buffer {
  return Buffer.from(text, 'base64')
}

function epochKey(epochs: ReadonlyMap<number, KeyObject>, epoch: number): KeyObject {
  const key = epochs.get(epoch)
  if (key) return key
  throw new EpochMissingError(epoch, newestEpoch(epochs))
}

function newestEpoch(epochs: ReadonlyMap<number, KeyObject>): number {
  return Math.max(...epochs.keys())
}
