import { peopleCount } from './people.ts'
import { perform } from './perform.ts'
import type { SimulatedHost } from './simulated-host.ts'
import type { Deed } from './step.ts'

const hourMs = 3_600_000
/** The waits between rounds: enough for all retries, and for two recoveries of failure records. */
const waitsMs = [1, 1, 1, 1, 8, 8, 8, 8].map(hours => hours * hourMs)
/** The maximum number of rounds while effects are still pending. */
const roundsMax = 40
/** The states of effects that have not ended. */
const openStates = ['pending', 'started', 'deferred', 'unknown', 'parked'] as const

/** Ends the faults, retries everything that is parked, runs pending effects, and reads everything once more. */
export async function settleDown(box: SimulatedHost): Promise<void> {
  box.book.trace('quiet')
  box.services.faults.clear()
  box.points.disarm()
  box.disk.empty()
  box.jumpMs = 0
  box.host.failing = { follower: 0, handler: 0 }
  await box.open()
  // A token request that was pending before a restore stays unknown until a token is needed again.
  if (box.rollbacks > 0) await performAll(box, [{ do: 'validate', person: 0, isTrue: true, count: 1, hours: 0 }])
  for (let round = 0; round < roundsMax; round++) {
    await performAll(box, [{ do: 'operate' }, { do: 'settle' }])
    const waitMs = waitsMs[round]
    if (waitMs === undefined && (await dueEffects(box)).length === 0) break
    await box.advanceUntil(box.clock.now() + (waitMs ?? hourMs))
  }
  const people = Array.from({ length: peopleCount }, (_, person): Deed => ({ do: 'sync', person }))
  await performAll(box, [
    { do: 'resolve', isCharged: false },
    ...people,
    { do: 'apply', deletions: true },
    { do: 'settle' },
  ])
}

/** The effects that are due and have not ended. */
export async function dueEffects(
  box: SimulatedHost,
): Promise<readonly { readonly id: string; readonly what: string }[]> {
  const now = new Date(box.clock.now()).toISOString()
  const asked = await box.host.ask(averba => Promise.all(openStates.map(state => averba.effects.list({ state }))))
  if (!asked || !('value' in asked)) return [{ id: '-', what: 'the engine does not answer' }]
  return asked.value
    .flat()
    .filter(({ dueAt }) => dueAt <= now)
    .map(({ id, type, state, reason }) => ({ id, what: `${type} is ${state}: ${reason}` }))
}

async function performAll(box: SimulatedHost, deeds: readonly Deed[]): Promise<void> {
  for (const [i, deed] of deeds.entries()) await perform(box, { ...deed, id: 1_000_000 + i, at: 0 })
}
