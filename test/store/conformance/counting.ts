import { CompiledQuery } from 'kysely'
import type { Store } from '../../../src/store/store.ts'
import type { ViewProgress } from '../../../src/store/views/projector.ts'
import type { RecordedEvent } from '../../../src/vocabulary/message.ts'
import { defineView, integer, text, type View } from '../../../src/vocabulary/view.ts'
import { appendOf } from '../append-of.ts'

export interface Counted {
  readonly stream: string
  readonly n: number
}

/** What is wrong with a view at a position. */
export interface Breaks {
  at?: number
  with?: 'throw' | 'badCell' | 'drop'
}

/** A view that counts the events of each stream. With `breaks` it throws, writes an invalid cell or drops a row. */
export function counting(name: string, breaks: Breaks = {}): View {
  return defineView<Counted, RecordedEvent>({
    name,
    version: 1,
    kinds: ['bench'],
    columns: { stream: text(), n: integer() },
    key: ({ type, stream }) => (type === 'bench.done' ? stream : undefined),
    fold(row, { stream, position }) {
      if (position === breaks.at && breaks.with === 'throw') throw new RangeError('25774435016')
      if (position === breaks.at && breaks.with === 'drop') return undefined
      const n = (row?.n ?? 0) + 1
      // On purpose: the column is an integer.
      return { stream, n: position === breaks.at && breaks.with === 'badCell' ? ('x' as never) : n }
    },
  })
}

/** Appends `count` events to streams in turn, many at a time. */
export async function append(store: Store, count: number, streams = 10): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, i) => store.append(appendOf(`bench-${i % streams}`))))
}

export async function checkpointOf(store: Store, name: string): Promise<ViewProgress | undefined> {
  return (await store.viewProgress()).find(each => each.view === name)
}

export const rowsOf = async ({ database }: Store, name = 'counted') =>
  (await database.readOnly(CompiledQuery.raw(`select * from ${name} order by 1`))) as Counted[]
