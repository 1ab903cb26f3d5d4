import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'

/** A folder in memory where there is one: what a disk loses without power is another test's business. */
const memory = '/dev/shm'
const unbounded = 1_073_741_823

/** The disk of a run: a folder with the log, which can be full. */
export class Disk {
  readonly #folder: string
  #database: Database | undefined
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

  /** Lets go of the connection of a process that is gone, as the system does: what it had not committed is undone. */
  release(): void {
    if (this.#database?.open) this.#database.close()
    this.#database = undefined
  }

  /** The connection that is in use. */
  open(database: Database): void {
    if (database === this.#database) return
    this.#database = database
    if (this.#isFull) this.fill()
  }

  /** From now on SQLite finds no room for another page, and says so as on any full disk. */
  fill(): void {
    this.#isFull = true
    this.#database?.pragma(`max_page_count = ${this.#database.pragma('page_count', { simple: true })}`)
  }

  empty(): void {
    this.#isFull = false
    if (this.#database?.open) this.#database.pragma(`max_page_count = ${unbounded}`)
  }

  remove(): void {
    this.release()
    rmSync(this.#folder, { recursive: true })
  }
}
