import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Entropy } from '../runtime/entropy.ts'
import { AverbaError, LateError } from '../vocabulary/errors.ts'
import { decrypt, deriveSigner, encrypt, Hmac, type KeyringSigner } from './cryptography.ts'
import { askHost, KeyringInMemory, type KeyringStore, notReplacedError } from './keyring-store.ts'
import type { Keys } from './keys.ts'
import {
  authenticate,
  damagedKeyringError,
  type ErasureToRemember,
  formatKeyring,
  parseKeyring,
  type RememberedErasures,
  type StoredKeys,
  withErasure,
  withoutOldErasures,
} from './stored-keys.ts'

const tagLength = 22

/** The keyring lacks the epoch that wraps a key of the store. Another process may have begun it. */
export class EpochMissingError extends AverbaError {
  /** The epoch is newer than all that the keyring holds, so it was not destroyed: read the keyring again. */
  readonly isNewer: boolean

  constructor(epoch: number, newest: number) {
    const isNewer = epoch > newest
    const hint = 'Put the newest keyring back: an erasure after this copy created keys that it lacks'
    super('KEYS_MISMATCH', `Cannot open a key of epoch ${epoch}: the keyring does not hold it`, isNewer ? { hint } : {})
    this.isNewer = isNewer
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
  readonly epoch: number
  readonly key: KeyObject
  readonly wrapped: string
  /** The keyring that it was prepared for: another root key would not open it. */
  readonly for: StoredKeys
}

export interface PreparedRoot {
  readonly keys: Keys | undefined
  /** The keyring whose keys were wrapped: another one may have more of them, or fewer. */
  readonly for: StoredKeys
  readonly wrapped: Pick<StoredKeys, 'root' | 'holder' | 'secret' | 'epochs'>
}

/** Who wraps the keys of a keyring: an external root key, or that of the file. */
type RootHolder = Pick<Keys, 'wrap' | 'unwrap'>

interface OpenedKeyring {
  readonly stored: StoredKeys
  readonly epochs: Map<number, KeyObject>
  readonly digest: Hmac
  readonly tag: Hmac
  readonly mac: Hmac
  readonly signer: KeyringSigner
}

/**
 * The keys of one log. A root key wraps epoch keys, and the newest epoch wraps the owners' keys. The keyring file holds
 * the epochs and the root, unless an external `Keys` holds the root. The database holds the wrapped owners' keys.
 * Destroying an epoch also destroys the owners' keys in older copies of the database.
 */
export class Keyring {
  readonly #entropy: Entropy
  readonly #store: KeyringStore
  /** The holder of its root key; absent when the keyring holds it. */
  #keys: Keys | undefined
  #opened: OpenedKeyring

  constructor(opened: OpenedKeyring, store: KeyringStore, keys: Keys | undefined, entropy: Entropy) {
    this.#opened = opened
    this.#store = store
    this.#keys = keys
    this.#entropy = entropy
  }

  get id(): string {
    return this.#opened.stored.id
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
    return this.#opened.stored.erased ?? {}
  }

  /** The number of events in the log when the keyring was last written. */
  get size(): number {
    return this.#opened.stored.size ?? 0
  }

  /** Checks that what is stored is still there, and its own: without it, the log cannot be opened again. */
  async checkStored(): Promise<void> {
    await this.#read()
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
    try {
      const { stored } = await this.#read()
      this.#opened = await unwrapKeyring(stored, this.#store.name, this.#keys, this.#entropy)
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
    const { stored } = this.#opened
    const epoch = this.epoch + 1
    const key = this.#entropy.bytes(32)
    const holder = this.#holder()
    const wrapped = await holder.wrap(key, epochName(epoch))
    // All keys will be wrapped by this epoch, and the former keyring is overwritten.
    if (!Buffer.from(key).equals(await holder.unwrap(wrapped, epochName(epoch)))) throw wronglyWrapped()
    return { epoch, key: createSecretKey(key), wrapped: encodeKey(wrapped), for: stored }
  }

  /**
   * Begins the next epoch, durable when it resolves, and gives its number.
   *
   * @param size the number of events in the log
   * @param erasure what the keyring remembers from then on
   * @throws {EpochMissingError} when the keys have changed since: `refresh` and prepare again
   */
  async beginEpoch(prepared: PreparedEpoch, size: number, erasure?: ErasureToRemember): Promise<number> {
    const { epoch, key, wrapped } = prepared
    await this.#change(stored => {
      checkSameKeys(stored, prepared.for)
      const begun = { ...stored, size, epochs: { ...stored.epochs, [epoch]: wrapped } }
      return erasure ? withErasure(begun, erasure) : begun
    })
    this.#opened.epochs.set(epoch, key)
    return epoch
  }

