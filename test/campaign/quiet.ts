import type { Box } from './box.ts'
import { peopleCount } from './people.ts'
import { perform } from './perform.ts'
import type { Deed } from './step.ts'

const hourMs = 3_600_000
/** The waits between two looks: every wait of a retry, then two recoveries of the portal. */
const waits = [1, 1, 1, 1, 8, 8, 8, 8].map(hours => hours * hourMs)
/** How often it is looked after that, where something is still owed. */
const looksMax = 40
/** Where a call stands that has not ended. */
const openStates = ['owed', 'started', 'deferred', 'unknown', 'parked'] as const

/** No faults any more: operators let go what is parked, everything is read once more, and what is owed gets done. */
export async function settleDown(box: Box): Promise<void> {
  box.book.trace('quiet')
  box.services.faults.clear()
  box.points.disarm()
  box.disk.empty()
  box.jumpMs = 0
  box.host.failing = { follower: 0, handler: 0 }
  await box.open()
  // A token that was asked for before a restore is in doubt until somebody needs one again.
  if (box.rollbacks > 0) await doAll(box, [{ do: 'validate', person: 0, isTrue: true, count: 1, hours: 0 }])
  for (let looks = 0; looks < looksMax; looks++) {
    await doAll(box, [{ do: 'operate' }, { do: 'settle' }])
    const waitMs = waits[looks]
    if (waitMs === undefined && (await owedNow(box)).length === 0) break
    await box.passUntil(box.clock.now() + (waitMs ?? hourMs))
  }
  const people = Array.from({ length: peopleCount }, (_, person): Deed => ({ do: 'sync', person }))
  await doAll(box, [
    { do: 'resolve', isCharged: false },
    ...people,
    { do: 'apply', deletions: true },
    { do: 'settle' },
  ])
}

/** The calls that are owed although their time has come. */
export async function owedNow(box: Box): Promise<readonly { readonly id: string; readonly what: string }[]> {
  const now = new Date(box.clock.now()).toISOString()
  const asked = await box.host.ask(averba =>
    Promise.all(openStates.map(state => averba.effects.list({ state }))),
  )
  if (!asked || !('value' in asked)) return [{ id: '-', what: 'nobody answers' }]
  return asked.value
    .flat()
    .filter(({ dueAt }) => dueAt <= now)
    .map(({ id, type, state, reason }) => ({ id, what: `${type} is ${state}: ${reason}` }))
}

async function doAll(box: Box, deeds: readonly Deed[]): Promise<void> {
  for (const [i, deed] of deeds.entries()) await perform(box, { ...deed, id: 1_000_000 + i, at: 0 })
}
