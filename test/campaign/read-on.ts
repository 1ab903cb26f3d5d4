import { createHash, type Hash } from 'node:crypto'
import { HeaderReader, type StoredHeader } from '../../src/store/log/header.ts'
import type { Sqlite } from '../support/sqlite.ts'
import { useDatabase } from '../support/use-database.ts'
import type { SimulatedHost } from './simulated-host.ts'

const headers = new HeaderReader({})

/** Reads the log from the file, without the engine, and reports each event once to the checks. */
export class LogReader {
  readonly #simulated: SimulatedHost
  /** Over the log up to the position. */
  #digest = createHash('sha256')
  /** Over the log up to the end of the newest backup. */
  #atBackup = createHash('sha256')
  /** Over the logs that restores replaced. */
  readonly #lost = createHash('sha256')
  #position = 0
  #events = 0
  #rollbacks = 0

  constructor(simulated: SimulatedHost) {
    this.#simulated = simulated
  }

  /** The number of recorded events, including those that a restore lost. */
  get events(): number {
    return this.#events
  }

  /** Reports new events. After a restore, checks that the log up to the backup is unchanged, and continues from there. */
  read(): void {
    const readAll = (database: Sqlite) => {
      this.#goBack(database)
      this.#readOn(database)
    }
    useDatabase(this.#simulated.disk.path, readAll, { readOnly: true })
  }

  #goBack(database: Sqlite): void {
    const { backup, runRecord, rollbacks } = this.#simulated
    if (this.#rollbacks === rollbacks) return
    this.#rollbacks = rollbacks
    this.#lost.update(this.#digest.digest())
    this.#position = backup?.position ?? 0
    this.#digest = this.#atBackup.copy()
    if (!hashUntil(database, this.#position).equals(this.#atBackup.copy().digest()))
      runRecord.fail('same-beginning', `up to ${this.#position} a restored log differs from the original`)
  }

  #readOn(database: Sqlite): void {
    const { backup, runRecord } = this.#simulated
    if (backup?.position === this.#position) this.#atBackup = this.#digest.copy()
    const select = database.prepare('select position, header, tag from event where position > ? order by position')
    for (const stored of select.iterate(this.#position) as IterableIterator<StoredHeader>) {
      const { header } = stored
      this.#digest.update(header)
      const event = headers.read(stored)
      this.#position += 1
      this.#events += 1
      if (backup?.position === this.#position) this.#atBackup = this.#digest.copy()
      if (event.position !== this.#position)
        runRecord.fail('dense-positions', `event ${this.#position} has the position ${event.position}`)
      runRecord.notify('header', header)
      runRecord.notify('recorded', event)
    }
  }

  /** The digest over all headers that were read. */
  digest(): string {
    return this.#lost.copy().update(this.#digest.copy().digest()).digest('hex')
  }
}

/** The digest over the headers in the file up to a position. */
function hashUntil(database: Sqlite, position: number): Buffer {
  const digest: Hash = createHash('sha256')
  const select = database.prepare('select header from event where position <= ? order by position')
  for (const { header } of select.iterate(position)) digest.update(String(header))
  return digest.digest()
}
