import { locatePostgres, openPostgres } from '../../src/store/database/postgres.ts'
import type { PostgresConnection } from '../../src/store/database/postgres-connection.ts'
import { PostgresServer, withSchema } from './postgres-server.ts'

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

  /** The address of a schema that does not exist yet. */
  newAddress(): string {
    this.#schemas += 1
    return withSchema(this.url, `averba_${process.pid}_${Date.now()}_${this.#schemas}`)
  }

  /** Names a schema that does not exist yet, and returns a function that opens connections to it, each with a pool. */
  newSchema(): () => Promise<PostgresConnection> {
    const address = this.newAddress()
    return async () => openPostgres(await locatePostgres(address))
  }

  async close(): Promise<void> {
    await this.#server?.stop()
  }
}
