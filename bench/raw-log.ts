import Sqlite from 'better-sqlite3'

/** A row of the log's table, as averba writes it. */
export type RawRow = [
  position: number,
  stream: number,
  version: number,
  type: string,
  header: string,
  leaf: Buffer,
  tag: string,
]

/** As long as the tag of an event. */
const tag = 'x'.repeat(22)

/** What the rows of a log are like: everything but their keys, which ascend. */
export interface RawRows {
  /** Every row's type and header. */
  readonly type: string
  readonly header: string
  /** How many streams are written to in turn, and how many events each gets before the next one begins. */
  readonly callers: number
  readonly eventsPerStream: number
}

/**
 * The limit that everything is measured against: the same table with the same keys, filled by better-sqlite3 alone with the
 * same rows, with nothing checked, hashed or remembered, and as durable (`synchronous=FULL`).
 */
export class RawLog {
  readonly #database: Sqlite.Database
  readonly #insertAll: (rows: readonly RawRow[]) => void
  readonly #rows: RawRows
  #position = 0

  constructor(path: string, rows: RawRows) {
    this.#rows = rows
    this.#database = new Sqlite(path)
    for (const pragma of ['journal_mode = wal', 'synchronous = full', 'foreign_keys = on']) {
      this.#database.pragma(pragma)
    }
    this.#database.exec(`create table stream (key integer primary key, name text not null unique) strict;
      create table event (position integer primary key, stream integer not null references stream (key),
        version integer not null, type text not null, header text not null, leaf blob not null, tag text not null,
        unique (stream, version)) strict`)
    const addStream = this.#database.prepare('insert into stream (key, name) values (?, ?)')
    const addEvent = this.#database.prepare('insert into event values (?, ?, ?, ?, ?, ?, ?)')
    this.#insertAll = this.#database.transaction((rows: readonly RawRow[]) => {
      for (const row of rows) {
        if (row[2] === 1) addStream.run(row[1], `consent-${String(row[1]).padStart(26, '0')}`)
        addEvent.run(...row)
      }
    })
  }

  /** Inserts so many rows, with one transaction for all callers. */
  insert(count: number): void {
    const { type, header, callers, eventsPerStream } = this.#rows
    for (let done = 0; done < count; done += callers) {
      const rows: RawRow[] = []
      for (let i = 0; i < callers; i++) {
        const n = this.#position++
        const turn = Math.floor(n / callers)
        const stream = Math.floor(turn / eventsPerStream) * callers + (n % callers) + 1
        rows.push([n + 1, stream, (turn % eventsPerStream) + 1, type, header, Buffer.alloc(32, n), tag])
      }
      this.#insertAll(rows)
    }
  }

  close(): void {
    this.#database.close()
  }
}
