import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { addressOf, nobody, PostgresServer } from './postgres-server.ts'

let server: PostgresServer | undefined
let pooler: ChildProcess | undefined

/**
 * Starts a server for a whole run of tests behind PgBouncer, which gives each transaction any session: what is left in
 * one is missing in the next, or another client's.
 */
export async function setup(): Promise<void> {
  server = await PostgresServer.start()
  const folder = join(server.folder, 'pooler')
  mkdirSync(folder)
  const settings = {
    ...{ unix_socket_dir: folder, listen_port: 5432, auth_type: 'any', max_client_conn: 500 },
    ...{ pool_mode: 'transaction', server_round_robin: 1 },
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`)
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(file, `[databases]\n* = host=${server.folder} user=postgres\n[pgbouncer]\n${lines.join('')}`)
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0
  if (isRoot) chownSync(folder, nobody.uid, nobody.gid)
  pooler = spawn('pgbouncer', [file], { ...(isRoot && nobody), stdio: ['ignore', 'ignore', 'pipe'] })
  const { stderr } = pooler
  for await (const chunk of stderr?.iterator({ destroyOnReturn: false }) ?? [])
    if (String(chunk).includes('process up')) break
  if (pooler.exitCode !== null) throw new TypeError('PgBouncer did not start')
  stderr?.resume()
  process.env.AVERBA_POSTGRES_URL = addressOf(folder)
}

export async function teardown(): Promise<void> {
  if (pooler?.kill('SIGQUIT')) await once(pooler, 'exit')
  await server?.close()
}
