import { expect, test } from 'vitest'
import type { Steps } from '../../../src/store/database/connection.ts'
import { HeaderReader } from '../../../src/store/log/header.ts'
import { readOrSearch, readWithEnd } from '../../../src/store/log/read.ts'
import { countTurns } from '../../support/count-turns.ts'
import { refuses } from '../../support/refuses.ts'
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
  expect(next.turns).toBeGreaterThanOrEqual(1)
  expect(await store.followers.next(61_000, types)).toBeUndefined()
})

/** A reader of a damaged table: whatever is asked, it has the rows of these positions. */
const damagedAt = (...positions: number[]) => ({
  async read<T>(steps: () => Steps<T>): Promise<T> {
    const row = (position: number) => ({ position, header: JSON.stringify({ position, type: rare }), tag: '' })
    const work = steps()
    let step = work.next()
    while (!step.done) step = work.next(positions.map(row))
    return step.value
  },
})

test.each([
  [{ after: 5 }, 6],
  [{ after: 5, backward: true }, 4],
  [{ after: 5, types: [rare] }, 6],
])('a page (%j) that leads back is read up to there, and no further', async (filter, position) => {
  const headers = new HeaderReader({})
  expect((await readWithEnd(damagedAt(position, position), headers, filter)).events).toHaveLength(1)
  for (const back of [[position, position], [5]])
    await refuses('CORRUPT', readOrSearch(damagedAt(...back), headers, filter), {
      message: expect.stringContaining('out of order'),
    })
  await refuses('CORRUPT', readWithEnd(damagedAt(5), headers, filter))
})
