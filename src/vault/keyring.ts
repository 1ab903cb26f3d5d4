import { createSecretKey, type KeyObject } from 'node:crypto'
import type { Entropy } from '../runtime/entropy.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { decrypt, encrypt } from './encrypt.ts'
import { hmac } from './hmac.ts'
import { createKeyringFileAt, type KeyringFile, readKeyringFile, replaceKeyringFile } from './keyring-file.ts'
import type { Keys } from './keys.ts'
import {
  guarded,
  newRootedFile,
  type OpenedKeyring,
  openKeys,
  openRooted,
  required,
  rootOf,
  toText,
} from './opened-keyring.ts'
import {
  type ErasureToRemember,
  forgetting,
  type RememberedErasures,
  remembering,
} from './remembered-erasures.ts'
import type { KeyringSigner } from './signer.ts'

/** The keyring lacks an epoch that a key in the store is wrapped by: another process may have begun it. */
export class EpochMissingError extends AverbaError {
  /** Newer than any that it holds: it was not destroyed, and the keyring has it when it is read again. */
  readonly isNewer: boolean

  constructor(epoch: number, newest: number) {
    super('KEYS_MISMATCH', `Cannot open a key of epoch ${epoch}: the keyring does not hold it`)
    this.isNewer = epoch > newest
  }
}

/** The keyring could not be read again: its file or its key service may be back later. */
export class KeyringAwayError extends AverbaError {
  constructor({ code, message, hint, path, cause }: AverbaError) {
    super(code, message, { cause, ...(hint !== undefined && { hint }), ...(path !== undefined && { path }) })
  }
}

/** A key for a coming epoch: made and wrapped before anybody waits for it. */
export interface PreparedEpoch {
  readonly key: KeyObject
  readonly wrapped: string
}

/** The place of a keyring, and who holds its root key. */
interface KeyringHome {
  readonly path?: string
  readonly keys?: Keys
}

/**
 * The keys of one log: a root key, over epoch keys, over the owners' keys. The root and the epochs stand in the
 * keyring, outside the database, or the root is held by somebody else; the owners' keys stand in the database, wrapped
 * by an epoch. Destroying an epoch takes the keys in older copies of the database with it.
 */
export class Keyring {
  readonly #entropy: Entropy
  readonly #home: KeyringHome
  #opened: OpenedKeyring

  constructor(opened: OpenedKeyring, home: KeyringHome, entropy: Entropy) {
    this.#opened = opened
    this.#home = home
    this.#entropy = entropy
  }

  get id(): string {
    return this.#opened.file.id
  }

  /** Signs checkpoints of the log: derived from what every copy of the keyring has. */
  get signer(): KeyringSigner {
    return this.#opened.signer
  }

