import { createHash } from 'node:crypto'
import Sqlite from 'better-sqlite3'
import { readHeader } from '../../src/store/header.ts'
import type { Box } from './box.ts'

/** Reads the log from the file, past the engine, and tells the checks of each event once. */
export class LogReader {
  readonly #box: Box
  readonly #digest = createHash('sha256')
  #position = 0
  #events = 0
  #rollbacks = 0
  /** Up to here the events were counted before the log was put back. */
  #counted = 0

  constructor(box: Box) {
    this.#box = box
  }

  /** How many events were recorded, those that a restore has lost included. */
  get events(): number {
    return this.#events
  }

  /** Of a log that was put back to a backup it is told from the beginning: what its checks knew was of another. */
  read(): void {
    const { backup, rollbacks } = this.#box
    if (this.#rollbacks !== rollbacks) {
      this.#position = 0
      this.#counted = backup?.position ?? 0
    }
    this.#rollbacks = rollbacks
    const database = new Sqlite(this.#box.disk.path, { readonly: true })
    try {
      const select = database.prepare('select header from event where position > ? order by position').pluck()
      for (const header of select.iterate(this.#position) as IterableIterator<string>) {
        this.#digest.update(header)
        const event = readHeader(header, {})
        this.#position += 1
        if (this.#position > this.#counted) this.#events += 1
        if (event.position !== this.#position) {
          this.#box.book.wrong(
            'dense-positions',
            `event ${this.#position} has the position ${event.position}`,
          )
        }
        this.#box.book.tell('header', header)
        this.#box.book.tell('recorded', event)
      }
    } finally {
      database.close()
    }
  }

  /** Of all that was read, byte for byte. */
  digest(): string {
    return this.#digest.copy().digest('hex')
  }
}
