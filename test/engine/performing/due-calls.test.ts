import { expect, test } from 'vitest'
import { DueCalls } from '../../../src/engine/performing/due-calls.ts'

const oneTurn = () => new Promise(resolve => setImmediate(resolve))

/** Calls that stay due until they are made. Each ends when the test ends it. */
function given(count: number, max: number) {
  const due = new Set(Array.from({ length: count }, (_, i) => `call-${i}`))
  const inProgress = new Map<string, PromiseWithResolvers<boolean>>()
  const time = { ms: 0, looks: 0 }
  const failed: unknown[] = []
  const calls = new DueCalls({
    find: async limit => {
      time.looks += 1
      const found = [...due].slice(0, limit)
      await oneTurn()
      return found
    },
    make(id) {
      const made = Promise.withResolvers<boolean>()
      inProgress.set(id, made)
      return made.promise
    },
    ...{ max, restMs: 1_000, nextDueAt: async () => 5_000 },
    ...{ elapsedMs: () => time.ms, now: () => time.ms, onFailed: error => void failed.push(error) },
  })
  /** Ends a call: it stays due, or is done. */
  const end = async (n: number, how: 'done' | 'due' | 'failed' = 'done') => {
    const id = `call-${n}`
    if (how === 'done') due.delete(id)
    const made = inProgress.get(id)
    inProgress.delete(id)
    if (how === 'failed') made?.reject(new TypeError(id))
    else made?.resolve(how === 'due')
    await oneTurn()
  }
  return { calls, due, inProgress, time, failed, end }
}

test('no more calls begin than there is room, and a hanging call blocks no other', async () => {
  const { calls, inProgress, end } = given(10, 4)
  expect(await calls.begin()).toBe(4)
  expect(await calls.begin()).toBe(0)
  for (let done = 1; done < 10; done++) {
    await end(done)
    expect(await calls.begin()).toBe(done < 7 ? 1 : 0)
  }
  expect([...inProgress.keys()]).toEqual(['call-0'])
})

test('a call that fails or stays due rests for a while, and the calls behind it are made', async () => {
  const { calls, time, failed, end } = given(5, 2)
  await calls.begin()
  await end(0, 'due')
  await end(1, 'failed')
  expect(failed).toMatchObject([{ message: 'call-1' }])
  expect(await calls.begin()).toBe(2)
  await end(2)
  await end(3)
  expect(await calls.begin()).toBe(1)
  await end(4)
  expect(await calls.begin()).toBe(0)
  time.ms += 1_000
  expect(await calls.begin()).toBe(2)
})

test('a resting call is made again even if the clock was set back', async () => {
  const { calls, time, end } = given(1, 2)
  time.ms = 3_600_000
  await calls.begin()
  await end(0, 'due')
  expect(await calls.begin()).toBe(0)
  time.ms = 0
  expect(await calls.begin()).toBe(1)
})

test('a call that ends while due calls are searched is not made again', async () => {
  const { calls, end } = given(3, 2)
  await calls.begin()
  await end(0)
  const looking = calls.begin()
  // The due calls were read before it ended.
  await end(1)
  expect(await looking).toBe(1)
  expect(await calls.begin()).toBe(0)
})

test('makeAll makes every due call with few searches, also behind many that are left to others', async () => {
  const { calls, due, time, inProgress, end } = given(1_000, 16)
  const making = calls.makeAll(new AbortController().signal)
  for (;;) {
    await oneTurn()
    const [next] = inProgress.keys()
    if (next === undefined) break
    const n = Number(next.slice(5))
    await end(n, n < 900 ? 'due' : 'done')
  }
  expect(await making).toBe(1_000)
  expect(due.size).toBe(900)
  expect(time.looks).toBeLessThan(20)
})
