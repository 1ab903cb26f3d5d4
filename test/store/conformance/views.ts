import { CompiledQuery } from 'kysely'
import type { Store } from '../../../src/store/store.ts'
import type { ViewBound } from '../../../src/store/views/view-reader.ts'
import { openViews } from '../../../src/store/views/views-handle.ts'
import type { RecordedEvent } from '../../../src/vocabulary/message.ts'
import { defineView, integer, text } from '../../../src/vocabulary/view.ts'
import { appendOf } from '../append-of.ts'
import { append, type Breaks, type Counted, checkpointOf, counting, rowsOf } from './counting.ts'
import { type Harness, type Place, toStream } from './place.ts'

/** Tests the views of a store. `rowsOf` reads their tables directly, `shownTo` through a host's handle. */
export function viewConformance({ test, expect }: Harness, newPlace: () => Place): void {
  const onStore = (name: string, work: (store: Store) => Promise<void>) =>
    test(name, async () => work(await newPlace().open({ views: [counting('counted')] })))
  const fromHandle = (store: Store) => openViews<{ counted: Counted }>(store.viewReader).selectFrom('counted')
  const shownTo = (store: Store) => fromHandle(store).selectAll().orderBy('stream').execute()
  const tens = (n: number) => Array.from({ length: 10 }, (_, i) => ({ stream: `bench-${i}`, n }))

  onStore('a view is up to date after every append, and events of other types do not change it', async store => {
    await append(store, 30)
    await store.append(toStream('token-a', 'none'))
    expect(await rowsOf(store)).toEqual(tens(3))
    expect(await checkpointOf(store, 'counted')).toMatchObject({ isRunning: true, position: 32 })
  })

  onStore('a query within a loop over another one is answered', async store => {
    await append(store, 30)
    const seen: unknown[] = []
    for await (const { stream } of fromHandle(store).select('stream').stream())
      seen.push(...(await fromHandle(store).select('n').where('stream', '=', stream).execute()))
    expect(seen).toEqual(tens(3).map(({ n }) => ({ n })))
  })

  onStore('a view is built as of a position or an instant, from the log alone', async store => {
    const later = '2030-01-03T00:00:00.000Z'
    await append(store, 30)
    await store.append(appendOf('bench-0', 'any', [{}], { at: later }))
    const rowsAt = async (asOf: ViewBound) => {
      const rows = (await store.viewReader.asOf('counted', asOf)) as Counted[] // Its own rows.
      return rows.sort((a, b) => a.stream.localeCompare(b.stream))
    }
    expect(await rowsAt({ position: 1 })).toEqual([])
    expect(await rowsAt({ position: 11 })).toEqual(tens(1))
    expect(await rowsAt({ at: '2030-01-02T23:59:59.999Z' })).toEqual(tens(3))
    for (const asOf of [{ at: later }, {}]) expect((await rowsAt(asOf))[0]).toEqual({ stream: 'bench-0', n: 4 })
    await expect(store.viewReader.asOf('nothing', {})).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  test('a NUL in a text that a service sent is kept by its event, and replaced in a view', async () => {
    const noted = defineView<{ note: string; n: number }, RecordedEvent<string, { note: string }>>({
      name: 'noted',
      version: 1,
      kinds: ['bench'],
      columns: { note: text(), n: integer() },
      key: ({ type, data }) => (type === 'bench.noted' ? data.note : undefined),
      fold: (row, { data }) => ({ note: data.note, n: (row?.n ?? 0) + 1 }),
    })
    const store = await newPlace().open({ views: [noted] })
    const event = { type: 'bench.noted', data: { note: 'a\0b' } }
    for (const stream of ['bench-a', 'bench-b']) await store.append(appendOf(stream, 'none', [event]))
    expect(await rowsOf(store, 'noted')).toEqual([{ note: 'a\uFFFDb', n: 2 }])
    expect((await store.read({ stream: 'bench-a' })).map(({ data }) => data)).toEqual([event.data])
    expect(await store.rebuild()).toMatchObject([{ differences: 0 }])
  })

  for (const how of ['throw', 'badCell'] as const)
    test(`a view that fails (${how}) stops alone, keeps its rows, names the event, and can be rebuilt`, async () => {
      const breaks: Breaks = { at: 15, with: how }
      const stopped: string[] = []
      const views = [counting('counted', breaks), counting('steady')]
      const store = await newPlace().open({ views, onViewStopped: view => stopped.push(view) })
      for (let i = 0; i < 3; i++) await append(store, 10)
      expect(stopped).toEqual(['counted'])
      expect(await rowsOf(store)).toEqual(tens(1))
      await expect(shownTo(store)).rejects.toMatchObject({ code: 'VIEW_STOPPED' })
      // A single row is folded from the log instead.
      const find = (stream: string) => store.viewReader.find('counted', stream, stream)
      expect(await find('bench-0')).toEqual({ stream: 'bench-0', n: 3 })
      if (how === 'throw') await expect(find('bench-3')).rejects.toMatchObject({ code: 'VIEW_STOPPED' })
      const reason = expect.stringMatching(/ at position 15$/)
      expect(await checkpointOf(store, 'counted')).toMatchObject({ isRunning: false, position: 11, reason })
      expect(await checkpointOf(store, 'steady')).toMatchObject({ isRunning: true, position: 31 })
      delete breaks.at
      expect(await store.rebuild({ views: ['counted'] })).toMatchObject([{ rows: 10, differences: 10 }])
      await append(store, 10)
      expect(await shownTo(store)).toEqual(tens(4))
    })

  onStore('an aborted rebuild continues where it stopped, and its view stays readable meanwhile', async store => {
    await append(store, 1_500)
    const stop = new AbortController()
    const seen: number[] = []
    const onProgress = (_: string, position: number, end: number) => {
      seen.push(position)
      expect(end).toBeGreaterThanOrEqual(1_501)
      if (seen.length === 2) stop.abort()
    }
    expect(await store.rebuild({ signal: stop.signal, onProgress })).toEqual([])
    expect(seen).toEqual([250, 500])
    expect(await rowsOf(store)).toEqual(tens(150))
    await append(store, 10)
    const before = seen.at(-1) ?? 0
    seen.length = 0
    expect(await store.rebuild({ onProgress })).toMatchObject([{ rows: 10, differences: 0 }])
    expect(seen[0]).toBeGreaterThan(before)
    expect(await rowsOf(store)).toEqual(tens(151))
  })

  onStore("a host's handle reads views and writes nothing", async store => {
    await append(store, 10)
    for (const sql of [
      "insert into counted (stream, n) values ('bench-x', 1)",
      'select name from secret',
      'select n from counted where n in (select key from stream)',
    ])
      await expect(store.viewReader.readOnly(CompiledQuery.raw(sql))).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    expect(await shownTo(store)).toEqual(tens(1))
    expect(await rowsOf(store)).toEqual(tens(1))
  })
}
