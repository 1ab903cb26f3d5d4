import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { addressOf, nobody, PostgresServer } from './postgres-server.ts'

let server: PostgresServer | undefined
let pooler: ChildProcess | undefined

/** Starts one server for a whole run of tests, unless its address is given; for the project `pgbouncer` behind it. */
export async function setup({ name }: TestProject): Promise<void> {
  if (process.env.AVERBA_POSTGRES_URL !== undefined) return
  server = await PostgresServer.start()
  process.env.AVERBA_POSTGRES_URL = name === 'pgbouncer' ? await startPooler(server.folder) : server.url
}

/** Starts PgBouncer, which gives each transaction any session: what is left in one is missing in the next. */
async function startPooler(host: string): Promise<string> {
  const folder = join(host, 'pooler')
  mkdirSync(folder)
  const settings = `unix_socket_dir = ${folder}\nlisten_port = 5432\nauth_type = any\nmax_client_conn = 500
    pool_mode = transaction\nserver_round_robin = 1`
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(file, `[databases]\n* = host=${host} user=postgres\n[pgbouncer]\n${settings}\n`)
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0
  if (isRoot) chownSync(folder, nobody.uid, nobody.gid)
  pooler = spawn('pgbouncer', [file], { ...(isRoot && nobody), stdio: ['ignore', 'ignore', 'pipe'] })
  for await (const chunk of pooler.stderr?.iterator({ destroyOnReturn: false }) ?? [])
    if (String(chunk).includes('process up')) break
  if (pooler.exitCode !== null) throw new TypeError('PgBouncer did not start')
  pooler.stderr?.resume()
  return addressOf(folder)
}

export async function teardown(): Promise<void> {
  if (pooler?.kill('SIGQUIT')) await once(pooler, 'exit')
  await server?.close()
}
