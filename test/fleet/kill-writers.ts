import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import type { RecordedEvent } from '../../src/vocabulary/message.ts'
import { checkAcknowledged } from '../crash/check-log.ts'
import type { Header } from '../crash/check-tables.ts'
import { type Child, startChild } from '../crash/child.ts'
import { openStore } from '../crash/load.ts'
import { type PostgresServer, withSchema } from '../support/postgres-server.ts'
import { Random } from '../support/random.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type FleetFindings, noFindings } from './findings.ts'

const processes = 4
/** How many messages a process sends before it is killed, at most. */
const messagesMax = 30

/** The size of the part that kills writers. */
export interface KillOptions {
  readonly seed: number
  readonly kills: number
  /** How often a process is stopped for longer than it may hold the lock, and goes on. */
  readonly stops: number
}

/**
 * Four processes append to one log while each is killed in turn or stands still, and the server is restarted and
 * crashes. Then checks the log, its views and all that was acknowledged.
 */
export async function killWriters(server: PostgresServer, { seed, kills, stops }: KillOptions): Promise<FleetFindings> {
  const findings = noFindings()
  const path = withSchema(server.url, `kills_${seed}`)
  const keyring = join(temporaryFolder(), 'averba.keys')
  const random = new Random(seed)
  const start = (n: number) => startChild('load-store.ts', { path, keyring, callers: 8, seed: seed * 1_000 + n })
  const running: Child[] = Array.from({ length: processes }, (_, i) => start(i))
  const ended: Child[] = []
  for (let kill = 0; kill < kills; kill++) {
    const child = running[kill % processes]
    await child?.hasSent(1 + random.below(messagesMax))
    if (kill === Math.floor(kills / 3)) await server.restart('SIGINT')
    if (kill === Math.floor((2 * kills) / 3)) await server.restart('SIGQUIT')
    if (kill < stops) {
      child?.process.kill('SIGSTOP')
      await after(3_000)
      child?.process.kill('SIGCONT')
      continue
    }
    child?.process.kill('SIGKILL')
    if (child) ended.push(child)
    running[kill % processes] = start(processes + kill)
  }
  await Promise.all(running.map(child => child.hasSent(messagesMax)))
  for (const child of running) child.process.kill('SIGKILL')
  ended.push(...running)
  const messages = (await Promise.all(ended.map(child => child.ended))).flatMap(each => each.messages)
  for (const message of messages) if (message.type === 'broken') findings.stuck.push(message.what)
  const acknowledged = messages.filter(message => message.type === 'acknowledged')

  const store = await openStore(path, 0, undefined, keyring)
  const events: RecordedEvent[] = []
  for (let page = await store.read({}); page.length > 0; page = await store.read({ after: events.length }))
    events.push(...page)
  for (const [i, { position }] of events.entries())
    if (position !== i + 1) findings.wrong.push(`a gap before ${position}`)
  const headers = events as readonly RecordedEvent[] as readonly Header[] // Of the load, and the first one.
  const { lost, corrupt } = await checkAcknowledged(store, headers, acknowledged)
  findings.lost.push(...lost)
  findings.wrong.push(...corrupt)
  await store.close()
  Object.assign(findings.counts, { kills: kills - stops, stops, restarts: 2, acknowledged: acknowledged.length })
  return findings
}
