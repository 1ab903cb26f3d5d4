import { existsSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'

/** A folder in memory where there is one: what a disk loses without power is another test's business. */
const memory = '/dev/shm'
const unbounded = 1_073_741_823

/** The disk of a run: a folder with the log, which can be full. */
export class Disk {
  readonly #folder: string
  readonly #databases = new Set<Database>()
  #isFull = false

  constructor() {
    const isThere = statSync(memory, { throwIfNoEntry: false })?.isDirectory() ?? false
    this.#folder = mkdtempSync(join(isThere ? memory : tmpdir(), 'averba-campaign-'))
  }

  get isFull(): boolean {
    return this.#isFull
  }

  get path(): string {
    return join(this.#folder, 'log.sqlite')
  }

  /** Where a backup stands. */
  get backup(): string {
    return join(this.#folder, 'backup.sqlite')
  }

  /** Ends a connection. */
  close(database: Database): void {
    if (database.open) database.close()
    this.#databases.delete(database)
  }

  /** A connection that is in use. */
  open(database: Database): void {
    if (this.#databases.has(database)) return
    this.#databases.add(database)
    if (this.#isFull) limit(database)
  }

  /** Removes the log, or puts it aside under another ending, and takes it from there. The keyring and the mark stay. */
  moveLog(from: string, to: string | undefined): void {
    for (const end of ['', '-wal', '-shm']) {
      const path = `${this.path}${from}${end}`
      if (!existsSync(path)) continue
      if (to === undefined) rmSync(path)
      else renameSync(path, `${this.path}${to}${end}`)
    }
  }

  removeBackup(): void {
    rmSync(this.backup, { force: true })
  }

  /** From now on SQLite finds no room for another page, and says so as on any full disk. */
  fill(): void {
    this.#isFull = true
    for (const database of this.#databases) limit(database)
  }

  empty(): void {
    this.#isFull = false
    for (const database of this.#databases)
      if (database.open) database.pragma(`max_page_count = ${unbounded}`)
  }

  remove(): void {
    for (const database of this.#databases) this.close(database)
    rmSync(this.#folder, { recursive: true })
  }
}

function limit(database: Database): void {
  if (database.open) database.pragma(`max_page_count = ${database.pragma('page_count', { simple: true })}`)
}
