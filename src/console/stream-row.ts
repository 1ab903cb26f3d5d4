import type { Averba, Views } from '../index.ts'

/** The view that has the rows of each kind of stream. Its key has the name of the kind. */
const viewOf = new Map<string, StreamView>([
  ['consent', 'consents'],
  ['validation', 'validations'],
  ['notification', 'notifications'],
  ['subscription', 'subscriptions'],
])

type StreamView = 'consents' | 'validations' | 'notifications' | 'subscriptions'

export type StreamRow = Views[StreamView]

/** Finds the row of a stream, now or at a past position; `undefined` for a kind without a view. */
export async function findStreamRow(averba: Averba, stream: string, position?: number): Promise<StreamRow | undefined> {
  const kind = stream.split('-', 1)[0] ?? ''
  const view = viewOf.get(kind)
  if (!view) return undefined
  if (position !== undefined) {
    const past: readonly StreamRow[] = await averba.viewAsOf(view, { position })
    return past.find(row => Object.entries(row).some(([name, value]) => name === kind && value === stream))
  }
  const { ref, table } = averba.views.dynamic
  const rows = averba.views.selectFrom(table(view).as('rows')).selectAll()
  const row = await rows.where(ref(kind), '=', stream).executeTakeFirst()
  return row as StreamRow | undefined // The view of this name has these rows.
}
