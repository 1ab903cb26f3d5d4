import { existsSync, linkSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Entropy } from '../runtime/entropy.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { asFileError } from '../vocabulary/file-errors.ts'
import { replaceDurably, syncFolder, writeDurably } from './durable-file.ts'
import { areErasures, type RememberedErasures } from './remembered-erasures.ts'

/** The content of a keyring file. Without `root`, the root key is held elsewhere, and `digest` is wrapped by it too. */
export interface KeyringFile {
  readonly format: 1
  readonly id: string
  readonly root?: string
  readonly digest?: string
  /** The wrapped keys of the epochs, in base64. */
  readonly epochs: Readonly<Record<string, string>>
  /** Erasures that an existing backup may predate. */
  readonly erased?: RememberedErasures
}

/**
 * Reads a keyring file. Nothing in it is opened.
 *
 * @throws {AverbaError} `KEYS_MISSING` when there is none, `STORE_UNSAFE` when it cannot be read, `KEYS_MISMATCH` when
 * it is not a keyring
 */
export function readKeyringFile(path: string): KeyringFile {
  if (!existsSync(path)) {
    throw new AverbaError('KEYS_MISSING', `Cannot open the keyring "${path}": it is not there`, {
      hint: 'Without it the personal data in the log cannot be read. Put back the file that was made with the log',
      path,
    })
  }
  const text = readText(path)
  try {
    return parse(text)
  } catch {
    throw damaged(path)
  }
}

/** The error for a damaged keyring. Without a cause: a parser quotes the keys in the file. */
export function damaged(path: string): AverbaError {
  return new AverbaError('KEYS_MISMATCH', `Cannot read the keyring "${path}": it is damaged`, {
    hint: 'Put back your backup of the keyring: without it the personal data in the log cannot be read',
    path,
  })
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw asFileError('read', path, cause)
  }
}

function parse(text: string): KeyringFile {
  const file: unknown = JSON.parse(text)
  if (typeof file !== 'object' || file === null) throw new TypeError('The keyring is not a JSON object')
  const { format, id, root, digest, epochs, erased } = file as Partial<KeyringFile> // Checked member by member below.
  const isRooted = typeof root === 'string' || typeof digest === 'string'
  if (format !== 1 || typeof id !== 'string' || !isRooted || !epochs) {
    throw new TypeError('The keyring lacks a member')
  }
  if (erased !== undefined && !areErasures(erased)) throw new TypeError('The keyring has other erasures')
  const holder = { ...(root !== undefined && { root }), ...(digest !== undefined && { digest }) }
  return { format, id, ...holder, epochs, ...(erased !== undefined && { erased }) }
}

/**
 * Makes a keyring file with mode 0600, durable before it returns. Never replaces one: false where another process was
 * faster.
 *
 * @throws {AverbaError} `STORE_UNSAFE` when it cannot be written, or its first copy cannot be removed
 */
export function createKeyringFileAt(path: string, file: KeyringFile, entropy: Entropy): boolean {
  const temporary = `${path}.${Buffer.from(entropy.bytes(copyBytes)).toString('hex')}`
  try {
    writeDurably(temporary, textOf(file))
    // Unlike a rename, a link fails where a keyring exists.
    linkSync(temporary, path)
    syncFolder(dirname(path))
    return true
  } catch (cause) {
    if (existsSync(path)) return false
    throw new AverbaError('STORE_UNSAFE', `Cannot write the keyring "${path}"`, { cause })
  } finally {
    removeCopy(temporary)
  }
}

/** The first copies that processes left beside a keyring which died while they made it: each opens what it did then. */
export function copiesLeft(path: string): string[] {
  const name = basename(path)
  const isCopy = (each: string) => each.startsWith(`${name}.`) && endOfCopy.test(each.slice(name.length))
  try {
    return readdirSync(dirname(path))
      .filter(isCopy)
      .map(each => join(dirname(path), each))
  } catch {
    // Who may not read the folder is told of nothing in it.
    return []
  }
}

/**
 * Puts a keyring file in the place of the one that is there, durable before it returns: either is there at any time.
 * Where its name is a link, what it leads to is replaced. Only one process may do so at a time.
 *
 * @throws {AverbaError} `STORE_UNSAFE`
 */
export function replaceKeyringFile(path: string, file: KeyringFile): void {
  try {
    replaceDurably(path, textOf(file), 'new')
  } catch (cause) {
    throw new AverbaError('STORE_UNSAFE', `Cannot write the keyring "${path}"`, { cause })
  }
}

/** How a first copy is told apart from others. */
const copyBytes = 8
const endOfCopy = new RegExp(`^\\.[0-9a-f]{${copyBytes * 2}}$`)

function textOf(file: KeyringFile): string {
  return `${JSON.stringify(file, null, 2)}\n`
}

/** Removes the first copy. One left behind is a key that nobody knows of: the error names it. */
function removeCopy(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch (cause) {
    const hint = 'It is a copy of the keyring. Remove it, and open the log again'
    throw new AverbaError('STORE_UNSAFE', `Cannot remove "${path}"`, { cause, hint })
  }
}
