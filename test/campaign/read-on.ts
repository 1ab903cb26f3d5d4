import { createHash } from 'node:crypto'
import { HeaderReader, type StoredHeader } from '../../src/store/log/header.ts'
import type { Sqlite } from '../support/sqlite.ts'
import { useDatabase } from '../support/use-database.ts'
import type { SimulatedHost } from './simulated-host.ts'

const headers = new HeaderReader({})
const select = 'select position, header, tag from event where position > ? and position <= ? order by position'

/** Reads the log from the file, without the engine, and reports each event once to the checks. */
export class LogReader {
  readonly #simulated: SimulatedHost
  /** Over the log as it was read. */
  #digest = createHash('sha256')
  /** Over the log up to the end of the newest backup. */
  #atBackup = createHash('sha256')
  /** Over the logs that restores replaced. */
  readonly #lost = createHash('sha256')
  #rollbacks = 0
  /** The number of recorded events, including those that a restore lost. */
  events = 0

  constructor(simulated: SimulatedHost) {
    this.#simulated = simulated
  }

  /** Reports new events. After a restore, checks that the log up to the backup is unchanged, and continues from there. */
  read(): void {
    const readAll = (database: Sqlite) => {
      if (this.#rollbacks < this.#simulated.rollbacks) this.#goBack(database)
      this.#readOn(database)
    }
    useDatabase(this.#simulated.disk.path, readAll, { readOnly: true })
  }

  #goBack(database: Sqlite): void {
    const { backup, runRecord, rollbacks } = this.#simulated
    this.#rollbacks = rollbacks
    this.#lost.update(this.#digest.digest())
    const end = backup?.position ?? 0
    runRecord.log.splice(end)
    this.#digest = this.#atBackup.copy()
    const found = createHash('sha256')
    for (const { header } of database.prepare(select).iterate(0, end)) found.update(String(header))
    if (!found.digest().equals(this.#atBackup.copy().digest()))
      runRecord.fail('same-beginning', `up to ${end} a restored log differs from the original`)
  }

  #readOn(database: Sqlite): void {
    const { backup, runRecord } = this.#simulated
    const { log } = runRecord
    if (backup?.position === log.length) this.#atBackup = this.#digest.copy()
    const rows = database.prepare(select).iterate(log.length, Number.MAX_SAFE_INTEGER)
    for (const stored of rows as IterableIterator<StoredHeader>) {
      const event = headers.read(stored)
      this.#digest.update(stored.header)
      this.events += 1
      const position = log.push(event)
      if (backup?.position === position) this.#atBackup = this.#digest.copy()
      if (event.position !== position)
        runRecord.fail('dense-positions', `event ${position} has the position ${event.position}`)
      runRecord.notify('header', stored.header)
      runRecord.notify('recorded', event)
    }
  }

  digest(): string {
    return this.#lost.copy().update(this.#digest.copy().digest()).digest('hex')
  }
}
