import { createHash, type Hash } from 'node:crypto'
import Sqlite, { type Database } from 'better-sqlite3'
import { readHeader } from '../../src/store/log/header.ts'
import type { Box } from './box.ts'

/** Reads the log from the file, past the engine, and tells the checks of each event once. */
export class LogReader {
  readonly #box: Box
  /** Of the log up to the position. */
  #digest = createHash('sha256')
  /** Of the log up to the end of the newest backup. */
  #atBackup = createHash('sha256')
  /** Of the logs that a restore put an end to. */
  readonly #lost = createHash('sha256')
  #position = 0
  #events = 0
  #rollbacks = 0

  constructor(box: Box) {
    this.#box = box
  }

  /** How many events were recorded, those that a restore has lost included. */
  get events(): number {
    return this.#events
  }

  /** Of a log that was put back to a backup what was told stands there as it was, byte for byte, and is not told again. */
  read(): void {
    const database = new Sqlite(this.#box.disk.path, { readonly: true })
    try {
      this.#goBack(database)
      this.#readOn(database)
    } finally {
      database.close()
    }
  }

  #goBack(database: Database): void {
    const { backup, book, rollbacks } = this.#box
    if (this.#rollbacks === rollbacks) return
    this.#rollbacks = rollbacks
    this.#lost.update(this.#digest.digest())
    this.#position = backup?.position ?? 0
    this.#digest = this.#atBackup.copy()
    if (!hashUntil(database, this.#position).equals(this.#atBackup.copy().digest()))
      book.wrong('same-beginning', `up to ${this.#position} a restored log is not what it was`)
  }

  #readOn(database: Database): void {
    const { backup, book } = this.#box
    if (backup?.position === this.#position) this.#atBackup = this.#digest.copy()
    const select = database.prepare('select header from event where position > ? order by position').pluck()
    for (const header of select.iterate(this.#position) as IterableIterator<string>) {
      this.#digest.update(header)
      const event = readHeader(header, {})
      this.#position += 1
      this.#events += 1
      if (backup?.position === this.#position) this.#atBackup = this.#digest.copy()
      if (event.position !== this.#position)
        book.wrong('dense-positions', `event ${this.#position} has the position ${event.position}`)
      book.tell('header', header)
      book.tell('recorded', event)
    }
  }

  /** Of all that was read, byte for byte. */
  digest(): string {
    return this.#lost.copy().update(this.#digest.copy().digest()).digest('hex')
  }
}

/** Of the log as it stands there, up to a position. */
function hashUntil(database: Database, position: number): Buffer {
  const digest: Hash = createHash('sha256')
  const select = database.prepare('select header from event where position <= ? order by position').pluck()
  for (const header of select.iterate(position) as IterableIterator<string>) digest.update(header)
  return digest.digest()
}