  /** Remembers an erasure durably, while backups from before it open. */
  remember(erasure: ErasureToRemember): Promise<void> {
    return this.#change(stored => withErasure(stored, erasure))
  }

  /** Remembers how far the log has come, so that an older copy of it is refused also without its mark. */
  async rememberReached(size: number): Promise<void> {
    if (size > this.size) await this.#change(stored => ({ ...stored, size: Math.max(stored.size ?? 0, size) }))
  }

  /** Remembers the size of a log that was restored, which may be smaller. */
  rememberSize(size: number): Promise<void> {
    return this.#change(stored => ({ ...stored, size }))
  }

  /**
   * Destroys an epoch that no longer wraps any key.
   *
   * @param lost subjects whose erasures stay remembered because they were lost in a restore and must be repeated
   */
  async destroyEpoch(epoch: number, lost: ReadonlySet<string> = new Set()): Promise<void> {
    await this.#change(stored => {
      const { [String(epoch)]: destroyed, ...epochs } = stored.epochs
      return destroyed === undefined ? stored : withoutOldErasures({ ...stored, epochs }, lost)
    })
    this.#opened.epochs.delete(epoch)
  }

  async announceDestroyed(epoch: number): Promise<void> {
    await askHost('MISCONFIGURED', async () => this.#keys?.destroyEpoch(epoch))
  }

  /**
   * Wraps all keys under another root key, or under one that the keyring holds. Data, signatures and tags stay.
   *
   * @throws {AverbaError} `KEYS_MISMATCH` when the other holder does not open what it wrapped
   */
  async prepareRoot(keys?: Keys): Promise<PreparedRoot> {
    const { stored, epochs } = this.#opened
    if (keys && keys.id === this.#keys?.id) {
      const hint = 'Give another one: what is known of the former key would still open the log'
      throw new AverbaError('INVALID_INPUT', 'Cannot change the root key: the new one is the present one', { hint })
    }
    const root = keys ? undefined : encodeKey(this.#entropy.bytes(32))
    const to = keys ? hostHolder(keys) : ownRoot(root, this.#entropy)
    const secret = await this.#holder().unwrap(decodeKey(stored.secret), secretName)
    const moved: Record<string, string> = {}
    for (const [epoch, key] of epochs) moved[epoch] = encodeKey(await to.wrap(key.export(), epochName(epoch)))
    const holder = keys && keys.id !== stored.id ? keys.id : undefined
    const wrapped = { root, holder, secret: encodeKey(await to.wrap(secret, secretName)), epochs: moved }
    // A holder that fails would otherwise be found out when the former keyring is gone.
    const moving = authenticate({ ...stored, ...wrapped }, this.#opened.mac)
    await unwrapKeyring(moving, this.#store.name, keys, this.#entropy)
    return { keys, wrapped, for: stored }
  }

  /**
   * Replaces the root key, durable when it resolves.
   *
   * @throws {EpochMissingError} when the keys have changed since: `refresh` and prepare again
   */
  async replaceRoot(prepared: PreparedRoot): Promise<void> {
    await this.#change(stored => {
      checkSameKeys(stored, prepared.for)
      return { ...stored, ...prepared.wrapped }
    })
    this.#keys = prepared.keys
  }

  #holder(): RootHolder {
    return holderOf(this.#opened.stored, this.#keys, this.#entropy)
  }

  /** Changes what is stored. When another process was faster, what that one wrote is changed. */
  async #change(change: (stored: StoredKeys) => StoredKeys): Promise<void> {
    for (let tries = 1; tries <= triesMax; tries++) {
      const { stored, tag } = await this.#read()
      const changed = authenticate(change(stored), this.#opened.mac)
      if (!(await this.#store.replace(formatKeyring(changed), tag))) continue
      // Of other keys, which another process has made, none is opened here: `refresh` does.
      if (areSameKeys(stored, this.#opened.stored)) this.#opened = { ...this.#opened, stored: changed }
      return
    }
    throw notReplacedError(this.#store.name)
  }

  async #read(): Promise<ReadKeyring> {
    const read = await readKeyring(this.#store)
    const { name } = this.#store
    if (read.stored.id !== this.id)
      throw new AverbaError('KEYS_MISMATCH', `Cannot use "${name}": it is the keyring of another log`, { path: name })
    if (authenticate(read.stored, this.#opened.mac).mac !== read.stored.mac) throw damagedKeyringError(name)
    return read
  }
}

/** How often a change of the keyring is tried while others are faster. */
const triesMax = 100

function areSameKeys(a: StoredKeys, b: StoredKeys): boolean {
  return a.secret === b.secret && isDeepStrictEqual(a.epochs, b.epochs)
}

/** Refuses to build upon a keyring whose keys are not those that something was prepared for. */
function checkSameKeys(stored: StoredKeys, prepared: StoredKeys): void {
  if (areSameKeys(stored, prepared)) return
  throw new EpochMissingError(newestOf(stored), newestOf(prepared))
}

function newestOf({ epochs }: StoredKeys): number {
  return Math.max(...Object.keys(epochs).map(Number))
}

interface ReadKeyring {
  readonly stored: StoredKeys
  readonly tag: string
}

/**
 * Reads a stored keyring without unwrapping its keys.
 *
 * @throws {AverbaError} `KEYS_MISSING` when there is none, `KEYS_MISMATCH` when it is not a keyring
 */
async function readKeyring(store: KeyringStore): Promise<ReadKeyring> {
  const { name } = store
  const read = await store.read()
  if (!read)
    throw new AverbaError('KEYS_MISSING', `Cannot open the keyring "${name}": it does not exist`, {
      hint: 'Put back the one that was created with the log: without it the personal data cannot be read',
      path: name,
    })
  return { stored: parseKeyring(read.text, name), tag: read.tag }
}

/** Creates a keyring in memory, for a log in memory. */
export function createKeyring(entropy: Entropy): Keyring {
  const { stored, epoch, secret } = newKeys(entropy)
  const opened = derive(stored, new Map([[1, createSecretKey(epoch)]]), secret)
  return new Keyring(opened, new KeyringInMemory(formatKeyring(stored)), undefined, entropy)
}

/**
 * Creates a keyring, durable when it resolves. Opens the existing one when another process was faster.
 *
 * @param keys the holder of its root key; without it, the keyring holds a new one
 * @throws {AverbaError} what `KeyringStore.replace` throws
 */
export async function createKeyringIn(store: KeyringStore, entropy: Entropy, keys?: Keys): Promise<Keyring> {
  const { stored, epoch, secret } = newKeys(entropy)
  const made = keys ? await moveUnder(keys, stored, epoch, secret) : stored
  await store.replace(formatKeyring(made), undefined)
  return openKeyring(store, entropy, keys)
}

/**
 * Opens a keyring.
 *
 * @param keys the holder of its root key; absent when the keyring holds it
 * @throws {AverbaError} `KEYS_MISSING` when it does not exist or its root key is elsewhere, `KEYS_MISMATCH` when it was
 * created under another root key, or is not a keyring or damaged
 */
export async function openKeyring(store: KeyringStore, entropy: Entropy, keys?: Keys): Promise<Keyring> {
  const { stored } = await readKeyring(store)
  const { name } = store
  const holder = stored.root === undefined ? (stored.holder ?? stored.id) : undefined
  if (keys && holder !== keys.id) {
    const cannot = `Cannot open the keyring "${name}": it is under another root key`
    const hint = holder === undefined ? 'Pass no keys: it holds its root key' : `Pass the keys with id ${holder}`
    throw new AverbaError('KEYS_MISMATCH', cannot, { hint: `${hint} instead of ${keys.id}` })
  }
  if (!keys && stored.root === undefined)
    throw new AverbaError('KEYS_MISSING', `Cannot open the keyring "${name}": it does not hold its root key`, {
      hint: 'Pass the root key: keys to openAverba, rootKey to a function on a store, --root-key-from to a command',
    })
  return new Keyring(await unwrapKeyring(stored, name, keys, entropy), store, keys, entropy)
}

/** Reports whether a keyring holds its own root key. Throws as `openKeyring` does. */
export async function holdsRootKey(store: KeyringStore): Promise<boolean> {
  return (await readKeyring(store)).stored.root !== undefined
}

/** Reads what a keyring shows without its root key, or opens it. Throws as `openKeyring` does. */
export async function inspectKeyring(
  store: KeyringStore,
  entropy: Entropy,
): Promise<Pick<Keyring, 'id' | 'epochs' | 'erased' | 'size'>> {
  const { id, root, epochs, erased = {}, size = 0 } = (await readKeyring(store)).stored
  if (root !== undefined) return openKeyring(store, entropy)
  return { id, erased, size, epochs: Object.keys(epochs).map(Number) }
}

/** A new keyring with its own root key and one epoch, and what is wrapped in it. */
function newKeys(entropy: Entropy): { stored: StoredKeys; epoch: Uint8Array; secret: Uint8Array } {
  const [root, secret, epoch] = [entropy.bytes(32), entropy.bytes(32), entropy.bytes(32)]
  const key = createSecretKey(root)
  const wrap = (plain: Uint8Array, name: string) => encodeKey(encrypt(key, plain, name, entropy))
  const stored = {
    format: 1,
    id: `keys_${Buffer.from(entropy.bytes(10)).toString('hex')}`,
    root: encodeKey(root),
    secret: wrap(secret, secretName),
    epochs: { 1: wrap(epoch, epochName(1)) },
  } as const
  return { stored: authenticate(stored, macKey(secret)), epoch, secret }
}

function hostHolder(keys: Keys): RootHolder {
  return {
    wrap: (key, name) => askHost('MISCONFIGURED', () => keys.wrap(key, name)),
    unwrap: (wrapped, name) => askHost('MISCONFIGURED', () => keys.unwrap(wrapped, name)),
  }
}

function wronglyWrapped(): AverbaError {
  return new AverbaError('KEYS_MISMATCH', 'Cannot use the keys: they do not open what they wrapped', {
    hint: 'Look at wrap and unwrap of keys: an error of their service may have been taken for its answer',
  })
}

/** The same keys under an external root key, which names the keyring. */
async function moveUnder(
  keys: Keys,
  { format }: StoredKeys,
  epoch: Uint8Array,
  secret: Uint8Array,
): Promise<StoredKeys> {
  const { wrap } = hostHolder(keys)
  const [wrapped, first] = await Promise.all([wrap(secret, secretName), wrap(epoch, epochName(1))])
  const stored = { format, id: keys.id, secret: encodeKey(wrapped), epochs: { 1: encodeKey(first) } }
  return authenticate(stored, macKey(secret))
}

/** Unwraps the keys of a keyring. Throws `KEYS_MISMATCH` when the root key does not open it. */
async function unwrapKeyring(
  stored: StoredKeys,
  name: string,
  keys: Keys | undefined,
  entropy: Entropy,
): Promise<OpenedKeyring> {
  try {
    const { unwrap } = holderOf(stored, keys, entropy)
    const epochs = new Map<number, KeyObject>()
    for (const [epoch, wrapped] of Object.entries(stored.epochs))
      epochs.set(Number(epoch), createSecretKey(await unwrap(decodeKey(wrapped), epochName(Number(epoch)))))
    return derive(stored, epochs, await unwrap(decodeKey(stored.secret), secretName))
  } catch (cause) {
    // The error may quote its keys.
    if (stored.root !== undefined) throw damagedKeyringError(name)
    if (cause instanceof AverbaError && cause.cause instanceof LateError) throw cause
    throw new AverbaError('KEYS_MISMATCH', `Cannot open the keyring "${name}": its root key did not open it`, {
      ...{ cause, hint: 'It is another root key, or its service failed: see the cause of this error' },
    })
  }
}

/** Derives the other keys from the secret of a keyring. Throws when a member was changed. */
function derive(stored: StoredKeys, epochs: Map<number, KeyObject>, secret: Uint8Array): OpenedKeyring {
  const digest = new Hmac(deriveKey(secret, 'averba digest v1'))
  const tag = new Hmac(deriveKey(secret, 'averba tags v1'))
  return { stored, epochs, digest, tag, mac: checkMac(stored, secret), signer: deriveSigner(secret) }
}

function holderOf({ root }: StoredKeys, keys: Keys | undefined, entropy: Entropy): RootHolder {
  if (root !== undefined) return ownRoot(root, entropy)
  if (keys) return hostHolder(keys)
  throw new TypeError('Cannot open a keyring without a root key: no keys were passed')
}

/** The root key that a keyring holds. */
function ownRoot(root: string | undefined, entropy: Entropy): RootHolder {
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

export function macKey(secret: Uint8Array): Hmac {
  return new Hmac(deriveKey(secret, 'averba keyring mac v1'))
}

/** Returns the key that authenticates a stored keyring. Throws when a member was changed. */
function checkMac(stored: StoredKeys, secret: Uint8Array): Hmac {
  const key = macKey(secret)
  if (authenticate(stored, key).mac !== stored.mac) throw new TypeError('The keyring was changed')
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
