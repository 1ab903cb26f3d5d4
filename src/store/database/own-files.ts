import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { monotonicClock, systemClock } from '../../runtime/clock.ts'
import { resolveLinks } from '../../vault/durable-file.ts'
import { AverbaError } from '../../vocabulary/errors.ts'

interface OwnFile {
  readonly path: string
  id: string | undefined
}

/** The files are checked at least this often, because a folder's ctime does not show every replacement. */
const recheckMs = 1_000
/** Linux before 6.13 counts ctime in ticks of up to 10 ms: two changes in one tick have the same time. */
const tickMs = 20

/**
 * Watches the files of an open store: the file, its journal, and the journal's index. What is written into a moved or
 * deleted file is lost, so no write to one may be acknowledged. SQLite itself replaces none of them while it is open.
 */
export class OwnFiles {
  readonly #store: string
  readonly #files: readonly OwnFile[]
  readonly #folders: readonly string[]
  readonly #readId: typeof readFileId
  readonly #stopwatch = monotonicClock(systemClock)
  #folderState = ''
  #checkedAt = Number.NEGATIVE_INFINITY

  /** Remembers the present files by absolute path: the process may change its working directory. */
  constructor(store: string, readId = readFileId) {
    this.#store = store
    this.#readId = readId
    const absolute = resolve(store)
    const real = resolveLinks(absolute)
    this.#files = [absolute, `${real}-wal`, `${real}-shm`].map(path => ({ path, id: readId(path) }))
    this.#folders = [...new Set([dirname(absolute), dirname(real)])]
  }

  /**
   * Checks the folders first: on Linux, reading the times of a file slows down its next write, and every transaction
   * writes the journal.
   *
   * @throws {AverbaError} `STORE_UNSAFE` when a file was moved, replaced or deleted
   */
  check(): void {
    const now = this.#stopwatch()
    const changes = this.#folders.map(readFolderChange)
    const state = changes.map(({ folderId, atMs }) => `${folderId} ${atMs}`).join()
    if (state === this.#folderState && now - this.#checkedAt < recheckMs) return
    const isTickOver = changes.every(({ atMs }) => Math.abs(systemClock.now() - atMs) > tickMs)
    this.#checkEach()
    this.#folderState = isTickOver ? state : ''
    this.#checkedAt = now
  }

  #checkEach(): void {
    for (const file of this.#files) {
      const id = this.#readId(file.path)
      if (id === undefined || id === file.id) continue
      // A file without an id is new: the first transaction creates the journal.
      if (file.id) throw this.#replacedError()
      file.id = id
    }
  }

  #replacedError(): AverbaError {
    const why = `Cannot write "${this.#store}": its file, or its -wal or -shm, was moved, replaced or deleted`
    const hint = 'Stop this process and put the file back: nothing is recorded until the log is opened again'
    return new AverbaError('STORE_UNSAFE', why, { hint, path: this.#store })
  }
}

/** Identifies a folder, and reads when an entry in it was last added, renamed or removed. */
function readFolderChange(folder: string): { folderId: string; atMs: number } {
  try {
    // Not mtime: copying programs may set it back.
    const { dev, ino, ctimeMs } = statSync(folder)
    return { folderId: `${dev} ${ino}`, atMs: ctimeMs }
  } catch {
    return { folderId: '', atMs: 0 }
  }
}

/** Identifies the file at a path: empty when it is missing, `undefined` when this process may not read it. */
export function readFileId(path: string): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    return found ? `${found.dev} ${found.ino}` : ''
  } catch {
    return undefined
  }
}
