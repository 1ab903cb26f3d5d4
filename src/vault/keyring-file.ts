import { existsSync, linkSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Entropy } from '../runtime/entropy.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { withFileErrors } from '../vocabulary/file-errors.ts'
import type { Instant } from '../vocabulary/message.ts'
import type { Hmac } from './cryptography.ts'
import { overwrite, replaceDurably, syncToDisk, writeDurably } from './durable-file.ts'

/** The content of a keyring file. Keys are in base64. */
export interface KeyringFile {
  readonly format: 1
  /** Names the keyring, in the first event of its log too. */
  readonly id: string
  /** The root key, which wraps `secret` and the epochs. Absent when it is held elsewhere. */
  readonly root?: string | undefined
  /** The id of the root key that is held elsewhere; absent when it is that of the keyring. */
  readonly holder?: string | undefined
  /** The wrapped secret that all other keys are derived from: those of digests, tags and signatures. */
  readonly secret: string
  /** The wrapped keys of the epochs. */
  readonly epochs: Readonly<Record<string, string>>
  /** Erasures that are missing from backups which still open. */
  readonly erased?: RememberedErasures | undefined
  /** The number of events in the log when the keyring was last written: a shorter log is an older copy. */
  readonly size?: number | undefined
  /** A keyed digest of all other members, in base64: without the root key none of them can be changed or put back. */
  readonly mac?: string
}

/**
 * Reads a keyring file without unwrapping its keys.
 *
 * @throws {AverbaError} `KEYS_MISSING` when it does not exist, `STORE_UNSAFE` when it cannot be read, `KEYS_MISMATCH`
 * when it is not a keyring
 */
export function readKeyringFile(path: string): KeyringFile {
  if (!existsSync(path)) {
    throw new AverbaError('KEYS_MISSING', `Cannot open the keyring "${path}": it does not exist`, {
      hint: 'Put back the file that was created with the log: without it the personal data cannot be read',
      path,
    })
  }
  const text = withFileErrors('read', path, () => readFileSync(path, 'utf8'))
  try {
    return parseKeyring(text)
  } catch {
    throw damagedKeyringError(path)
  }
}

/** The error for a damaged keyring. It has no cause: the parser's error may quote keys in the file. */
export function damagedKeyringError(path: string): AverbaError {
  return new AverbaError('KEYS_MISMATCH', `Cannot read the keyring "${path}": it is damaged`, {
    hint: 'Put back your backup of the keyring: without it the personal data cannot be read',
    path,
  })
}

function parseKeyring(text: string): KeyringFile {
  const file: unknown = JSON.parse(text)
  if (typeof file !== 'object' || file === null) throw new TypeError('The keyring is not a JSON object')
  // Checked member by member below.
  const { format, id, root, holder, secret, epochs, erased, size, mac } = file as Partial<KeyringFile>
  if (format !== 1 || !epochs || typeof id !== 'string' || typeof secret !== 'string' || typeof mac !== 'string')
    throw new TypeError('The keyring lacks a member')
  const isAbsentOr = (type: string, value: unknown) => value === undefined || typeof value === type
  if (!isAbsentOr('string', root) || !isAbsentOr('string', holder)) throw new TypeError('The keyring has another root')
  if (erased !== undefined && !areErasures(erased)) throw new TypeError('The keyring has other erasures')
  if (!isAbsentOr('number', size)) throw new TypeError('The keyring has another size')
  return { format, id, root, holder, secret, epochs, erased, size, mac }
}

/**
 * Creates a keyring file of mode 0600, durable when it returns. Never replaces one: false when it exists already.
 *
 * @throws {AverbaError} `STORE_UNSAFE` when it cannot be written, or its temporary copy cannot be removed
 */
export function createKeyringFileAt(path: string, file: KeyringFile, entropy: Entropy): boolean {
  const temporary = `${path}.${Buffer.from(entropy.bytes(copyBytes)).toString('hex')}`
  try {
    writeDurably(temporary, serializeKeyring(file))
    // Unlike a rename, a link fails when a keyring exists.
    linkSync(temporary, path)
    syncToDisk(dirname(path), 'folder')
    return true
  } catch (cause) {
    if (existsSync(path)) return false
    throw new AverbaError('STORE_UNSAFE', `Cannot write the keyring "${path}"`, { cause })
  } finally {
    removeCopy(temporary)
  }
}

