import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/runtime/clock.ts'
import type { Connection } from '../../../src/store/database/connection.ts'
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import { HeaderReader } from '../../../src/store/log/header.ts'
import type { Store } from '../../../src/store/store.ts'
import { catchUp } from '../../../src/store/views/folding.ts'
import { Projector } from '../../../src/store/views/projector.ts'
import { rebuildAll } from '../../../src/store/views/rebuilder.ts'
import { ViewReader } from '../../../src/store/views/view-reader.ts'
import type { View } from '../../../src/vocabulary/view.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { append, type Breaks, checkpointOf, counting, open, rowsOf, sumOf } from '../../support/counting.ts'
import { refuses } from '../../support/refuses.ts'
import { copyStore } from '../../support/sample-store.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { type ObservedSteps, observed, observeSteps, withHook, withHooks } from '../watched.ts'

const view = counting('counted')
const streams = 1_250
const events = 2_625

/** A closed log whose view needs several transactions of rows: most streams have two events, some have three. */
async function makeSample(times = 1): Promise<string> {
  const path = temporaryStore()
  const store = await open(path, [view])
  await append(store, events * times, streams * times)
  await store.close()
  return path
}

const sample = await makeSample()

const nothing = () => undefined
const headers = new HeaderReader({})
const rebuildViews = (connection: Connection, views: readonly View[], rowsMax = 100_000) =>
  rebuildAll({ connection, headers, clock: systemClock, rowsMax, onRejoined: nothing, onTrouble: nothing }, views, {})
const rebuild = async (connection: Connection, rowsMax?: number) => (await rebuildViews(connection, [view], rowsMax))[0]

async function given(path = copyStore(sample)) {
  return { path, connection: closeAtEnd(await openSqlite(path)) }
}

/** Edits a closed log without the store, and returns the rows of the last statement. */
function edit(path: string, sql: string): unknown[] {
  return useDatabase(path, database => {
    const statement = database.prepare(sql)
    return statement.columns().length > 0 ? database.column(sql) : [statement.run().changes]
  })
}
const leftOf = (path: string, like = "'discarded%' or name like '%_next'") =>
  edit(path, `select name from sqlite_schema where name like ${like}`)

/** Checks that every stream is counted as in the log, and that the next append is counted too. */
async function checkRight(store: Store, count: number): Promise<void> {
  const expected = new Map<string, number>()
  // The events of the sample, then those appended in tens.
  for (let i = 0; i < count; i++) {
    const stream = `bench-${i < events ? i % streams : (i - events) % 10}`
    expected.set(stream, (expected.get(stream) ?? 0) + 1)
  }
  const rows = await rowsOf(store)
  const wrong = rows.filter(({ stream, n }) => n !== expected.get(stream))
  expect([rows.length, wrong]).toEqual([streams, []])
  expect(await checkpointOf(store, 'counted')).toMatchObject({ isRunning: true, position: count + 1 })
}

test('no transaction of a rebuild is as long as its view, and the swap moves no row', async () => {
  const path = temporaryStore()
  const store = await open(path, [view])
  await append(store, 8_000, 8_000)
  await store.close()
  // Every row differs, so the comparison has as much to do as possible.
  edit(path, 'update counted set n = 7')
  const done: ObservedSteps[] = []
  const connection = closeAtEnd(await openSqlite(path))
  const counted = observed(connection, each => done.push(each))
  expect(await rebuild(counted)).toMatchObject({ rows: 8_000, differences: 8_000 })
  expect(done.reduce((sum, { rows }) => sum + rows, 0)).toBeGreaterThan(4 * 8_000)
  expect(Math.max(...done.map(({ rows }) => rows))).toBeLessThan(1_100)
  const swap = done.filter(({ statements }) => statements.includes('alter table counted_next rename to counted'))
  expect(swap).toHaveLength(1)
  // The names of the tables, and two marks.
  expect(swap[0]?.rows).toBeLessThan(40)
  expect(leftOf(path)).toEqual([])
  expect(edit(path, 'select distinct n from counted')).toEqual([1])
})

