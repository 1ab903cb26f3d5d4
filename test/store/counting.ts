import { createIds, systemClock, systemEntropy } from '../../src/clock.ts'
import type { Recorded } from '../../src/message.ts'
import { Store } from '../../src/store/store.ts'
import { defineView, type View } from '../../src/view.ts'

/** Counts the events of each stream; told to, it fails, or writes what its table does not take. */
export function counting(
  name: string,
  breaks: { at?: number; with?: 'throw' | 'badCell' | 'drop' } = {},
): View {
  return defineView<{ stream: string; n: number }, Recorded>({
    name,
    version: 1,
    columns: { stream: 'text', n: 'integer' },
    key: ({ type, stream }) => (type === 'bench.done' ? stream : undefined),
    fold(row, { stream, position }) {
      if (position === breaks.at && breaks.with === 'throw') throw new RangeError('25774435016')
      if (position === breaks.at && breaks.with === 'drop') return undefined
      const n = (row?.n ?? 0) + 1
      return { stream, n: position === breaks.at && breaks.with === 'badCell' ? ('x' as never) : n }
    },
  })
}

/** Opens a store with these views. */
export const open = (path: string, views: readonly View[], onViewStopped = (_: string) => {}) =>
  Store.open({
    path,
    views,
    onViewStopped,
    clock: systemClock,
    entropy: systemEntropy,
    createId: createIds(systemClock, systemEntropy),
  })

/** Appends so many events to streams in turn, many at a time. */
export async function append(store: Store, count: number, streams = 10): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, i) => {
      const stream = `bench-${i % streams}`
      const event = { type: 'bench.done', data: {} }
      const machine = { name: 'bench', version: 1 }
      return store.append({
        at: '2030-01-01T00:00:00.000Z',
        streams: [{ stream, expect: 'any' }],
        events: [{ stream, event, because: 'bench.do', machine }],
      })
    }),
  )
}

/** The rows of a view that counts. */
export const rowsOf = async (store: Store, name: string) => {
  const sql = `select * from ${name} order by stream`
  const query = { sql, parameters: [], query: undefined as never, queryId: undefined as never }
  return (await store.reader.readOnly(query)) as { stream: string; n: number }[]
}
/** How many events a view has counted. */
export const sumOf = async (store: Store, name: string) =>
  (await rowsOf(store, name)).reduce((sum, row) => sum + row.n, 0)
/** How far a view has come. */
export const checkpointOf = async (store: Store, name: string) =>
  (await store.checkpoints()).find(each => each.view === name)
