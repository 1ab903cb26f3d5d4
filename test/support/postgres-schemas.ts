import { createPool, openPostgres } from '../../src/store/database/postgres.ts'
import type { PostgresConnection } from '../../src/store/database/postgres-connection.ts'
import { PostgresServer } from './postgres-server.ts'

/** Empty schemas on a real PostgreSQL server: that of `AVERBA_POSTGRES_URL`, or one that is started for them. */
export class PostgresSchemas {
  readonly url: string
  readonly #server: PostgresServer | undefined
  #schemas = 0

  private constructor(url: string, server?: PostgresServer) {
    this.url = url
    this.#server = server
  }

  static async start(): Promise<PostgresSchemas> {
    const { AVERBA_POSTGRES_URL: url } = process.env
    if (url !== undefined) return new PostgresSchemas(url)
    const server = await PostgresServer.start()
    return new PostgresSchemas(server.url, server)
  }

  /** Names a schema that does not exist, and returns a function that opens connections to it, each with its own pool. */
  newSchema(): () => Promise<PostgresConnection> {
    this.#schemas += 1
    const schema = `averba_${process.pid}_${Date.now()}_${this.#schemas}`
    return async () => openPostgres({ pool: await createPool(this.url), schema })
  }

  async close(): Promise<void> {
    await this.#server?.stop()
  }
}
