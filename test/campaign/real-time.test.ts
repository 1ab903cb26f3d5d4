import { AsyncLocalStorage, createHook } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { Book } from './book.ts'
import { Box } from './box.ts'
import { perform } from './perform.ts'
import { planOf } from './plan.ts'
import type { Step } from './step.ts'

/** What the work waits for, by the runtime's own names: all of it in memory, or something that takes real time. */
async function waitedFor(work: () => Promise<void>): Promise<ReadonlySet<string>> {
  const isOurs = new AsyncLocalStorage<true>()
  const begun = new Map<number, string>()
  const waited = new Set<string>()
  const hook = createHook({
    init(id, type) {
      if (type !== 'PROMISE' && isOurs.getStore()) begun.set(id, type)
    },
    // What is done at once never comes back.
    before(id) {
      const type = begun.get(id)
      if (type !== undefined) waited.add(type)
    },
  })
  hook.enable()
  try {
    await isOurs.run(true, work)
  } finally {
    hook.disable()
  }
  return waited
}

async function live(seed: number, steps: readonly Step[]): Promise<void> {
  const box = new Box(seed, new Book())
  const start = box.clock.now()
  try {
    for (const step of steps) {
      await box.passUntil(Math.max(start + step.at, box.clock.now()))
      await perform(box, step)
    }
    await box.close()
  } finally {
    box.dispose()
  }
}

/** What takes no more time than the event loop takes to turn. */
const inMemory = ['Immediate', 'Microtask', 'TickObject']

// How long a thread or a timer takes differs from run to run, and with it what happens first.
test('nothing in a world waits for a thread or for real time, but for the copying of a backup', async () => {
  const [seed, days] = [2, 10]
  // What is loaded on first use is there from now on.
  await live(1, planOf(1, 1))
  const steps = planOf(seed, days)
  const isOfBackups = (step: Step) => step.do === 'backUp' || step.do === 'restore'
  const waited = await waitedFor(() =>
    live(
      seed,
      steps.filter(step => !isOfBackups(step)),
    ),
  )
  expect([...waited].sort()).toEqual(inMemory)
  const backup: Step = { do: 'backUp', id: 1, at: 0 }
  expect([...(await waitedFor(() => live(seed, [backup])))].sort()).toEqual(['FSREQCALLBACK', ...inMemory])
})
