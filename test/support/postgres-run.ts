import { PostgresServer } from './postgres-server.ts'

let server: PostgresServer | undefined

/** Starts one server for a whole run of tests, unless its address is given. */
export async function setup(): Promise<void> {
  if (process.env.AVERBA_POSTGRES_URL !== undefined) return
  server = await PostgresServer.start()
  process.env.AVERBA_POSTGRES_URL = server.url
}

export async function teardown(): Promise<void> {
  await server?.close()
}