test('reading a long log holds one page of it, and a rebuild as many rows as allowed', async () => {
  const { path, connection } = await given(await makeSample(2))
  const maxima = { read: 0, unwritten: 0 }
  let [unwritten, total] = [0, 0]
  const counted = withHooks(connection, {
    transact: (steps, run) => run(() => observeSteps(steps, () => (unwritten = 0))),
    read: (steps, run) =>
      run(() =>
        observeSteps(steps, ({ rows, statements }) => {
          maxima.read = Math.max(maxima.read, rows)
          total += rows
          if (statements.some(sql => sql.includes('header'))) unwritten += rows
          maxima.unwritten = Math.max(maxima.unwritten, unwritten)
        }),
      ),
  })
  expect(await rebuild(counted, 500)).toMatchObject({ rows: 2 * streams, differences: 0 })
  // A page, its previous rows and the mark: each event of the first half has its own row.
  expect(maxima.read).toBeLessThan(600)
  expect(maxima.unwritten).toBeLessThan(2 * (500 + 250) + 50)
  expect(total).toBeGreaterThan(4 * streams)
  maxima.read = 0
  const reader = new ViewReader({ connection: counted, headers, views: [view] })
  expect(await reader.asOf(view.name, {})).toHaveLength(2 * streams)
  expect(maxima.read).toBe(1_000)
  edit(path, "update head set views = ''")
  edit(path, 'update projection set position = 1')
  edit(path, 'delete from counted')
  maxima.read = 0
  await catchUp({ connection: counted, headers, onRejoined: nothing }, view)
  expect(maxima.read).toBeLessThan(600)
  const store = await open(path, [view])
  expect([(await rowsOf(store)).length, await sumOf(store, view.name)]).toEqual([2 * streams, 2 * events])
  expect(await store.read({})).toHaveLength(1_000)
})

test('one pass builds all views, from where each is, and a view that fails does not hold up the others', async () => {
  const [throwing, unstorable]: [Breaks, Breaks] = [{}, {}]
  const broken = [counting('throwing', throwing), counting('unstorable', unstorable)]
  // One is of another version in the file, and one is taken over by another process.
  const [newer, taken] = [{ ...counting('newer'), version: 2 }, counting('taken')]
  const views = [counting('ahead'), taken, ...broken, view]
  const path = temporaryStore()
  const store = await open(path, [counting('newer'), ...views])
  await append(store, 3_000)
  const stop = new AbortController()
  await store.rebuild({ views: ['ahead'], signal: stop.signal, onProgress: () => stop.abort() })
  await store.close()
  for (const { name } of views) edit(path, `update ${name} set n = 7`)
  Object.assign(throwing, { at: 2_000, with: 'throw' })
  Object.assign(unstorable, { at: 2_500, with: 'badCell' })
  const [one, other] = [closeAtEnd(await openSqlite(path)), closeAtEnd(await openSqlite(path))]
  let [read, reads] = [0, 0]
  const counted = observed(one, ({ rows, statements }) => {
    if (statements.some(sql => sql.includes('header'))) read += rows
  })
  const late = withHook(counted, async (steps, run) => {
    if (++reads === 6) await rebuildViews(other, [taken])
    return run(steps)
  })
  await refuses('STORE_BUSY', rebuildViews(late, [newer, ...views]))
  expect(read).toBeLessThan(3_500)
  expect(views.flatMap(({ name }) => edit(path, `select sum(n) from ${name}`))).toEqual([3_000, 3_000, 70, 70, 3_000])
})

/** Makes the process die at its nth transaction, before it or after its commit. */
function dyingAt(connection: Connection, nth: number, when: 'before' | 'after'): Connection {
  let count = 0
  return withHooks(connection, {
    async transact(steps, run) {
      count += 1
      if (count === nth && when === 'before') throw new RangeError('died')
      const result = await run(steps)
      if (count === nth) throw new RangeError('died')
      return result
    },
  })
}

