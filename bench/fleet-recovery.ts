import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { openAverba } from '../src/index.ts'
import { startChild } from '../test/crash/child.ts'
import { fleetOptions } from '../test/fleet/fleet-options.ts'
import { startFleetServices } from '../test/fleet/services.ts'
import { withSchema } from '../test/support/postgres-server.ts'
import type { BenchServer } from './postgres.ts'

const callsOfDead = 20
const [processes, callsOfEach] = [4, 200]
const pollMs = 50

/** Measures how long after a process was killed another one has taken over the last of its calls, in milliseconds. */
export async function measureTakeover(server: BenchServer, folder: string): Promise<number> {
  // Nobody answers the calls of the process that dies.
  const services = await startFleetServices(1, () => new Promise(() => undefined))
  const path = withSchema(server.url, 'takeover')
  const keyring = join(folder, 'takeover.keys')
  const options = { path, keyring, port: services.port, callers: callsOfDead, seed: 1 }
  const averba = await openAverba(fleetOptions(path, keyring, services.reach))
  const dying = startChild('../fleet/work-engine.ts', options)
  const listStarted = async () => {
    const started = await averba.effects.list({ state: 'started' })
    return started.filter(({ type }) => type === 'validationService.validatePerson')
  }
  while ((await listStarted()).length < callsOfDead) await after(pollMs)
  dying.process.kill('SIGKILL')
  const killed = performance.now()
  const closing = new AbortController()
  const running = averba.run({ signal: closing.signal })
  while ((await averba.effects.list({ state: 'unknown' })).length < callsOfDead) await after(pollMs)
  const tookMs = Math.round(performance.now() - killed)
  closing.abort()
  await running
  await averba.close()
  await services.close()
  return tookMs
}

/** Counts the token requests of four processes whose token dies while each has 200 calls in flight. */
export async function countTokens(server: BenchServer, folder: string): Promise<number> {
  const [all, died] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let inFlight = 0
  const services = await startFleetServices(2, async () => {
    inFlight += 1
    if (inFlight === processes * callsOfEach) all.resolve()
    await died.promise
  })
  const path = withSchema(server.url, 'tokens')
  const keyring = join(folder, 'tokens.keys')
  // The log and its keyring, so that all four open the same.
  await (await openAverba(fleetOptions(path, keyring, services.reach))).close()
  const children = Array.from({ length: processes }, (_, seed) =>
    startChild('../fleet/work-engine.ts', { path, keyring, port: services.port, callers: callsOfEach, seed }),
  )
  await all.promise
  const before = services.tokens
  services.expireToken()
  died.resolve()
  // Until each of them has got an answer with the new token.
  while (services.validated.size < processes * callsOfEach) await after(pollMs)
  const asked = services.tokens - before
  for (const child of children) child.process.kill('SIGKILL')
  await Promise.all(children.map(child => child.ended))
  await services.close()
  return asked
}
