import { expect, test } from 'vitest'
import { createIds, systemClock, systemEntropy } from '../src/clock.ts'
import { Decisions } from '../src/decisions.ts'
import { budgetMachine } from '../src/machines/budget.ts'
import { Recorder } from '../src/recorder.ts'
import { Store } from '../src/store/store.ts'

const stream = 'budget-2026-11-20'
const max = 100

test('who was outrun by another process reads what came since, and not the whole stream again', async () => {
  const store = await Store.open({
    path: ':memory:',
    views: [],
    clock: systemClock,
    entropy: systemEntropy,
    createId: createIds(systemClock, systemEntropy),
  })
  let read = 0
  const counted = new Proxy(store, {
    get(target, name) {
      if (name !== 'read') return Reflect.get(target, name, target).bind(target)
      return async (filter: Parameters<Store['read']>[0]) => {
        const events = await target.read(filter)
        read += events.length
        return events
      }
    },
  })
  const waiting = { closing: new AbortController().signal, onTrouble: () => undefined }
  const processes = [1, 2].map(() => {
    const decisions = new Decisions(counted, [budgetMachine])
    return new Recorder(counted, systemClock, decisions, () => undefined, waiting)
  })
  const spend = async (n: number) => {
    const message = { type: 'budget.spend', data: { for: `v${n}`, max } }
    const receipt = { commandId: `c${n}`, digest: new Uint8Array([1]) }
    await processes[n % 2]?.record(async () => ({ targets: [{ stream, message }] }), { receipt })
  }
  for (let n = 0; n < max; n++) await spend(n)
  // Each of them was outrun by one event of the other before every call of its own, and sees the newest state.
  expect(read).toBeLessThan(2 * max)
  await expect(spend(max)).rejects.toMatchObject({ code: 'BUDGET_SPENT' })
  await expect(spend(max + 1)).rejects.toMatchObject({ code: 'BUDGET_SPENT' })
  await store.close()
})
