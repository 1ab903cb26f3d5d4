import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { openAverba } from '../../src/index.ts'
import { startChild } from '../crash/child.ts'
import { type PostgresServer, withSchema } from '../support/postgres-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type FleetFindings, noFindings } from './findings.ts'
import { fleetOptions } from './fleet-options.ts'
import { type KillOptions, killInTurn } from './kill-in-turn.ts'
import { startFleetServices } from './services.ts'

const callers = 16
/** Longer than a lease lasts. */
const pastLeaseMs = 12_000
/** How far the clocks of the processes are ahead: of the last one so far that it may take no work. */
const aheadOf = [0, 0, 20_000, 300_000]
/** How long what is left may take, after the last lease. */
const restMaxMs = 60_000

/**
 * Four engines on one log make paid calls while each is killed in turn or stands still past its leases, one has a clock
 * ahead by seconds and one by minutes, and the server crashes. Then one engine does what is left. No call may be
 * accepted by the service twice, lost, or left behind.
 */
export async function shareWork(server: PostgresServer, options: KillOptions): Promise<FleetFindings> {
  const { seed, kills, stops } = options
  const findings = noFindings()
  const services = await startFleetServices(seed)
  const path = withSchema(server.url, `work_${seed}`)
  const keyring = join(temporaryFolder(), 'averba.keys')
  const load = { path, keyring, port: services.port, callers }
  const messages = await killInTurn(server, {
    ...options,
    start: (n, place) =>
      startChild('../fleet/work-engine.ts', { ...load, aheadMs: aheadOf[place] ?? 0, seed: seed * 100 + n }),
    ...{ stopMs: pastLeaseMs, messagesMax: 60, messagesMin: callers },
    restarts: new Map([[Math.floor(kills / 2), 'SIGQUIT']]),
  })
  for (const message of messages) if (message.type === 'broken') findings.wrong.push(message.what)
  const told = messages.filter(message => message.type === 'validated')

  const averba = await openAverba(fleetOptions(path, keyring, services.reach))
  const closing = new AbortController()
  const atWork = averba.run({ signal: closing.signal })
  const listOpen = async () => {
    const states = (['pending', 'started', 'deferred'] as const).map(state => averba.effects.list({ state }))
    return (await Promise.all(states)).flat()
  }
  for (let waited = 0; waited < restMaxMs && (await listOpen()).length > 0; waited += 500) await after(500)
  for (const { id, state, reason } of await listOpen()) findings.stuck.push(`${id} is ${state}: ${reason}`)
  const unknown = await averba.effects.list({ state: 'unknown' })
  // Declined is what a process says that stood still before its request left, when another had given it up meanwhile.
  for (const { id, status } of told) {
    const validation = await averba.validations.get(id)
    if (status === 'settled' ? validation?.state === 'answered' : validation?.resolved?.charged === false) continue
    // What the log has of it: a loss is rare, and may not come again.
    const read = averba.log.read({ stream: `validation-${validation?.traceId}` })
    const events = await Array.fromAsync(read, ({ position, type, at }) => `${position} ${type} ${at}`)
    findings.lost.push(`${id} is ${validation?.state}, and was told to be ${status}: ${events.join(', ')}`)
  }
  for (const [asked, count] of services.validated) if (count > 1) findings.doubled.push(`${count} times ${asked}`)
  const { faults } = await averba.audit.verify()
  findings.wrong.push(...faults.map(({ check, examples }) => `${check}: ${examples[0]}`))
  closing.abort()
  await atWork
  await averba.close()
  await services.close()
  const seen = { calls: services.validated.size, validated: told.length, unknown: unknown.length }
  findings.counts = { ...seen, kills: kills - stops, stops }
  return findings
}
