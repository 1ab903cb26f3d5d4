import { expect, test } from 'vitest'
import { readHeaders } from '../../../src/store/log/read.ts'
import { countTurns } from '../../support/count-turns.ts'
import { openStore } from '../../support/store.ts'
import { appendOf } from '../append-of.ts'

const rare = 'token.locked'

/** Makes a log of `count` events with rare ones at some positions. */
async function given(count: number, rares: readonly number[]) {
  const store = await openStore()
  for (let last = 1; last < count; last += 1_000) {
    const typeAt = (_: unknown, i: number) => ({ type: rares.includes(last + 1 + i) ? rare : 'subject.synced' })
    const types = Array.from({ length: Math.min(1_000, count - last) }, typeAt)
    await store.append(appendOf(`subject-${last}`, 'none', types))
  }
  return store
}

test('rare events are searched in windows, yielding to the event loop in between', async () => {
  // Some are at the borders of windows, in either direction.
  const rares = [2, 20_001, 20_002, 41_000, 44_999, 61_000]
  const store = await given(61_000, rares)
  const positions = (events: readonly { position: number }[]) => events.map(({ position }) => position)
  const types = [rare]
  const whole = await countTurns(() => store.readWithEnd({ types }))
  expect(positions(whole.result.events)).toEqual(rares)
  expect(whole.result.end).toBe(61_000)
  expect(whole.turns).toBeGreaterThanOrEqual(3)
  // A page may end within a window or at its end.
  expect(positions(await store.read({ types, limit: 2 }))).toEqual(rares.slice(0, 2))
  expect(positions(await store.read({ types, after: 20_001, limit: 2 }))).toEqual([20_002, 41_000])
  expect(positions(await store.read({ kind: 'token' }))).toEqual(rares)
  expect(positions(await store.read({ types, backward: true }))).toEqual([...rares].reverse())
  expect(positions(await store.read({ types, backward: true, after: 44_999, limit: 2 }))).toEqual([41_000, 20_002])
  expect(positions(await store.read({ types, backward: true, after: 1e15, limit: 1 }))).toEqual([61_000])
  expect((await store.readLast({ types }))?.position).toBe(61_000)
  expect(await store.read({ types: ['token.renewed'] })).toEqual([])
  const next = await countTurns(() => store.followers.next(20_002, types))
  expect(next.result).toBe(41_000)
  expect(await store.followers.next(61_000, types)).toBeUndefined()
})

test.each([
  ['forwards', 6],
  ['backwards', 4],
])('a page that leads %s to one place for ever is refused', (way, position) => {
  const page = readHeaders({ after: 5, backward: way === 'backwards' })
  page.next()
  expect(() => page.next([{ position }, { position }])).toThrow('out of order')
})
