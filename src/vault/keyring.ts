import { createSecretKey, type KeyObject } from 'node:crypto'
import type { Entropy } from '../runtime/entropy.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { decrypt, encrypt, hmac, type KeyringSigner } from './cryptography.ts'
import {
  createKeyringFileAt,
  type ErasureToRemember,
  type KeyringFile,
  type RememberedErasures,
  readKeyringFile,
  replaceKeyringFile,
  withErasure,
  withoutOldErasures,
} from './keyring-file.ts'
import type { Keys } from './keys.ts'
import {
  decodeRootKey,
  encodeKey,
  newRootedFile,
  type OpenedKeyring,
  requireKeys,
  throwAsDamaged,
  unwrapKeyring,
  unwrapRootedKeyring,
} from './opened-keyring.ts'

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

/** The path of a keyring, and the holder of its root key. Both are absent for a keyring in memory. */
interface KeyringLocation {
  readonly path?: string
  readonly keys?: Keys
}

/**
 * The keys of one log. A root key wraps epoch keys, and the newest epoch wraps the owners' keys. The keyring file holds
 * the epochs and the root, unless an external `Keys` holds the root. The database holds the wrapped owners' keys.
 * Destroying an epoch also destroys the owners' keys in older copies of the database.
 */
export class Keyring {
  readonly #entropy: Entropy
  readonly #location: KeyringLocation
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
    return hmac(this.#opened.digest, `${purpose}\0${text}`)
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
      this.#opened = await unwrapKeyring(file, path, keys)
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

  /** Creates and wraps the key of the next epoch. */
  async prepareEpoch(): Promise<PreparedEpoch> {
    const key = this.#entropy.bytes(32)
    const { root } = this.#opened.file
    const wrapped =
      root === undefined
        ? await requireKeys(this.#location.keys).wrap(key)
        : encrypt(decodeRootKey(root), key, `epoch ${this.epoch + 1}`, this.#entropy)
    return { key: createSecretKey(key), wrapped: Buffer.from(wrapped).toString('base64') }
  }

  /**
   * Begins the next epoch, durable when it returns, and gives its number. The caller must hold a lock against other
   * processes.
   *
   * @throws {EpochMissingError} when another process has begun one since: `refresh` and prepare again
   */
  beginEpoch({ key, wrapped }: PreparedEpoch): number {
    const file = this.#readFile()
    const newest = Math.max(...Object.keys(file.epochs).map(Number))
    if (newest !== this.epoch) throw new EpochMissingError(newest, this.epoch)
    const epoch = newest + 1
    this.#replaceFile({ ...file, epochs: { ...file.epochs, [epoch]: wrapped } })
    this.#opened.epochs.set(epoch, key)
    return epoch
  }

  /**
   * Remembers an erasure, durable when it returns, for as long as backups from before it can be opened. The caller must
   * hold a lock against other processes.
   */
  remember(erasure: ErasureToRemember): void {
    this.#replaceFile(withErasure(this.#readFile(), erasure))
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

  #readFile(): KeyringFile {
    const { path } = this.#location
    return path === undefined ? this.#opened.file : readKeyringFile(path)
  }

  #replaceFile(file: KeyringFile): void {
    if (this.#location.path !== undefined) replaceKeyringFile(this.#location.path, file)
    this.#opened = { ...this.#opened, file }
  }
}

/** Creates a keyring in memory, for a log in memory. */
export function createKeyring(entropy: Entropy): Keyring {
  return new Keyring(unwrapRootedKeyring(newRootedFile(entropy)), {}, entropy)
}

/**
 * Creates a keyring file of mode 0600, durable when it returns. Opens the existing one when another process was faster.
 *
 * @throws {AverbaError} `STORE_UNSAFE` when it cannot be written, or its temporary copy cannot be removed
 */
export function createKeyringFile(path: string, entropy: Entropy): Keyring {
  createKeyringFileAt(path, newRootedFile(entropy), entropy)
  return openKeyringFile(path, entropy)
}

/**
 * Opens a keyring file that holds its own root key.
 *
 * @throws {AverbaError} `KEYS_MISSING` when it does not exist or does not hold its root key, `KEYS_MISMATCH` when it is
 * not a keyring
 */
export function openKeyringFile(path: string, entropy: Entropy): Keyring {
  const file = readKeyringFile(path)
  if (file.root === undefined) {
    throw new AverbaError('KEYS_MISSING', `Cannot open the keyring "${path}": it does not hold its root key`, {
      hint: 'Pass the root key: keys to openAverba, rootKey to a function on a store, --root-key-from to a command',
    })
  }
  return new Keyring(
    throwAsDamaged(path, () => unwrapRootedKeyring(file)),
    { path },
    entropy,
  )
}

/** Creates a keyring file under an external root key. Throws as `createKeyringFile` does. */
export async function createKeyringFileUnder(keys: Keys, path: string, entropy: Entropy): Promise<Keyring> {
  const [digest, epoch] = await Promise.all([keys.wrap(entropy.bytes(32)), keys.wrap(entropy.bytes(32))])
  const file = { format: 1, id: keys.id, digest: encodeKey(digest), epochs: { 1: encodeKey(epoch) } } as const
  createKeyringFileAt(path, file, entropy)
  return openKeyringFileUnder(keys, path, entropy)
}

/**
 * Opens a keyring file whose root key is external.
 *
 * @throws {AverbaError} `KEYS_MISSING` when it does not exist, `KEYS_MISMATCH` when it was created under another root
 * key or is damaged
 */
export async function openKeyringFileUnder(keys: Keys, path: string, entropy: Entropy): Promise<Keyring> {
  const file = readKeyringFile(path)
  if (file.id === keys.id) return new Keyring(await unwrapKeyring(file, path, keys), { path, keys }, entropy)
  throw new AverbaError('KEYS_MISMATCH', `Cannot open the keyring "${path}": it was created under another root key`, {
    hint: `Pass the keys with id ${file.id} instead of ${keys.id}`,
  })
}

/** Reports whether a keyring file holds its own root key. Throws as `openKeyringFile` does. */
export function holdsRootKey(path: string): boolean {
  return readKeyringFile(path).root !== undefined
}

/** What can be read of a keyring without its root key. */
export type KeyringFacts = Pick<Keyring, 'id' | 'epochs' | 'erased'>

/** Reads the facts of a keyring file, and opens it when it holds its root key. Throws as `openKeyringFile` does. */
export function inspectKeyringFile(path: string, entropy: Entropy): KeyringFacts {
  const file = readKeyringFile(path)
  if (file.root !== undefined) return openKeyringFile(path, entropy)
  return {
    id: file.id,
    erased: file.erased ?? {},
    epochs: Object.keys(file.epochs)
      .map(Number)
      .sort((a, b) => a - b),
  }
}

function epochKey(epochs: ReadonlyMap<number, KeyObject>, epoch: number): KeyObject {
  const key = epochs.get(epoch)
  if (key) return key
  throw new EpochMissingError(epoch, newestEpoch(epochs))
}

function newestEpoch(epochs: ReadonlyMap<number, KeyObject>): number {
  return Math.max(...epochs.keys())
}
