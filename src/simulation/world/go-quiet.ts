import type { Averba } from '../../averba/averba.ts'
import { dayMs, fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { World } from './simulate.ts'

/** The state of a world after faults have ended and time has passed. */
export interface QuietWorld {
  /** Effects that are still pending: should be empty. */
  readonly pending: readonly string[]
  /** Effects that wait for a person. */
  readonly stuck: readonly string[]
  /** Handlers and followers that failed and were not called again: should be empty. */
  readonly failing: readonly string[]
  /** Handlers and followers that failed too often and wait for a person. */
  readonly parked: readonly string[]
  /** Views whose rows differ from a replay of the log: should be empty. */
  readonly differences: readonly string[]
}

const stepsMax = 1_000
const endOfTime = '9999-12-31T23:59:59.999Z'

/**
 * Ends all faults, and runs pending effects and handler retries when they are due, for at most two simulated days. It
 * does not wait for scheduled readings, which recur without end.
 */
export async function settleAll(world: World): Promise<void> {
  const { averba, clock, faults } = world
  faults.clear()
  const until = toInstant(clock.now() + 2 * dayMs)
  for (let steps = 0; steps < stepsMax; steps++) {
    await clock.finish(averba.settle())
    const next = await nextDueAt(world, until)
    if (next === undefined) break
    await clock.advance(Math.max(1, fromInstant(next) - clock.now()))
  }
}

/** Settles all, as `settleAll` does, then rebuilds every view and compares it. */
export async function goQuiet(world: World): Promise<QuietWorld> {
  await settleAll(world)
  const { averba, clock } = world
  const recurring = new Set((await averba.due(endOfTime)).flatMap(each => (each.what === 'sync' ? each.id : [])))
  const left = (await averba.effects.list()).filter(each => !recurring.has(each.id))
  const describeEffects = (states: readonly string[]) =>
    left.filter(each => states.includes(each.state)).map(each => `${each.type} ${each.state}: ${each.reason}`)
  const troubled = await listTroubled(averba)
  const rebuilt = await clock.finish(averba.rebuild())
  return {
    pending: describeEffects(['pending', 'started', 'deferred']),
    stuck: describeEffects(['unknown', 'parked']),
    failing: troubled.filter(each => each.retryAt !== null).map(each => each.description),
    parked: troubled.filter(each => each.retryAt === null).map(each => each.description),
    differences: rebuilt.filter(view => view.differences > 0).map(view => view.view),
  }
}

/** The time of the next effect or handler retry; `undefined` when nothing is due until the limit. */
async function nextDueAt({ averba, clock }: World, until: Instant): Promise<Instant | undefined> {
  const calls = (await averba.due(until)).filter(each => each.what === 'call').map(each => each.at)
  // `settle` has called each due handler that is registered. Waiting does not help the others.
  const retries = (await listTroubled(averba)).flatMap(({ retryAt }) =>
    retryAt !== null && retryAt > toInstant(clock.now()) && retryAt <= until ? [retryAt] : [],
  )
  return [...calls, ...retries].sort()[0]
}

/** Lists the handlers and followers that failed and were not released, with the next call: null while parked. */
async function listTroubled({ notifications, log }: Averba) {
  const troubled: { description: string; retryAt: Instant | null }[] = []
  const add = (what: string, how: { attempts: number; reason: string; retryAt: Instant | null }) => {
    const next = how.retryAt === null ? 'parked' : `next call at ${how.retryAt}`
    const description = `${what}: failed ${how.attempts} times, ${next}: ${how.reason}`
    troubled.push({ description, retryAt: how.retryAt })
  }
  for (const state of ['failing', 'parked'] as const) {
    for await (const { id, evento, handlers } of notifications.list({ state })) {
      for (const each of handlers)
        if (each.state === 'failing' || each.state === 'parked')
          add(`the handler "${each.handler}" of "${evento}" at the notification ${id}`, each)
    }
  }
  for (const { name, position, isParked, dueAt, ...how } of await log.followers())
    if (isParked || dueAt !== null) add(`the follower "${name}" after position ${position}`, { ...how, retryAt: dueAt })
  return troubled
}