test.each([
  ['before', 100_000],
  ['after', 600],
] as const)(
  'a process that dies %s any transaction of a rebuild holding %i rows leaves one complete table',
  async (when, rowsMax) => {
    const resumed: number[] = []
    let isOver = false
    for (let nth = 1; !isOver; nth++) {
      const { path, connection } = await given()
      const error = await rebuild(dyingAt(connection, nth, when), rowsMax).then(nothing, thrown => thrown)
      isOver = error === undefined
      if (!isOver) expect(error).toEqual(new RangeError('died'))
      await connection.close()
      const again = await open(path, [view])
      await expect.poll(() => leftOf(path, "'discarded%'"), { interval: 2 }).toEqual([])
      await checkRight(again, events)
      // Continues where it was, past the events appended since.
      await append(again, 700)
      await checkRight(again, events + 700)
      const seen: number[] = []
      const found = await again.rebuild({ onProgress: (_, position) => seen.push(position) })
      expect(found).toEqual([{ view: 'counted', rows: streams, differences: 0, examples: [] }])
      resumed.push(seen.length)
      await append(again, 10)
      await checkRight(again, events + 710)
      await again.close()
      expect(leftOf(path)).toEqual([])
    }
    // A beginning, the writes, the swap, and the deletion of the old table in steps.
    expect(resumed.length).toBeGreaterThan(7)
    // Saved rows were not built again.
    expect(Math.min(...resumed)).toBeLessThan(Math.max(...resumed))
  },
)

test('a rebuild that dies repeatedly while it resumes still ends with correct rows', async () => {
  const path = copyStore(sample)
  for (const nth of [2, 2, 1, 2, 3]) {
    const connection = await openSqlite(path)
    await expect(rebuild(dyingAt(connection, nth, 'after'))).rejects.toThrow('died')
    await connection.close()
    const store = await open(path, [view])
    await checkRight(store, events)
    await store.close()
  }
  const store = await open(path, [view])
  expect(await store.rebuild()).toMatchObject([{ rows: streams, differences: 0 }])
  await checkRight(store, events)
})

test('differences are exact while others append to the compared rows', async () => {
  const { path, connection } = await given()
  edit(path, "update counted set n = 90 where stream in ('bench-0', 'bench-1', 'bench-750', 'bench-1200')")
  edit(path, "delete from counted where stream in ('bench-2', 'bench-1150')")
  edit(path, "insert into counted values ('bench-x', 1)")
  const store = await open(path, [view])
  let appended = 0
  const busy = withHook(connection, async (steps, run) => {
    await append(store, 10)
    appended += 10
    return run(steps)
  })
  // The missing row was made again by an append, and counts from there.
  expect(await rebuild(busy)).toMatchObject({ rows: streams, differences: 7 })
  expect(appended).toBeGreaterThan(200)
  await append(store, 10)
  await checkRight(store, events + appended + 10)
})

test('a new rebuild takes over: the earlier one fails at its next step and corrupts nothing', async () => {
  let isOver = false
  let differing = 0
  for (let nth = 1; !isOver; nth++) {
    const { path, connection } = await given()
    const other = await open(path, [view])
    let count = 0
    const late = withHook(connection, async (steps, run) => {
      count += 1
      if (count === nth) expect(await other.rebuild()).toMatchObject([{ rows: streams, differences: 0 }])
      return run(steps)
    })
    const error = await rebuild(late).then(nothing, thrown => thrown)
    if (error !== undefined) {
      expect(error).toMatchObject({ code: 'STORE_BUSY', message: expect.stringMatching(/another process/) })
      differing += 1
    }
    isOver = count < nth
    await connection.close()
    await append(other, 10)
    await checkRight(other, events + 10)
    await other.close()
    expect(leftOf(path)).toEqual([])
  }
  expect(differing).toBeGreaterThan(10)
})

