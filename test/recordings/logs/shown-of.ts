import { hash } from 'node:crypto'
import { openAverba, type Recorded } from '../../../src/index.ts'
import { views } from '../../../src/views/views.ts'

/** What a log says: its events, as they are read today, and the rows of every view. */
export async function readLogContent(store: string): Promise<Record<string, unknown>> {
  const averba = await openAverba({ store })
  const types: string[] = []
  const events: Recorded[] = []
  for await (const event of averba.log.read()) {
    types.push(`${event.position} ${event.type}`)
    events.push(event)
  }
  const rows: Record<string, unknown[]> = {}
  for (const { name } of views) {
    const all = await averba.views
      .selectFrom(name as 'consents')
      .selectAll()
      .execute() // Any of them.
    rows[name] = all.map(row => JSON.stringify(row)).sort()
  }
  await averba.close()
  return { events: types, digest: hash('sha256', JSON.stringify(events)), rows }
}
