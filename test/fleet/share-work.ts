import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { openAverba } from '../../src/index.ts'
import { type Child, startChild } from '../crash/child.ts'
import { type PostgresServer, withSchema } from '../support/postgres-server.ts'
import { Random } from '../support/random.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type FleetFindings, noFindings } from './findings.ts'
import { fleetOptions } from './fleet-options.ts'
import type { KillOptions } from './kill-writers.ts'
import { startFleetServices } from './services.ts'

const callers = 16
/** How many messages a process sends before something happens to it, at most. */
const messagesMax = 60
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
export async function shareWork(server: PostgresServer, { seed, kills, stops }: KillOptions): Promise<FleetFindings> {
  const findings = noFindings()
  const services = await startFleetServices(seed)
  const path = withSchema(server.url, `work_${seed}`)
  const keyring = join(temporaryFolder(), 'averba.keys')
  const random = new Random(seed)
  const { port } = services
  const start = (n: number, aheadMs = 0) =>
    startChild('../fleet/work-engine.ts', { path, keyring, port, aheadMs, callers, seed: seed * 100 + n })
  const running: Child[] = aheadOf.map((aheadMs, i) => start(i, aheadMs))
  const ended: Child[] = []
  for (let kill = 0; kill < kills; kill++) {
    const i = kill % aheadOf.length
    const child = running[i]
    await child?.hasSent(1 + random.below(messagesMax))
    if (kill === Math.floor(kills / 2)) await server.restart('SIGQUIT')
    if (kill < stops) {
      child?.process.kill('SIGSTOP')
      await after(pastLeaseMs)
      child?.process.kill('SIGCONT')
      await child?.hasSent(child.messages.length + callers)
      continue
    }
    child?.process.kill('SIGKILL')
    if (child) ended.push(child)
    running[i] = start(aheadOf.length + kill, aheadOf[i])
  }
  await Promise.all(running.map(child => child.hasSent(callers)))
  for (const child of running) child.process.kill('SIGKILL')
  ended.push(...running)
  const messages = (await Promise.all(ended.map(child => child.ended))).flatMap(each => each.messages)
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
    const stream = `validation-${validation?.traceId}`
    const events = await Array.fromAsync(
      averba.log.read({ stream }),
      each => `${each.position} ${each.type} ${each.at}`,
    )
    findings.lost.push(`${id} is ${validation?.state}, and was told to be ${status}: ${events.join(', ')}`)
  }
  for (const [asked, count] of services.validated) if (count > 1) findings.doubled.push(`${count} times ${asked}`)
  const { faults } = await averba.audit.verify()
  findings.wrong.push(...faults.map(({ check, examples }) => `${check}: ${examples[0]}`))
  closing.abort()
  await atWork
  await averba.close()
  await services.close()
  const calls = services.validated.size
  Object.assign(findings.counts, {
    calls,
    validated: told.length,
    unknown: unknown.length,
    kills: kills - stops,
    stops,
  })
  return findings
}
