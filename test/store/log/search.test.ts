import { expect, test } from 'vitest'
import { countTurns } from '../../support/count-turns.ts'
import { openStore } from '../../support/store.ts'
import { appendOf } from '../append-of.ts'

const rare = 'token.locked'

/** Makes a log of `count` events with rare ones at some positions. */
async function given(count: number, rares: readonly number[]) {
  const store = await openStore()
  const isRare = new Set(rares)
  const began = (await store.readLast())?.position ?? 0
  for (let position = began + 1; position <= count; ) {
    const types = Array.from({ length: Math.min(1_000, count + 1 - position) }, (_, i) => ({
      type: isRare.has(position + i) ? rare : 'subject.synced',
    }))
    await store.append(appendOf(`subject-${position}`, 'none', types))
    position += types.length
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
  const far = { types, after: Number.MAX_SAFE_INTEGER }
  expect(positions(await store.read({ ...far, backward: true, limit: 1 }))).toEqual([61_000])
  expect(await store.read(far)).toEqual([])
  expect((await store.readLast({ types }))?.position).toBe(61_000)
  expect(await store.read({ types: ['token.renewed'] })).toEqual([])
  const next = await countTurns(() => store.followers.next(20_002, types))
  expect(next.result).toBe(41_000)
  expect(next.turns).toBeGreaterThanOrEqual(1)
  expect(await store.followers.next(61_000, types)).toBeUndefined()
})
