import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { readValue } from '../../src/store/database/sqlite-driver.ts'

/** A folder in memory, if it exists. Power loss is tested elsewhere. */
const memory = '/dev/shm'
const unbounded = 1_073_741_823

/** The disk of a run: a folder for the log, which can be made full. */
export class Disk {
  readonly #folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'averba-campaign-'))
  readonly path = join(this.#folder, 'log.sqlite')
  readonly backup = join(this.#folder, 'backup.sqlite')
  readonly #databases = new Set<DatabaseSync>()
  isFull = false

  close(database: DatabaseSync): void {
    if (database.isOpen) database.close()
    this.#databases.delete(database)
  }

  /** Registers an open connection, so that it is limited when the disk is full. */
  open(database: DatabaseSync): void {
    if (this.#databases.has(database)) return
    this.#databases.add(database)
    if (this.isFull) limit(database)
  }

  /** Renames the log from one suffix to another, or removes it. The keyring and the high-water mark stay. */
  moveLog(from: string, to: string | undefined): void {
    for (const end of ['', '-wal', '-shm']) {
      const path = `${this.path}${from}${end}`
      if (!existsSync(path)) continue
      if (to === undefined) rmSync(path)
      else renameSync(path, `${this.path}${to}${end}`)
    }
  }

  /** Makes SQLite fail as on a full disk: it may add no more pages. */
  fill(): void {
    this.isFull = true
    for (const database of this.#databases) limit(database)
  }

  empty(): void {
    this.isFull = false
    for (const database of this.#databases) if (database.isOpen) database.exec(`pragma max_page_count = ${unbounded}`)
  }

  remove(): void {
    for (const database of this.#databases) this.close(database)
    rmSync(this.#folder, { recursive: true })
  }
}

function limit(database: DatabaseSync): void {
  if (database.isOpen) database.exec(`pragma max_page_count = ${readValue(database, 'pragma page_count')}`)
}
