import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { AverbaError } from '../errors.ts'
import { endOfLinks } from '../vault/durable-file.ts'

interface OwnFile {
  readonly path: string
  id: string | undefined
}

/**
 * The files of an open store: the file itself, its journal and the index of that. What is written into one that has no
 * name any more is lost: nothing may be acknowledged that stands there. While a connection is open, SQLite itself
 * replaces none of them.
 */
export class OwnFiles {
  readonly #store: string
  readonly #own: readonly OwnFile[]

  /** Notes the files as they are. Where they are does not change with the folder of the process. */
  constructor(store: string) {
    this.#store = store
    const whole = resolve(store)
    const real = endOfLinks(whole)
    this.#own = [whole, `${real}-wal`, `${real}-shm`].map(path => ({ path, id: idAt(path) }))
  }

  /** @throws {AverbaError} `STORE_UNSAFE` when one of them is not the file that it was */
  check(): void {
    for (const own of this.#own) {
      const id = idAt(own.path)
      if (id === undefined || id === own.id) continue
      // The journal comes with the first transaction.
      if (own.id) throw this.#foul()
      own.id = id
    }
  }

  #foul(): AverbaError {
    const why = `Cannot write "${this.#store}": its file, or its -wal or -shm, was moved, replaced or deleted`
    const hint =
      'Stop this process, and put the file in its place: nothing is recorded until it is opened again'
    return new AverbaError('STORE_UNSAFE', why, { hint, path: this.#store })
  }
}

/** Which file has a path now: empty where there is none, `undefined` where this process may no longer look. */
function idAt(path: string): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    return found ? `${found.dev} ${found.ino}` : ''
  } catch {
    return undefined
  }
}
