import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Say } from './measure.ts'

/** Emmett's event store on SQLite, as bench/peers/emmett.mjs drives it. */
export interface Emmett {
  appendAll(count: number, callers: number, newStream: () => string, data: object): Promise<void>
  consumeAll(count: number): Promise<number>
  close(): void
}

const folder = join(import.meta.dirname, 'peers')

/**
 * Installs what bench/peers names, where that was not done yet: `npm ci` of the project stays light.
 *
 * @returns the folder
 */
export function installPeers(needed: string, say: Say): string {
  if (existsSync(join(folder, 'node_modules', needed))) return folder
  say('installing the peers in bench/peers, once; one of them is compiled, which takes a minute')
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return folder
}

/** Opens Emmett on a file. */
export async function openEmmett(path: string, say: Say): Promise<Emmett> {
  const { openEmmett: open } = await import(join(installPeers('sqlite3', say), 'emmett.mjs'))
  return open(path)
}

/** Emmett's event store on PostgreSQL, as bench/peers/emmett-postgres.mjs drives it. */
export interface EmmettOnPostgres {
  appendAll(count: number, callers: number, newStream: () => string, data: object): Promise<void>
  close(): Promise<void>
}

/** Opens Emmett on a server. */
export async function openEmmettOnPostgres(address: string, say: Say): Promise<EmmettOnPostgres> {
  const { openEmmett: open } = await import(
    join(installPeers('@event-driven-io/emmett-postgresql', say), 'emmett-postgres.mjs')
  )
  return open(address)
}

/** DBOS Transact, as bench/peers/dbos.mjs drives it. */
export interface Dbos {
  runAll(count: number, atOnce: number): Promise<void>
  close(): Promise<void>
}

/** Launches DBOS on a server. */
export async function openDbos(address: string, say: Say): Promise<Dbos> {
  const { openDbos: open } = await import(join(installPeers('@dbos-inc/dbos-sdk', say), 'dbos.mjs'))
  return open(address)
}
