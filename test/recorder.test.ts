import { expect, test } from 'vitest'
import { createIds, systemClock, systemEntropy } from '../src/clock.ts'
import { Decisions, type Delivery } from '../src/decisions.ts'
import { Recorder } from '../src/recorder.ts'
import { Store } from '../src/store/store.ts'

test('commands under way are bounded wherever they wait, and facts from outside are let in all the same', async () => {
  const store = await Store.open({
    path: ':memory:',
    views: [],
    clock: systemClock,
    entropy: systemEntropy,
    createId: createIds(systemClock, systemEntropy),
  })
  const recorder = new Recorder(store, systemClock, new Decisions(store, []), () => undefined)
  const held = Promise.withResolvers<Delivery>()
  const record = (n: number) =>
    recorder.record(() => held.promise, { receipt: { commandId: `c${n}`, digest: new Uint8Array([1]) } })
  const waiting = Array.from({ length: 10_000 }, (_, n) => record(n))
  await expect(record(10_000)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  expect(await recorder.record(async () => ({ targets: [] }), {})).toMatchObject({ status: 'appended' })
  held.resolve({ targets: [] })
  expect(new Set((await Promise.all(waiting)).map(made => made.status))).toEqual(new Set(['appended']))
  expect(await record(10_001)).toMatchObject({ status: 'appended' })
  await store.close()
})
