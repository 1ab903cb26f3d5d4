import { AsyncLocalStorage, createHook } from 'node:async_hooks'
import { stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { perform } from './perform.ts'
import { createPlan } from './plan.ts'
import { RunRecord } from './run-record.ts'
import { SimulatedHost } from './simulated-host.ts'
import type { Step } from './step.ts'

/** The runtime's names of the asynchronous resources that the work waits for. */
async function asyncTypesOf(work: () => Promise<void>): Promise<ReadonlySet<string>> {
  const isOurs = new AsyncLocalStorage<true>()
  const begun = new Map<number, string>()
  const waited = new Set<string>()
  const hook = createHook({
    init(id, type) {
      if (type !== 'PROMISE' && isOurs.getStore()) begun.set(id, type)
    },
    // Not called for resources that end synchronously.
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

async function performSteps(seed: number, steps: readonly Step[]): Promise<void> {
  const simulated = new SimulatedHost(seed, new RunRecord())
  const start = simulated.clock.now()
  for (const step of steps) {
    await simulated.advanceUntil(Math.max(start + step.at, simulated.clock.now()))
    await perform(simulated, step)
  }
  await simulated.close()
  simulated.dispose()
}

// The duration of a thread or timer differs from run to run, which would change the order of events.
test('nothing waits for a thread or for real time, but for the copy of a backup, whose thread nobody can see', async () => {
  // Loads modules that are imported on first use.
  await performSteps(1, createPlan(1, 1))
  // Hundreds of notifications at once wait for nothing that twelve do not.
  const steps = createPlan(2, 10)
    .filter(each => each.do !== 'backUp' && each.do !== 'restore')
    .map(each => (each.do === 'notify' ? { ...each, count: Math.min(each.count, 12) } : each))
  const backup: Step = { do: 'backUp', id: 1, at: 0 }
  for (const each of [steps, [backup]]) {
    const waited = await asyncTypesOf(() => performSteps(2, each))
    expect([...waited].sort()).toEqual(['Immediate', 'Microtask', 'TickObject'])
  }
  // The test notices a thread.
  expect(await asyncTypesOf(async () => void (await stat('.')))).toContain('FSREQPROMISE')
})
