import { expect, test } from 'vitest'
import type { RecordedEvent } from '../../../src/vocabulary/message.ts'
import { defineView, integer, text } from '../../../src/vocabulary/view.ts'
import { countTurns } from '../../support/count-turns.ts'
import { append, appendDuring, checkpointOf, counting, open, rowsOf, sumOf } from '../../support/counting.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'

test('a view that drops a row is stopped with the reason, and cannot be rebuilt either', async () => {
  const store = await open(temporaryStore(), [counting('fragile', { at: 15, with: 'drop' }), counting('steady')])
  for (let i = 0; i < 2; i++) await append(store, 10)
  const reason = 'RowDroppedError at position 15'
  expect(await checkpointOf(store, 'fragile')).toMatchObject({ isRunning: false, position: 11, reason })
  expect(await checkpointOf(store, 'steady')).toMatchObject({ isRunning: true })
  await expect(store.viewReader.asOf('fragile', { position: 21 })).rejects.toThrow('drops a row')
  await expect(store.rebuild({ views: ['fragile'] })).rejects.toThrow('drops a row')
})

test('a view left behind by an older version of the library catches up when a newer one opens the log', async () => {
  const path = temporaryStore()
  const first = await open(path, [counting('old'), counting('new')])
  await append(first, 20)
  await first.close()
  const older = await open(path, [counting('old')])
  await append(older, 20)
  const reason = 'a version of averba without this view wrote to the log'
  expect(await checkpointOf(older, 'new')).toMatchObject({ isRunning: false, position: 21, reason })
  await older.close()
  const newer = await open(path, [counting('old'), counting('new')])
  expect(await rowsOf(newer, 'new')).toEqual(await rowsOf(newer, 'old'))
  expect(await checkpointOf(newer, 'new')).toMatchObject({ isRunning: true })
})

test('a rebuild finds changed, missing and extra rows if asked to, names some, and corrects them', async () => {
  const path = temporaryStore()
  const store = await open(path, [counting('counted')])
  await append(store, 20)
  for (const compare of [true, false]) {
    useDatabase(path, database =>
      database.exec(`update counted set n = 9 where stream = 'bench-1'; delete from counted where stream = 'bench-2';
        insert into counted values ('bench-x', 1)`),
    )
    const [{ examples = [], ...rebuilt } = {}] = await store.rebuild({ compare })
    expect(rebuilt).toEqual({ view: 'counted', rows: 10, differences: compare ? 3 : 0 })
    expect([...examples].sort()).toEqual(compare ? ['bench-1', 'bench-2', 'bench-x'] : [])
    expect(await sumOf(store, 'counted')).toBe(20)
  }
  expect(await store.rebuild()).toMatchObject([{ differences: 0 }])
})

test('a view that is rebuilt during continuous appends misses no event', async () => {
  // The rebuild begins at another step of the appends each time.
  for (let steps = 0; steps < 20; steps++) {
    const breaks: { at?: number; with: 'throw' } = { at: 2, with: 'throw' }
    const store = await open(':memory:', [counting('fragile', breaks)])
    await append(store, 1)
    delete breaks.at
    const rebuild = async () => {
      for (let i = 0; i < steps; i++) await undefined
      return store.rebuild()
    }
    await appendDuring(rebuild(), store)
    await append(store, 1)
    const { isRunning, position = 0 } = (await checkpointOf(store, 'fragile')) ?? {}
    expect(isRunning).toBe(true)
    expect(await sumOf(store, 'fragile')).toBe(position - 1)
    await store.close()
  }
})

test('a rebuild, a catch-up and viewAsOf yield to the event loop, to appends and to signals', async () => {
  const path = temporaryStore()
  const views = [counting('fragile', { at: 3, with: 'throw' }), counting('steady')]
  const broken = await open(path, views)
  await append(broken, 5_000)
  await broken.close()
  const { result: store, turns } = await countTurns(() => open(path, [counting('fragile'), counting('steady')]))
  expect(turns).toBeGreaterThan(10)
  expect((await countTurns(() => store.viewReader.asOf('steady', {}))).turns).toBeGreaterThan(3)
  expect((await countTurns(() => store.rebuild())).turns).toBeGreaterThan(20)
  const stop = new AbortController()
  setImmediate(() => stop.abort())
  expect(await store.rebuild({ signal: stop.signal })).toEqual([])
  // Continuous appends do not keep a rebuild from finishing.
  const { appended, result } = await appendDuring(store.rebuild(), store)
  expect(result).toMatchObject([{ differences: 0 }, { differences: 0 }])
  expect(appended).toBeGreaterThan(10)
  expect(await sumOf(store, 'fragile')).toBe(5_000 + appended)
})

test('a column that a fold leaves out is empty for the next event, in kept and rebuilt views', async () => {
  const view = defineView<{ stream: string; first?: number | null; told?: string | null }, RecordedEvent>({
    name: 'firsts',
    version: 1,
    kinds: ['bench'],
    columns: { stream: text(), first: integer<number | null>(), told: text<string | null>() },
    key: ({ type, stream }) => (type === 'bench.done' ? stream : undefined),
    // Frozen: no other code may write to a fold's row.
    fold: (row, { stream, position }) =>
      Object.freeze(row ? { stream, told: `${row.first}` } : position % 2 === 0 ? { stream } : { stream, first: 1 }),
  })
  const store = await open(':memory:', [view])
  await append(store, 30)
  expect(await store.rebuild()).toMatchObject([{ rows: 10, differences: 0 }])
  const rows = await store.viewReader.asOf('firsts', {})
  expect(rows).toEqual(rows.map(() => expect.objectContaining({ told: 'null' })))
})
