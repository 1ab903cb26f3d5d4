import { fromInstant, toInstant } from '../clock.ts'
import type { World } from './simulate.ts'

/** How a world stands when faults have ended and time has passed. */
export interface QuietWorld {
  /** The calls that could still be made, and were not: none. */
  readonly owed: readonly string[]
  /** The calls that only a person can go on with. */
  readonly stuck: readonly string[]
  /** The views whose rows were others than a replay of the log gives: none. */
  readonly differences: readonly string[]
}

const dayMs = 86_400_000
const stepsMax = 1_000
const endOfTime = '9999-12-31T23:59:59.999Z'

/**
 * Ends all faults, and lets what is owed be done, each call when it is due, for two days at most; what begins anew by
 * itself, such as a reading by schedule, is not waited for. Then every view is built anew, and compared.
 */
export async function goQuiet(world: World): Promise<QuietWorld> {
  const { averba, clock, faults } = world
  await faults.clear()
  const until = toInstant(clock.now() + 2 * dayMs)
  for (let steps = 0; steps < stepsMax; steps++) {
    await clock.finish(averba.settle())
    const [next] = (await averba.due(until)).filter(each => each.what === 'call')
    if (!next) break
    await clock.advance(Math.max(1, fromInstant(next.at) - clock.now()))
  }
  const recurring = new Set(
    (await averba.due(endOfTime)).flatMap(each => (each.what === 'sync' ? each.id : [])),
  )
  const left = (await averba.effects.list()).filter(each => !recurring.has(each.id))
  const named = (states: readonly string[]) =>
    left
      .filter(each => states.includes(each.state))
      .map(each => `${each.type} ${each.state}: ${each.because}`)
  const rebuilt = await clock.finish(averba.rebuild())
  return {
    owed: named(['owed', 'started', 'deferred']),
    stuck: named(['unknown', 'parked']),
    differences: rebuilt.filter(view => view.differences > 0).map(view => view.view),
  }
}
