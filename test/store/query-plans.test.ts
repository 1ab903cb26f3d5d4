import { DatabaseSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { readConsent } from '../support/given-consent.ts'
import { Sqlite } from '../support/sqlite.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openWorld } from '../support/world.ts'

test('the calls of a stream are found without reading the whole ledger', async () => {
  const store = temporaryStore()
  const world = await openWorld({ averba: { store } })
  await readConsent(world)
  const prepared = vi.spyOn(DatabaseSync.prototype, 'prepare')
  await world.averba.subjects.report({ cpf: world.samples.cpf })
  const asked = prepared.mock.calls.map(([sql]) => sql).filter(sql => /from "effect" .* as "owner"/.test(sql))
  prepared.mockRestore()
  expect(asked.length).toBeGreaterThan(0)
  const database = new Sqlite(store, { readOnly: true })
  for (const sql of asked) {
    const marks = [...sql.matchAll(/\?/g)].map(() => null)
    const plan = database.rows<{ detail: string }>(`explain query plan ${sql}`, ...marks)
    expect(plan.filter(({ detail }) => detail.startsWith('SCAN'))).toEqual([])
  }
  database.close()
})
