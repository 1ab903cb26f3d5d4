import { hash } from 'node:crypto'
import { openAverba } from '../../src/index.ts'
import { views } from '../../src/views/views.ts'

/**
 * What a log says, as JSON: the types of its events, a digest of their data by type, as they are read today, and the
 * rows of every view that has any. Left out is what opening the log adds to it.
 */
export async function readLogContent(store: string): Promise<string> {
  const averba = await openAverba({ store })
  const all = await Array.fromAsync(averba.log.read())
  const events = all.filter(({ type }) => type !== 'log.machinesAdded')
  const digests: Record<string, string> = {}
  for (const [type, some] of Map.groupBy(events, event => event.type))
    digests[type] = hash('sha256', JSON.stringify(some))
  const rows: Record<string, unknown[]> = {}
  for (const { name } of views) {
    const all = await averba.views
      .selectFrom(name as 'consents')
      .selectAll()
      .execute()
    if (all.length > 0) rows[name] = all.map(row => JSON.stringify(row)).sort()
  }
  await averba.close()
  const types = events.map(({ position, type }) => `${position} ${type}`)
  return `${JSON.stringify({ events: types, digests, rows }, null, 2)}\n`
}