  /** The epoch that new keys are wrapped by: the newest. */
  get epoch(): number {
    return newestOf(this.#opened.epochs)
  }

  /** Every epoch that it holds, the oldest first. */
  get epochs(): readonly number[] {
    return [...this.#opened.epochs.keys()].sort((a, b) => a - b)
  }

  /** The erasures that a backup which still opens may predate. */
  get erased(): RememberedErasures {
    return this.#opened.file.erased ?? {}
  }

  /** Wraps an owner's key by the newest epoch. */
  wrap(key: Uint8Array, owner: string): Uint8Array {
    return encrypt(keyOf(this.#opened.epochs, this.epoch), key, owner, this.#entropy)
  }

  /** Undoes `wrap`. Throws when the epoch is not there, or the key is another owner's. */
  unwrap(wrapped: Uint8Array, epoch: number, owner: string): KeyObject {
    return createSecretKey(decrypt(keyOf(this.#opened.epochs, epoch), wrapped, owner))
  }

  /**
   * A keyed digest (HMAC-SHA-256): the only form in which a CPF, a service's id or the input of a command can be looked
   * up. Nobody without the keyring can test a guess against it.
   */
  digest(purpose: string, text: string): Uint8Array {
    return hmac(this.#opened.digest, `${purpose}\0${text}`)
  }

  /**
   * Reads the keyring again, for epochs that other processes have begun or destroyed.
   *
   * @throws {KeyringAwayError} `KEYS_MISSING`, `KEYS_MISMATCH`
   */
  async refresh(): Promise<void> {
    const { path, keys } = this.#home
    if (path === undefined) return
    try {
      const file = readKeyringFile(path)
      if (file.id !== this.id)
        throw new AverbaError('KEYS_MISMATCH', `Cannot use "${path}": it is another keyring`, { path })
      this.#opened = await openKeys(file, path, keys)
    } catch (error) {
      throw error instanceof AverbaError ? new KeyringAwayError(error) : error
    }
  }

  /** Does work that may meet an epoch of another process; in that case once more, with the keyring read again. */
  async whenRefreshed<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof EpochMissingError)) throw error
      await this.refresh()
      return work()
    }
  }

  /** Makes a key for the next epoch. */
  async prepareEpoch(): Promise<PreparedEpoch> {
    const key = this.#entropy.bytes(32)
    const { root } = this.#opened.file
    const wrapped =
      root === undefined
        ? await required(this.#home.keys).wrap(key)
        : encrypt(rootOf(root), key, `epoch ${this.epoch + 1}`, this.#entropy)
    return { key: createSecretKey(key), wrapped: Buffer.from(wrapped).toString('base64') }
  }

  /**
   * Begins the next epoch, durable before it returns, and gives its number. The caller keeps all other processes from
   * doing the same.
   *
   * @throws {EpochMissingError} when another process has begun one since: `refresh`, and prepare again
   */
  beginEpoch({ key, wrapped }: PreparedEpoch): number {
    const file = this.#read()
    const newest = Math.max(...Object.keys(file.epochs).map(Number))
    if (newest !== this.epoch) throw new EpochMissingError(newest, this.epoch)
    const epoch = newest + 1
    this.#replace({ ...file, epochs: { ...file.epochs, [epoch]: wrapped } })
    this.#opened.epochs.set(epoch, key)
    return epoch
  }

  /**
   * Remembers an erasure, durable before it returns, for as long as a backup from before it opens. The caller keeps all
   * other processes from writing.
   */
  remember(erasure: ErasureToRemember): void {
    this.#replace(remembering(this.#read(), erasure))
  }

  /**
   * Destroys an epoch that no longer wraps any key. The caller keeps all other processes from writing.
   *
   * @param lost the subjects whose erasures are remembered until they are done again
   */
  destroyEpoch(epoch: number, lost: ReadonlySet<string> = new Set()): void {
    const file = this.#read()
    const { [String(epoch)]: gone, ...epochs } = file.epochs
    if (gone !== undefined) this.#replace(forgetting({ ...file, epochs }, lost))
    this.#opened.epochs.delete(epoch)
  }

  /** Tells the holder of the root key that an epoch is gone. */
  async announceDestroyed(epoch: number): Promise<void> {
    await this.#home.keys?.destroyEpoch(epoch)
  }

  #read(): KeyringFile {
    const { path } = this.#home
    return path === undefined ? this.#opened.file : readKeyringFile(path)
  }

  #replace(file: KeyringFile): void {
    if (this.#home.path !== undefined) replaceKeyringFile(this.#home.path, file)
    this.#opened = { ...this.#opened, file }
  }
}

/** Makes a keyring that lives in memory only, for a log in memory. */
export function createKeyring(entropy: Entropy): Keyring {
  const file = newRootedFile(entropy)
  return new Keyring(openRooted(file), {}, entropy)
}

/**
 * Makes a keyring file with mode 0600, durable before it returns. Never replaces one: where another process
 * was faster, its keyring is opened.
 *
 * @throws {AverbaError} `STORE_UNSAFE` when it cannot be written, or its first copy cannot be removed
 */
export function createKeyringFile(path: string, entropy: Entropy): Keyring {
  createKeyringFileAt(path, newRootedFile(entropy), entropy)
  return openKeyringFile(path, entropy)
}

/**
 * Reads a keyring file that holds its own root key.
 *
 * @throws {AverbaError} `KEYS_MISSING` when there is none, or its root key is held elsewhere, `KEYS_MISMATCH` when it
 * is not a keyring
 */
export function openKeyringFile(path: string, entropy: Entropy): Keyring {
  const file = readKeyringFile(path)
  if (file.root === undefined) {
    throw new AverbaError(
      'KEYS_MISSING',
      `Cannot open the keyring "${path}": its root key is held elsewhere`,
      {
        hint: 'Give what the log was made with: keys to openAverba, rootKey to a function of a store, --root-key-from to a command',
      },
    )
  }
  return new Keyring(
    guarded(path, () => openRooted(file)),
    { path },
    entropy,
  )
}

/** Makes a keyring file under a root key that is held elsewhere. Throws as `createKeyringFile` does. */
export async function createKeyringFileUnder(keys: Keys, path: string, entropy: Entropy): Promise<Keyring> {
  const [digest, epoch] = await Promise.all([keys.wrap(entropy.bytes(32)), keys.wrap(entropy.bytes(32))])
  const file = { format: 1, id: keys.id, digest: toText(digest), epochs: { 1: toText(epoch) } } as const
  createKeyringFileAt(path, file, entropy)
  return openKeyringFileUnder(keys, path, entropy)
}

/**
 * Reads a keyring file whose root key is held elsewhere.
 *
 * @throws {AverbaError} `KEYS_MISSING` when there is none, `KEYS_MISMATCH` when it was made under another root key, or
 * is damaged
 */
export async function openKeyringFileUnder(keys: Keys, path: string, entropy: Entropy): Promise<Keyring> {
  const file = readKeyringFile(path)
  if (file.id === keys.id) return new Keyring(await openKeys(file, path, keys), { path, keys }, entropy)
  throw new AverbaError(
    'KEYS_MISMATCH',
    `Cannot open the keyring "${path}": it was made under another root key`,
    {
      hint: `It was made under ${file.id}, and the keys given are ${keys.id}`,
    },
  )
}

/** Reports whether a keyring file holds its own root key. Throws as `openKeyringFile` does. */
export function hasRoot(path: string): boolean {
  return readKeyringFile(path).root !== undefined
}

/** What can be told of a keyring without its root key. */
export type KeyringFacts = Pick<Keyring, 'id' | 'epochs' | 'erased'>

/** What a keyring file tells of itself, opened if it holds its root key. Throws as `openKeyringFile` does. */
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

function keyOf(epochs: ReadonlyMap<number, KeyObject>, epoch: number): KeyObject {
  const key = epochs.get(epoch)
  if (key) return key
  throw new EpochMissingError(epoch, newestOf(epochs))
}

function newestOf(epochs: ReadonlyMap<number, KeyObject>): number {
  return Math.max(...epochs.keys())
}
