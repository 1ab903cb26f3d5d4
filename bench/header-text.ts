import type { Store } from '../src/store/store.ts'

/** The exact text of the newest event's header, as the store wrote it: what the raw baseline inserts too. */
export async function readHeaderText(store: Store): Promise<string> {
  const [row] = await store.database.readOnly({
    sql: 'select header from event order by position desc limit 1',
    parameters: [],
    query: undefined as never, // Only a compiled query has one, and nobody reads it here.
    queryId: undefined as never,
  })
  return (row as { header: string }).header // As asked.
}
