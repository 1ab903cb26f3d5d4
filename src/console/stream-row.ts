import type { Averba, Views } from '../index.ts'

/** The view that has the rows of each kind of stream. Its key has the name of the kind. */
const viewOf = {
  consent: 'consents',
  validation: 'validations',
  notification: 'notifications',
  subscription: 'subscriptions',
} as const

type ViewedKind = keyof typeof viewOf

/** The row of a stream in its view. */
export type StreamRow = Views[(typeof viewOf)[ViewedKind]]

/** Finds the row of a stream, now or at a past position; `undefined` for a kind without a view. */
export async function findStreamRow(averba: Averba, stream: string, position?: number): Promise<StreamRow | undefined> {
  const kind = stream.split('-', 1)[0] ?? ''
  if (!Object.hasOwn(viewOf, kind)) return undefined
  const view = viewOf[kind as ViewedKind] // Checked before.
  if (position !== undefined) {
    const past: readonly StreamRow[] = await averba.viewAsOf(view, { position })
    return past.find(row => (row as unknown as Record<string, unknown>)[kind] === stream) // Its key is a column.
  }
  // The key's name depends on the view, which the types of a query cannot follow.
  const rows = averba.views.selectFrom(view as 'consents').selectAll()
  return (await rows.where(kind as 'consent', '=', stream).execute())[0]
}
