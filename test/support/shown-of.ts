import { hash } from 'node:crypto'
import { openAverba, type Recorded } from '../../src/index.ts'
import { views } from '../../src/views/views.ts'

/**
 * What a log says, as JSON: the types of its events, a digest of their data by type, as they are read today, and the
 * rows of every view that has any. Left out is what opening the log adds to it.
 */
export async function readLogContent(store: string): Promise<string> {
  const averba = await openAverba({ store })
  const types: string[] = []
  const byType: Record<string, Recorded[]> = {}
  for await (const event of averba.log.read()) {
    if (event.type === 'log.machinesAdded') continue
    types.push(`${event.position} ${event.type}`)
    byType[event.type] = [...(byType[event.type] ?? []), event]
  }
  const rows: Record<string, unknown[]> = {}
  for (const { name } of views) {
    const all = await averba.views
      .selectFrom(name as 'consents')
      .selectAll()
      .execute() // Any of them.
    if (all.length > 0) rows[name] = all.map(row => JSON.stringify(row)).sort()
  }
  await averba.close()
  const digests = Object.fromEntries(
    Object.entries(byType).map(([type, events]) => [type, hash('sha256', JSON.stringify(events))]),
  )
  return `${JSON.stringify({ events: types, digests, rows }, null, 2)}\n`
}
