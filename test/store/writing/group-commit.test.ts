import { expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createIds, systemEntropy } from '../../../src/runtime/entropy.ts'
import { Store } from '../../../src/store/store.ts'
import { WriterCache } from '../../../src/store/writing/writer-cache.ts'
import { appendTo } from '../append-to.ts'

/** A store in memory, and where the log ended after each of its commits. */
async function given() {
  const ends: number[] = []
  const store = await Store.open({
    path: ':memory:',
    views: [],
    clock: systemClock,
    entropy: systemEntropy,
    createId: createIds(systemClock, systemEntropy),
  })
  store.committed.add(position => void ends.push(position))
  // What opened it is not the one that asks next.
  await new Promise(resolve => setImmediate(resolve))
  return { store, ends }
}

/** Lets each append begin in a callback of its own, as when it came in over a socket: all in one turn of the loop. */
const inOneTurn = (store: Store, names: readonly string[]) =>
  Promise.all(
    names.map(
      name => new Promise<void>(done => setImmediate(() => void appendTo(store, name).then(() => done()))),
    ),
  )

test('appends of callbacks that follow one another share a commit, also after one that came alone', async () => {
  const { store, ends } = await given()
  await inOneTurn(store, ['a'])
  await inOneTurn(store, ['b', 'c', 'd'])
  expect(ends).toEqual([2, 5])
  await store.close()
})

test('appends of turns right after each other share a commit, up to the turn that brings none', async () => {
  const { store, ends } = await given()
  const appending: Promise<unknown>[] = []
  for (const name of ['a', 'b', 'c']) {
    appending.push(appendTo(store, name))
    await new Promise(resolve => setImmediate(resolve))
  }
  await Promise.all(appending)
  expect(ends).toEqual([4])
  await store.close()
})

test('a caller that asks again at once waits for no turn of the event loop', async () => {
  const { store, ends } = await given()
  await inOneTurn(store, ['a'])
  await appendTo(store, 'b')
  let turns = 0
  setImmediate(() => {
    turns += 1
  })
  for (const name of ['c', 'd', 'e']) await appendTo(store, name)
  expect({ turns, ends }).toEqual({ turns: 0, ends: [2, 3, 4, 5, 6] })
  await store.close()
})

test('callers who ask again together wait for no turn of the event loop', async () => {
  const { store, ends } = await given()
  const together = (...names: string[]) => Promise.all(names.map(name => appendTo(store, name)))
  await together('a', 'b', 'c')
  let turns = 0
  setImmediate(() => {
    turns += 1
  })
  await together('d', 'e', 'f')
  await together('g', 'h', 'i')
  expect({ turns, ends }).toEqual({ turns: 0, ends: [4, 7, 10] })
  await store.close()
})

test('callers who ask again together for ever let others in all the same', async () => {
  const { store } = await given()
  let isOver = false
  const ask = async (name: string) => {
    for (let n = 0; !isOver; n++) await appendTo(store, `${name}${n}`)
  }
  const asking = [ask('a'), ask('b')]
  await new Promise(resolve => setImmediate(resolve))
  isOver = true
  await Promise.all(asking)
  await store.close()
})

test('as many as before are waited for no longer only when they ask at once: from outside, others may come', async () => {
  const { store, ends } = await given()
  await inOneTurn(store, ['a', 'b'])
  const others = inOneTurn(store, ['c', 'd'])
  await new Promise(resolve => setImmediate(resolve))
  await Promise.all([others, appendTo(store, 'e')])
  expect(ends).toEqual([3, 6])
  await store.close()
})

test('what the appends of one commit owe is written down for each, however many there are', async () => {
  const { store, ends } = await given()
  const due = '2026-11-20T13:00:00.000Z'
  const names = Array.from({ length: 40 }, (_, n) => `validation-${n}`)
  await Promise.all(
    names.map(stream =>
      store.append({
        at: '2026-11-20T12:00:00.000Z',
        streams: [{ stream, expect: 'none' }],
        events: [
          {
            stream,
            event: {
              type: 'validation.requested',
              data: {},
              effects: [{ type: 'a.first', data: {}, dueAt: due }],
            },
            causedBy: 'validation.request',
            machine: { name: 'validation', version: 1 },
          },
        ],
      }),
    ),
  )
  expect(ends).toEqual([41])
  const owed = await store.effects({})
  expect(owed).toMatchObject(
    names.map(name => ({ id: `${name}/1/0`, state: 'owed', dueAt: due, attempts: 0 })),
  )
  expect(owed).toHaveLength(40)
  await store.close()
})

test('what is known of streams is bounded also while every append is turned away', async () => {
  const { store } = await given()
  await appendTo(store, 'a')
  const trim = vi.spyOn(WriterCache.prototype, 'trim')
  expect(await appendTo(store, 'a')).toMatchObject({ status: 'conflict' })
  expect(trim).toHaveBeenCalledOnce()
  trim.mockRestore()
  await store.close()
})