/** Lists the copies that crashed processes left beside a keyring, temporary or former. Each one holds its keys. */
export function findLeftoverCopies(path: string): string[] {
  const name = basename(path)
  const isCopy = (file: string) =>
    file === `${name}.former` || (file.startsWith(`${name}.`) && copySuffix.test(file.slice(name.length)))
  try {
    return readdirSync(dirname(path))
      .filter(isCopy)
      .map(file => join(dirname(path), file))
  } catch {
    return [] // This process may not read the folder.
  }
}

/**
 * Replaces a keyring file atomically, durable when it returns, and overwrites the former one: it may open data that is
 * erased now. For a link, the target is replaced. Only one process may do so at a time.
 *
 * @throws {AverbaError} `STORE_UNSAFE` when it cannot be written
 */
export function replaceKeyringFile(path: string, file: KeyringFile): void {
  try {
    replaceDurably(path, serializeKeyring(file), 'new', overwrite)
  } catch (cause) {
    throw new AverbaError('STORE_UNSAFE', `Cannot write the keyring "${path}"`, { cause })
  }
}

const copyBytes = 8
const copySuffix = new RegExp(`^\\.[0-9a-f]{${copyBytes * 2}}$`)

/** Copies a keyring file with the digest of its other members. */
export function authenticate(file: KeyringFile, key: Hmac): KeyringFile {
  // Always in this order: the digest is over the text. Absent members are left out.
  const { format, id, root, holder, secret, epochs, erased, size } = file
  const members = { format, id, root, holder, secret, epochs, erased, size }
  const mac = key.digest(JSON.stringify(members)).toString('base64')
  return { ...members, mac }
}

function serializeKeyring(file: KeyringFile): string {
  return `${JSON.stringify(file, null, 2)}\n`
}

/** Removes the temporary copy. The error names it, because it contains keys. */
function removeCopy(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch (cause) {
    const hint = 'It is a copy of the keyring. Remove it and open the log again'
    throw new AverbaError('STORE_UNSAFE', `Cannot remove "${path}"`, { cause, hint })
  }
}

/** An erasure in the keyring file: after a restore of an older backup it has to be repeated. */
interface RememberedErasure {
  readonly at: Instant
  /** Some parts were kept, and so was the key. */
  readonly keepsKey: boolean
  /** The newest epoch after the erasure: earlier backups are wrapped by older ones. */
  readonly epoch: number
}

/** By subject. */
export type RememberedErasures = Readonly<Record<string, RememberedErasure>>

/** An erasure to add to the keyring file. */
export interface ErasureToRemember extends Omit<RememberedErasure, 'epoch'> {
  readonly subject: string
}

/** Copies a keyring file with an erasure added. */
export function withErasure(file: KeyringFile, { subject, ...erasure }: ErasureToRemember): KeyringFile {
  const epoch = Math.max(...Object.keys(file.epochs).map(Number))
  return { ...file, erased: { ...file.erased, [subject]: { ...erasure, epoch } } }
}

/** Copies a keyring file without the erasures that every backup which still opens contains. Lost ones stay. */
export function withoutOldErasures({ erased = {}, ...others }: KeyringFile, lost: ReadonlySet<string>): KeyringFile {
  const oldest = Math.min(...Object.keys(others.epochs).map(Number))
  const needed = Object.entries(erased).filter(([subject, { epoch }]) => epoch > oldest || lost.has(subject))
  return needed.length === 0 ? others : { ...others, erased: Object.fromEntries(needed) }
}

function areErasures(value: unknown): value is RememberedErasures {
  return typeof value === 'object' && value !== null && Object.values(value).every(isErasure)
}

function isErasure(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { at, keepsKey, epoch }: { at?: unknown; keepsKey?: unknown; epoch?: unknown } = value
  return typeof at === 'string' && typeof keepsKey === 'boolean' && Number.isInteger(epoch)
}