test('a rebuild never replaces rows of one version with those of another', async () => {
  const { path, connection } = await given()
  const newer = { ...view, version: 2 }
  let count = 0
  const late = withHooks(connection, {
    async transact(steps, run) {
      count += 1
      if (count === 3) {
        // The other rebuild has come this far when it opens the log.
        const other = closeAtEnd(await openSqlite(path))
        await other.transact(() => new Projector(other, [newer]).createTables())
      }
      return run(steps)
    },
  })
  // Neither does one that begins afterwards.
  for (const each of [late, connection]) await expect(rebuild(each)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  expect(edit(path, "select version || ' ' || views from projection, head")).toEqual(['2 '])
  const store = await open(path, [newer])
  await checkRight(store, events)
  await expect.poll(() => leftOf(path)).toEqual([])
})

test('a rebuilt view keeps its indexes, and no transaction builds them for all rows', async () => {
  const path = copyStore(sample)
  const indexesOf = () => edit(path, "select name from pragma_index_list('counted') where origin = 'c'")
  const store = await open(path, [{ ...view, version: 2, indexes: ['n'] }])
  const names = [indexesOf()]
  for (let round = 0; round < 2; round++) {
    await store.rebuild()
    names.push(indexesOf())
  }
  for (const each of names) expect(each).toEqual([expect.stringMatching(/^counted_n_\d+$/)])
  expect(new Set(names.flat()).size).toBe(3)
  expect(edit(path, "select count(*) from sqlite_schema where sql like 'create index counted_n%'")).toEqual([1])
})

function damage(path: string, table: string): void {
  const page = Number(edit(path, `select rootpage from sqlite_schema where name = '${table}'`)[0])
  writeFileSync(path, readFileSync(path).fill(0xee, (page - 1) * 4_096, page * 4_096))
}

test('a damaged table of one view does not keep the others from being rebuilt', async () => {
  const { path, connection } = await given()
  const views = [view, counting('other')]
  await (await open(path, views)).close()
  damage(path, 'counted')
  edit(path, 'update other set n = 7')
  await refuses('CORRUPT', rebuildViews(connection, views))
  expect(edit(path, 'select sum(n) from other')).toEqual([events])
})

test('a damaged discarded table does not stop a rebuild, and is reported', async () => {
  const path = temporaryStore()
  await (await open(path, [view])).close()
  edit(path, 'create table discarded_1 (stream text, n integer)')
  edit(path, "insert into discarded_1 values ('x', 1)")
  edit(path, 'create table discarded_2 (stream text, n integer)')
  damage(path, 'discarded_1')
  const troubles: string[] = []
  const store = await openStore({ path, views: [view], onTrouble: what => troubles.push(what) })
  await append(store, 10)
  expect(await store.rebuild()).toMatchObject([{ view: view.name, differences: 0 }])
  await store.close()
  expect(new Set(troubles)).toEqual(new Set(['discarded tables could not be removed']))
  // It does not keep the others from being removed.
  expect(leftOf(path)).toEqual(['discarded_1'])
})

test('opening does not wait for discarded tables to be removed, and closing stops the removal', async () => {
  const path = temporaryStore()
  await (await open(path, [view])).close()
  edit(path, 'create table discarded_1 (stream text, n integer)')
  const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000)'
  edit(path, `insert into discarded_1 ${numbers} select 'x', i from n`)
  const left = () => Number(edit(path, 'select count(*) from discarded_1')[0])
  const before = left()
  expect(before).toBeGreaterThan(40_000)
  const first = await open(path, [view])
  expect(left()).toBeGreaterThan(before - 5_000)
  await append(first, 10)
  await first.close()
  expect(leftOf(path)).toEqual(['discarded_1'])
  await open(path, [view])
  await expect.poll(() => leftOf(path)).toEqual([])
})
