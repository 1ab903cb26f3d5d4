import { locatePostgres } from '../src/store/database/postgres.ts'
import type { PostgresClient } from '../src/store/database/postgres-pool.ts'
import { createTables } from '../src/store/database/schema.ts'
import { withSchema } from '../test/support/postgres-server.ts'

const rowsAtOnce = 64

/** Inserts rows of events into a table like that of averba, 64 at a time, each insert a transaction. */
export class RawPostgres {
  readonly #client: PostgresClient
  readonly #close: () => Promise<void>
  readonly #header: string
  #position = 0

  private constructor(client: PostgresClient, header: string, close: () => Promise<void>) {
    this.#client = client
    this.#header = header
    this.#close = close
  }

  static async open(url: string, schema: string, header: string): Promise<RawPostgres> {
    const { pool, closePool } = await locatePostgres(withSchema(url, schema))
    const client = await pool.connect()
    await client.query({ text: `create schema ${schema}` })
    await client.query({ text: `set search_path to ${schema}` })
    for (const text of createTables('postgres')) await client.query({ text })
    await client.query({ text: `insert into stream select n, 'consent-' || n, 1, '' from generate_series(1, 64) n` })
    return new RawPostgres(client, header, async () => {
      client.release(true)
      await closePool()
    })
  }

  async insert(count: number): Promise<void> {
    for (let n = 0; n < count; n += rowsAtOnce) {
      const values: unknown[] = []
      for (let i = 0; i < rowsAtOnce; i++) {
        this.#position += 1
        const version = Math.ceil(this.#position / rowsAtOnce)
        values.push(this.#position, i + 1, version, 'consent.amended', this.#header, leaf, tag)
      }
      await this.#client.query({ text: insertMany, values })
    }
  }

  close(): Promise<void> {
    return this.#close()
  }
}

const leaf = Buffer.alloc(32, 7)
const tag = 'b3ga8dLcDvphh4C97wQM5o'
const columns = 7
const row = (i: number) => `(${Array.from({ length: columns }, (_, n) => `$${i * columns + n + 1}`).join(', ')})`
const insertMany = `insert into event (position, stream, version, type, header, leaf, tag)
  values ${Array.from({ length: rowsAtOnce }, (_, i) => row(i)).join(', ')}`
