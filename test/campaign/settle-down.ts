import { hourMs } from '../../src/vocabulary/instant.ts'
import { people } from './people.ts'
import { perform } from './perform.ts'
import type { SimulatedHost } from './simulated-host.ts'
import type { Deed } from './step.ts'

/** The waits between rounds: enough for all retries, and for two recoveries of failure records. */
const waitsMs = [1, 1, 1, 1, 8, 8, 8, 8].map(hours => hours * hourMs)
/** The maximum number of rounds while effects are still pending. */
const roundsMax = 40
const openStates = ['pending', 'started', 'deferred', 'unknown', 'parked'] as const

/** Ends the faults, retries everything that is parked, runs pending effects, and reads everything once more. */
export async function settleDown(simulated: SimulatedHost): Promise<void> {
  simulated.runRecord.trace('quiet')
  simulated.services.faults.clear()
  simulated.nextCrash = undefined
  simulated.disk.empty()
  simulated.jumpMs = 0
  simulated.host.failing = { follower: 0, handler: 0 }
  await simulated.open()
  const performAll = async (...deeds: readonly Deed[]) => {
    for (const [i, deed] of deeds.entries()) await perform(simulated, { ...deed, id: 1_000_000 + i, at: 0 })
  }
  // A token request that was pending before a restore stays unknown until a token is needed again.
  if (simulated.rollbacks > 0) await performAll({ do: 'validate', person: 0, isTrue: true, count: 1, hours: 0 })
  for (let round = 0; round < roundsMax; round++) {
    await performAll({ do: 'operate' }, { do: 'settle' })
    const waitMs = waitsMs[round]
    if (waitMs === undefined && (await dueEffects(simulated)).length === 0) break
    await simulated.advanceUntil(simulated.clock.now() + (waitMs ?? hourMs))
  }
  const syncs = people.map((_, person): Deed => ({ do: 'sync', person }))
  await performAll({ do: 'resolve', isCharged: false }, ...syncs, { do: 'apply', deletions: true }, { do: 'settle' })
}

/** The effects that have not ended; `undefined` when the engine does not answer. */
export function openEffects({ host }: SimulatedHost) {
  return host.askFor(async averba =>
    (await Promise.all(openStates.map(state => averba.effects.list({ state })))).flat(),
  )
}

/** The effects that are due and have not ended, as texts. */
export async function dueEffects(simulated: SimulatedHost): Promise<readonly string[]> {
  const now = new Date(simulated.clock.now()).toISOString()
  const all = await openEffects(simulated)
  if (!all) return ['the engine does not answer']
  const due = all.filter(({ dueAt }) => dueAt === undefined || dueAt <= now)
  return due.map(({ id, type, state, reason }) => `${id}: ${type} is ${state}: ${reason}`)
}
