import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Emmett's event store on SQLite, as bench/peers/emmett.mjs drives it. */
export interface Emmett {
  appendAll(count: number, callers: number, newStream: () => string, data: object): Promise<void>
  consumeAll(count: number): Promise<number>
  close(): void
}

const folder = join(import.meta.dirname, 'peers')

/** Opens Emmett on a file. Installs it first, where that was not done yet: `npm ci` of the project stays light. */
export async function openEmmett(path: string, say: (line: string) => void): Promise<Emmett> {
  if (!existsSync(join(folder, 'node_modules'))) {
    say('installing the peers in bench/peers, once; one of them is compiled, which takes a minute')
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  }
  const { openEmmett: open } = await import(join(folder, 'emmett.mjs'))
  return open(path)
}
