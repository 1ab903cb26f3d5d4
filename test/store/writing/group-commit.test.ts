import { expect, test } from 'vitest'
import { first } from '../../../src/store/database/connection.ts'
import type { Store } from '../../../src/store/store.ts'
import { openStore } from '../../support/store.ts'
import { appendOf } from '../append-of.ts'

const oneTurn = () => new Promise(resolve => setImmediate(resolve))

/** Opens a store in memory and counts its commits, and the turns of the event loop, from then on. */
async function given() {
  const store = await openStore()
  const { count } = store.changes
  // Otherwise the opening would count as the last caller.
  await oneTurn()
  return { store, commits: () => store.changes.count - count }
}

const appendTo = (store: Store, stream: string) => store.append(appendOf(stream, 'none'))

/** Begins each append in its own callback, as over sockets, all in one turn of the event loop. */
const inOneTurn = (store: Store, names: readonly string[]) =>
  Promise.all(names.map(name => oneTurn().then(() => appendTo(store, name))))

/** Whether the event loop had no turn during some work. */
async function isAtOnce(work: () => Promise<unknown>): Promise<boolean> {
  let turns = 0
  setImmediate(() => {
    turns += 1
  })
  await work()
  return turns === 0
}

test('appends of consecutive turns share a commit, up to a turn without a new one', async () => {
  const { store, commits } = await given()
  const appending: Promise<unknown>[] = []
  for (const name of ['a', 'b', 'c']) {
    appending.push(appendTo(store, name))
    await oneTurn()
  }
  await Promise.all(appending)
  expect(commits()).toBe(1)
})

test('a caller that appends again at once does not wait for a turn of the event loop', async () => {
  const { store, commits } = await given()
  await inOneTurn(store, ['a'])
  await appendTo(store, 'b')
  const again = async () => {
    for (const name of ['c', 'd', 'e']) await appendTo(store, name)
  }
  expect(await isAtOnce(again)).toBe(true)
  expect(commits()).toBe(5)
})

test('callers that append again together do not wait for a turn of the event loop', async () => {
  const { store, commits } = await given()
  const together = (names: string) => Promise.all([...names].map(name => appendTo(store, name)))
  await together('abc')
  expect(await isAtOnce(() => together('def').then(() => together('ghi')))).toBe(true)
  expect(commits()).toBe(3)
})

test('callers that append again together in a loop do not block the event loop', async () => {
  const { store } = await given()
  let isOver = false
  const ask = async (name: string) => {
    for (let n = 0; !isOver; n++) await appendTo(store, `${name}${n}`)
  }
  const asking = [ask('a'), ask('b')]
  await oneTurn()
  isOver = true
  await Promise.all(asking)
})

test('callers from outside are gathered with others even when as many wait as in the last commit', async () => {
  const { store, commits } = await given()
  await inOneTurn(store, ['a', 'b'])
  const others = inOneTurn(store, ['c', 'd'])
  await oneTurn()
  await Promise.all([others, appendTo(store, 'e')])
  expect(commits()).toBe(2)
})

test('an append that fails takes no number of a stream or an owner', async () => {
  const { store } = await given()
  const parts = { note: { owner: 'subject-new', value: 'x' } }
  const failing = store.append(appendOf('fails', 'none', [{ parts, data: { amount: 1.5 } }]))
  await expect(failing).rejects.toThrow('only safe integers')
  expect(await appendTo(store, 'bench-a')).toMatchObject({ status: 'appended' })
  const read = (sql: string) => store.database.read(() => first({ sql, parameters: [] }))
  expect(await read('select stream, owner from head')).toEqual(
    await read(
      'select (select max(key) from stream) as stream, (select coalesce(max(key), 0) from owner_key) as owner',
    ),
  )
})
