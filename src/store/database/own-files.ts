import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { monotonicClock, systemClock } from '../../runtime/clock.ts'
import { endOfLinks } from '../../vault/durable-file.ts'
import { AverbaError } from '../../vocabulary/errors.ts'

interface OwnFile {
  readonly path: string
  id: string | undefined
}

/** Folders whose time of change does not change with what is in them are not believed for longer. */
const believedMs = 1_000
/** Linux before 6.13 counts such times in ticks of up to 10 ms: what changes in one tick bears one time. */
const tickMs = 20

/**
 * The files of an open store: the file itself, its journal and the index of that. What is written into one that has no
 * name any more is lost: nothing may be acknowledged that stands there. While a connection is open, SQLite itself
 * replaces none of them.
 */
export class OwnFiles {
  readonly #store: string
  readonly #own: readonly OwnFile[]
  readonly #folders: readonly string[]
  readonly #idAt: typeof idAt
  readonly #stopwatch = monotonicClock(systemClock)
  #seen = ''
  #lookedAt = Number.NEGATIVE_INFINITY

  /** Notes the files as they are. Where they are does not change with the folder of the process. */
  constructor(store: string, look = idAt) {
    this.#store = store
    this.#idAt = look
    const whole = resolve(store)
    const real = endOfLinks(whole)
    this.#own = [whole, `${real}-wal`, `${real}-shm`].map(path => ({ path, id: look(path) }))
    this.#folders = [...new Set([dirname(whole), dirname(real)])]
  }

  /**
   * Looks at the folders first: Linux writes a file whose times were read more slowly the next time, and the journal is
   * written by each transaction.
   *
   * @throws {AverbaError} `STORE_UNSAFE` when one of them is not the file that it was
   */
  check(): void {
    const now = this.#stopwatch()
    const changes = this.#folders.map(changeOf)
    const seen = changes.map(({ place, atMs }) => `${place} ${atMs}`).join()
    if (seen === this.#seen && now - this.#lookedAt < believedMs) return
    const isOver = changes.every(({ atMs }) => Math.abs(systemClock.now() - atMs) > tickMs)
    this.#checkEach()
    this.#seen = isOver ? seen : ''
    this.#lookedAt = now
  }

  #checkEach(): void {
    for (const own of this.#own) {
      const id = this.#idAt(own.path)
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

/** Which folder it is, and when something in it got another name, or none. */
function changeOf(folder: string): { place: string; atMs: number } {
  try {
    // Not the time that a copying program may set back.
    const { dev, ino, ctimeMs } = statSync(folder)
    return { place: `${dev} ${ino}`, atMs: ctimeMs }
  } catch {
    return { place: '', atMs: 0 }
  }
}

/** Which file has a path now: empty where there is none, `undefined` where this process may no longer look. */
export function idAt(path: string): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    return found ? `${found.dev} ${found.ino}` : ''
  } catch {
    return undefined
  }
}
