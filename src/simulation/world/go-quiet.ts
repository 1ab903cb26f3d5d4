import { dayMs, fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { World } from './simulate.ts'
import { listTroubled } from './troubled-handlers.ts'

/** The state of a world once faults have ended and time has passed. */
export interface QuietWorld {
  /** The calls that could still be made, and were not: should be empty. */
  readonly owed: readonly string[]
  /** The calls that only a person can go on with. */
  readonly stuck: readonly string[]
  /** The handlers and followers that failed, and were not called again in time: should be empty. */
  readonly failing: readonly string[]
  /** The handlers and followers that failed too often, and wait for a person. */
  readonly parked: readonly string[]
  /** The views whose rows differ from a replay of the log: should be empty. */
  readonly differences: readonly string[]
}

const stepsMax = 1_000
const endOfTime = '9999-12-31T23:59:59.999Z'

/**
 * Ends all faults, and lets what is owed be done, each call when it is due, and each handler that failed when it is to
 * be called again, for two days at most; what begins anew by itself, such as a reading by schedule, is not waited for.
 * Then every view is built anew, and compared.
 */
export async function goQuiet(world: World): Promise<QuietWorld> {
  const { averba, clock, faults } = world
  await faults.clear()
  const until = toInstant(clock.now() + 2 * dayMs)
  for (let steps = 0; steps < stepsMax; steps++) {
    await clock.finish(averba.settle())
    const next = await nextOf(world, until)
    if (next === undefined) break
    await clock.advance(Math.max(1, fromInstant(next) - clock.now()))
  }
  const recurring = new Set(
    (await averba.due(endOfTime)).flatMap(each => (each.what === 'sync' ? each.id : [])),
  )
  const left = (await averba.effects.list()).filter(each => !recurring.has(each.id))
  const named = (states: readonly string[]) =>
    left.filter(each => states.includes(each.state)).map(each => `${each.type} ${each.state}: ${each.reason}`)
  const troubled = await listTroubled(averba)
  const rebuilt = await clock.finish(averba.rebuild())
  return {
    owed: named(['owed', 'started', 'deferred']),
    stuck: named(['unknown', 'parked']),
    failing: troubled.filter(each => each.retryAt !== null).map(each => each.says),
    parked: troubled.filter(each => each.retryAt === null).map(each => each.says),
    differences: rebuilt.filter(view => view.differences > 0).map(view => view.view),
  }
}

/**
 * When the next call is due, or the next failed handler is to be called again; `undefined` where that is not before the
 * limit.
 */
async function nextOf({ averba, clock }: World, until: Instant): Promise<Instant | undefined> {
  const calls = (await averba.due(until)).filter(each => each.what === 'call').map(each => each.at)
  // A handler whose time has come was called just now, unless nobody has it: waiting would not help.
  const retries = (await listTroubled(averba)).flatMap(({ retryAt }) =>
    retryAt !== null && retryAt > toInstant(clock.now()) && retryAt <= until ? [retryAt] : [],
  )
  return [...calls, ...retries].sort()[0]
}
