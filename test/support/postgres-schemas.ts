import { grantsFor, migrationsFrom } from '../../src/index.ts'
import { locatePostgres, openPostgres } from '../../src/store/database/postgres.ts'
import type { PostgresConnection } from '../../src/store/database/postgres-connection.ts'
import { PostgresServer, withSchema } from './postgres-server.ts'

/** Empty schemas on a real PostgreSQL server: that of `AVERBA_POSTGRES_URL`, or one that is started for them. */
export class PostgresSchemas {
  readonly url: string
  readonly close: () => Promise<void>
  #schemas = 0

  private constructor({ url, close }: { url: string; close(): Promise<void> }) {
    this.url = url
    this.close = close
  }

  static async start(): Promise<PostgresSchemas> {
    const { AVERBA_POSTGRES_URL: url } = process.env
    if (url !== undefined) return new PostgresSchemas({ url, close: async () => undefined })
    const server = await PostgresServer.start()
    return new PostgresSchemas({ url: server.url, close: () => server.close() })
  }

  /** The address of a schema that does not exist yet. */
  newAddress(): string {
    this.#schemas += 1
    return withSchema(this.url, `averba_${process.pid}_${Date.now()}_${this.#schemas}`)
  }

  /**
   * Makes the tables of a log, and gives two roles their rights on it: that of its processes, and one that reads. Returns
   * the addresses with which they, and the owner of the tables, reach it.
   */
  async newGranted(): Promise<{ owner: string; process: string; reader: string }> {
    const owner = this.newAddress()
    const { pool, schema, closePool } = await locatePostgres(owner)
    const client = await pool.connect()
    const roles = { process: `${schema}-app`, reader: `${schema}-reader` }
    for (const role of Object.values(roles)) await client.query({ text: `create role "${role}" login password '1'` })
    for (const text of [...(await migrationsFrom(0, 'postgres', schema)), ...(await grantsFor({ schema, ...roles }))])
      await client.query({ text })
    client.release()
    await closePool()
    return { owner, process: withUser(owner, roles.process), reader: withUser(owner, roles.reader) }
  }

  /** Names a schema that does not exist yet, and returns a function that opens connections to it, each with a pool. */
  newSchema(): () => Promise<PostgresConnection> {
    const address = this.newAddress()
    return async () => openPostgres(await locatePostgres(address))
  }
}

/** The same address for another role. */
function withUser(address: string, user: string): string {
  const url = new URL(address)
  if (url.searchParams.has('user')) url.searchParams.set('user', user)
  else [url.username, url.password] = [user, '1']
  return url.href
}
