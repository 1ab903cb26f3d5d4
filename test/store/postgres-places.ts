import { vi } from 'vitest'
import { locatePostgres, openPostgres } from '../../src/store/database/postgres.ts'
import type { PostgresClient, PostgresQuery } from '../../src/store/database/postgres-pool.ts'
import { closeAtEnd } from '../support/close-at-end.ts'
import { Place, type Through } from './conformance/place.ts'

/** Opens stores at an address on a server, each like another process. */
export const placeAt = (address: string, through?: Through) =>
  new Place(async () => openPostgres(await locatePostgres(address)), through)

/** A session of somebody else on a server, in the schema of an address, until the test ends. */
export async function openSession(address: string) {
  const { pool, schema, closePool } = await locatePostgres(address)
  const client = await pool.connect()
  const query = async (text: string) => (await client.query({ text })).rows as Record<string, unknown>[]
  await query(`set search_path to "${schema}"`)
  const close = () => {
    client.release(true)
    return closePool()
  }
  return closeAtEnd({ client, query, schema, close })
}

/** A client of a pool that does something else with some queries. */
export const withQuery = (client: PostgresClient, query: PostgresClient['query']): PostgresClient => ({
  ...{ query, on: client.on.bind(client), off: client.off.bind(client), release: client.release.bind(client) },
})

/** A pool of a host that does something else with some queries, until the test ends. */
export async function poolWith(address: string, ask: (client: PostgresClient, asked: PostgresQuery) => Asking) {
  const { pool, closePool } = await locatePostgres(address)
  closeAtEnd({ close: closePool })
  const connect = async () => {
    const client = await pool.connect()
    return withQuery(client, asked => ask(client, asked))
  }
  return { connect, options: { pipeline: true } }
}
type Asking = ReturnType<PostgresClient['query']>

/** Sets the clock of this machine ahead while something is done. */
export async function aheadBy<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const now = Date.now.bind(Date)
  const ahead = vi.spyOn(Date, 'now').mockImplementation(() => now() + ms)
  return work().finally(() => ahead.mockRestore())
}
