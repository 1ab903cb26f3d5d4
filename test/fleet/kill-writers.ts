import { join } from 'node:path'
import { checkAcknowledged } from '../crash/check-log.ts'
import { startChild } from '../crash/child.ts'
import { openStore } from '../crash/load.ts'
import { type PostgresServer, withSchema } from '../support/postgres-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type FleetFindings, noFindings } from './findings.ts'
import { type KillOptions, killInTurn } from './kill-in-turn.ts'

/**
 * Four processes append to one log while each is killed in turn or stands still, and the server is restarted and
 * crashes. Then checks the log, its views and all that was acknowledged.
 */
export async function killWriters(server: PostgresServer, options: KillOptions): Promise<FleetFindings> {
  const { seed, kills, stops } = options
  const findings = noFindings()
  const path = withSchema(server.url, `kills_${seed}`)
  const keyring = join(temporaryFolder(), 'averba.keys')
  const messages = await killInTurn(server, {
    ...options,
    start: n => startChild('load-store.ts', { path, keyring, callers: 8, seed: seed * 1_000 + n }),
    ...{ stopMs: 3_000, messagesMax: 30, messagesMin: 30 },
    restarts: new Map([
      [Math.floor(kills / 3), 'SIGINT'],
      [Math.floor((2 * kills) / 3), 'SIGQUIT'],
    ]),
  })
  for (const message of messages) if (message.type === 'broken') findings.stuck.push(message.what)
  const acknowledged = messages.filter(message => message.type === 'acknowledged')

  const store = await openStore(path, 0, undefined, keyring)
  const { lost, corrupt } = await checkAcknowledged(store, acknowledged)
  findings.lost.push(...lost)
  findings.wrong.push(...corrupt)
  await store.close()
  findings.counts = { kills: kills - stops, stops, restarts: 2, acknowledged: acknowledged.length }
  return findings
}
