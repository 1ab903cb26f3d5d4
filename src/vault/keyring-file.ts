import { existsSync, linkSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Entropy } from '../runtime/entropy.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { withFileErrors } from '../vocabulary/file-errors.ts'
import { overwrite, replaceDurably, syncToDisk, writeDurably } from './durable-file.ts'
import type { KeyringStore, KeyringText } from './keyring-store.ts'

/** Runs work while no other process changes the file. */
export type Exclusively = <T>(work: () => T) => Promise<T>

/** Keeps a keyring in a file of mode 0600, which every change replaces. Its tag is its text. */
export class KeyringFile implements KeyringStore {
  readonly name: string
  readonly #entropy: Entropy
  readonly #exclusively: Exclusively

  /** @param exclusively by default for a file that no other process changes */
  constructor(path: string, entropy: Entropy, exclusively: Exclusively = async work => work()) {
    this.name = path
    this.#entropy = entropy
    this.#exclusively = exclusively
  }

  /** @throws {AverbaError} `STORE_UNSAFE` when it cannot be read */
  async read(): Promise<KeyringText | undefined> {
    const text = this.#readText()
    return text === undefined ? undefined : { text, tag: text }
  }

  /** @throws {AverbaError} `STORE_UNSAFE` when it cannot be written, or its temporary copy cannot be removed */
  async replace(text: string, ifTag: string | undefined): Promise<boolean> {
    let isReplaced = false
    try {
      return await this.#exclusively(() => {
        if (this.#readText() !== ifTag) return false
        if (ifTag === undefined) return this.#create(text)
        replaceFile(this.name, text, this.#copySuffix())
        isReplaced = true
        return true
      })
    } catch (error) {
      // The lock was lost afterwards: the change is made.
      if (isReplaced) return true
      throw error
    }
  }

  #copySuffix(): string {
    return Buffer.from(this.#entropy.bytes(copyBytes)).toString('hex')
  }

  #readText(): string | undefined {
    const path = this.name
    if (!existsSync(path)) return undefined
    for (let tries = 1; ; tries++) {
      const text = withFileErrors('read', path, () => readFileSync(path, 'utf8'))
      // Another process replaced it after it was opened here, and overwrote the former one.
      if (!text.includes('\0') || tries === readsMax) return text
    }
  }

  /** Creates the file, durable when it returns. Never replaces one: false when it exists already. */
  #create(text: string): boolean {
    const path = this.name
    const temporary = `${path}.${this.#copySuffix()}`
    try {
      writeDurably(temporary, text)
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
}

/** Replaces the file atomically, and overwrites the former one: it may open data that is erased now. */
function replaceFile(path: string, text: string, suffix: string): void {
  try {
    replaceDurably(path, text, suffix, overwrite)
  } catch (cause) {
    throw new AverbaError('STORE_UNSAFE', `Cannot write the keyring "${path}"`, { cause })
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

const readsMax = 10
const copyBytes = 8
const copySuffix = new RegExp(`^\\.[0-9a-f]{${copyBytes * 2}}$`)

/** Removes the temporary copy. The error names it, because it contains keys. */
function removeCopy(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch (cause) {
    const hint = 'It is a copy of the keyring. Remove it and open the log again'
    throw new AverbaError('STORE_UNSAFE', `Cannot remove "${path}"`, { cause, hint })
  }
}
