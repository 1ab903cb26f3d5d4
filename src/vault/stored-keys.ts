import { AverbaError } from '../vocabulary/errors.ts'
import type { Instant } from '../vocabulary/message.ts'
import type { Hmac } from './cryptography.ts'

export interface StoredKeys {
  readonly format: 1
  /** Names the keyring, in the first event of its log too. */
  readonly id: string
  /** The root key, which wraps `secret` and the epochs. Absent when it is held elsewhere. */
  readonly root?: string | undefined
  /** The id of the root key that is held elsewhere; absent when it is that of the keyring. */
  readonly holder?: string | undefined
  /** The wrapped secret that all other keys are derived from: those of digests, tags and signatures. */
  readonly secret: string
  readonly epochs: Readonly<Record<string, string>>
  /** Erasures that are missing from backups which still open. */
  readonly erased?: RememberedErasures | undefined
  /** The number of events in the log when the keyring was last written: a shorter log is an older copy. */
  readonly size?: number | undefined
  /** A keyed digest of all other members, in base64: without the root key none of them can be changed or put back. */
  readonly mac?: string
}

/** The error for a damaged keyring. It has no cause: the parser's error may quote keys in the file. */
export function damagedKeyringError(name: string): AverbaError {
  return new AverbaError('KEYS_MISMATCH', `Cannot read the keyring "${name}": it is damaged`, {
    hint: 'Put back your backup of the keyring: without it the personal data cannot be read',
    path: name,
  })
}

/** Parses a stored keyring. Throws `damagedKeyringError` for anything else. */
export function parseKeyring(text: string, name: string): StoredKeys {
  try {
    return parse(text)
  } catch {
    throw damagedKeyringError(name)
  }
}

function parse(text: string): StoredKeys {
  const stored: unknown = JSON.parse(text)
  if (typeof stored !== 'object' || stored === null) throw new TypeError('The keyring is not a JSON object')
  // Checked member by member below.
  const { format, id, root, holder, secret, epochs, erased, size, mac } = stored as Partial<StoredKeys>
  if (format !== 1 || !epochs || typeof id !== 'string' || typeof secret !== 'string' || typeof mac !== 'string')
    throw new TypeError('The keyring lacks a member')
  const isAbsentOr = (type: string, value: unknown) => value === undefined || typeof value === type
  if (!isAbsentOr('string', root) || !isAbsentOr('string', holder)) throw new TypeError('The keyring has another root')
  if (erased !== undefined && !areErasures(erased)) throw new TypeError('The keyring has other erasures')
  if (!isAbsentOr('number', size)) throw new TypeError('The keyring has another size')
  return { format, id, root, holder, secret, epochs, erased, size, mac }
}

/** Copies a stored keyring with the digest of its other members. */
export function authenticate(stored: StoredKeys, key: Hmac): StoredKeys {
  // Always in this order: the digest is over the text. Absent members are left out.
  const { format, id, root, holder, secret, epochs, erased, size } = stored
  const members = { format, id, root, holder, secret, epochs, erased, size }
  const mac = key.digest(JSON.stringify(members)).toString('base64')
  return { ...members, mac }
}

export function formatKeyring(stored: StoredKeys): string {
  return `${JSON.stringify(stored, null, 2)}\n`
}

/** An erasure in the keyring: after a restore of an older backup it has to be repeated. */
interface RememberedErasure {
  readonly at: Instant
  /** Some parts were kept, and so was the key. */
  readonly keepsKey: boolean
  /** The newest epoch after the erasure: earlier backups are wrapped by older ones. */
  readonly epoch: number
}

export type RememberedErasures = Readonly<Record<string, RememberedErasure>>

export interface ErasureToRemember extends Omit<RememberedErasure, 'epoch'> {
  readonly subject: string
}

/** Copies a stored keyring with an erasure added. */
export function withErasure(stored: StoredKeys, { subject, ...erasure }: ErasureToRemember): StoredKeys {
  const epoch = Math.max(...Object.keys(stored.epochs).map(Number))
  return { ...stored, erased: { ...stored.erased, [subject]: { ...erasure, epoch } } }
}

/** Copies a stored keyring without the erasures that every backup which still opens contains. Lost ones stay. */
export function withoutOldErasures({ erased = {}, ...others }: StoredKeys, lost: ReadonlySet<string>): StoredKeys {
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
