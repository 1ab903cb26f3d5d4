import { expect, test } from 'vitest'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createIds, systemEntropy } from '../../../src/runtime/entropy.ts'
import { Store } from '../../../src/store/store.ts'

const rare = 'token.locked'
const at = '2026-11-20T12:00:00.000Z'
const machine = { name: 'subject', version: 1 }

/** A log of so many events, with a rare one at some of the positions. */
async function given(count: number, rares: readonly number[]) {
  const store = await Store.open({
    path: ':memory:',
    views: [],
    clock: systemClock,
    entropy: systemEntropy,
    createId: createIds(systemClock, systemEntropy),
  })
  const isRare = new Set(rares)
  const began = (await store.readLast())?.position ?? 0
  for (let position = began + 1; position <= count; ) {
    const stream = `subject-${position}`
    const events = Array.from({ length: Math.min(1_000, count + 1 - position) }, (_, i) => ({
      ...{ stream, causedBy: 'test', machine },
      event: { type: isRare.has(position + i) ? rare : 'subject.synced', data: {} },
    }))
    await store.append({ at, streams: [{ stream, expect: 'none' }], events })
    position += events.length
  }
  return store
}

/** How often the event loop turned while something was done, and what it gave. */
async function turnsOf<T>(work: () => Promise<T>): Promise<{ given: T; turns: number }> {
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const given = await work()
  isOver = true
  return { given, turns }
}

test('what is rare is searched for in windows, and the event loop turns in between', async () => {
  // At the ends of windows too, from either side.
  const rares = [2, 20_001, 20_002, 41_000, 44_999, 61_000]
  const store = await given(61_000, rares)
  const positions = (events: readonly { position: number }[]) => events.map(({ position }) => position)
  const types = [rare]
  const whole = await turnsOf(() => store.readWithEnd({ types }))
  expect(positions(whole.given.events)).toEqual(rares)
  expect(whole.given.end).toBe(61_000)
  expect(whole.turns).toBeGreaterThanOrEqual(3)
  // A page ends within a window, and at its end.
  expect(positions(await store.read({ types, limit: 2 }))).toEqual(rares.slice(0, 2))
  expect(positions(await store.read({ types, after: 20_001, limit: 2 }))).toEqual([20_002, 41_000])
  expect(positions(await store.read({ kind: 'token' }))).toEqual(rares)
  expect(positions(await store.read({ types, backward: true }))).toEqual([...rares].reverse())
  expect(positions(await store.read({ types, backward: true, after: 44_999, limit: 2 }))).toEqual([
    41_000, 20_002,
  ])
  const far = { types, after: Number.MAX_SAFE_INTEGER }
  expect(positions(await store.read({ ...far, backward: true, limit: 1 }))).toEqual([61_000])
  expect(await store.read(far)).toEqual([])
  expect((await store.readLast({ types }))?.position).toBe(61_000)
  expect(await store.read({ types: ['token.renewed'] })).toEqual([])
  const next = await turnsOf(() => store.followers.next(20_002, types))
  expect(next.given).toBe(41_000)
  expect(next.turns).toBeGreaterThanOrEqual(1)
  expect(await store.followers.next(61_000, types)).toBeUndefined()
  await store.close()
})
