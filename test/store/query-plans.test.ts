import { DatabaseSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { readConsent } from '../support/given-consent.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { useDatabase } from '../support/use-database.ts'
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
  for (const sql of asked) {
    const marks = [...sql.matchAll(/\?/g)].map(() => null)
    const explain = `explain query plan ${sql}`
    const plan = useDatabase(store, database => database.rows<{ detail: string }>(explain, ...marks))
    expect(plan.filter(({ detail }) => detail.startsWith('SCAN'))).toEqual([])
  }
})
