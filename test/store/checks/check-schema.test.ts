import { expect, test } from 'vitest'
import { diagnoseStore, examine, verifyLog } from '../../../src/index.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine } from '../../support/world.ts'

/** A store of a few events, changed by a statement while it is closed. */
async function givenChanged(sql: string): Promise<string> {
  const store = temporaryStore()
  const averba = await openEngine({ store })
  await averba.consents.enrol({ cpf: '52998224725' })
  await averba.close()
  useDatabase(store, database => database.exec(sql))
  return store
}

test.each([
  [
    "create trigger silent after insert on event begin update effect set state = 'pending'; end",
    'it has a foreign trigger "silent"',
  ],
  ['drop trigger event_no_update', 'its trigger "event_no_update" is missing'],
  [
    'drop trigger event_no_update; create trigger event_no_update before update on event begin select 1; end',
    'its trigger "event_no_update" was changed',
  ],
  ['drop index effect_due', 'its index "effect_due" is missing'],
  ['drop table lease; create view lease as select 1 as name', 'its view "lease" was changed'],
  ['create view events as select * from event', 'it has a foreign view "events"'],
  ['create unique index one on receipt (code)', 'it has a foreign index "one"'],
  ['alter table secret add column more text', 'its table "secret" was changed'],
])('a file whose schema was changed (%s) is not opened, and doctor says why', async (sql, fault) => {
  const store = await givenChanged(sql)
  const hint = expect.stringContaining('restore a backup')
  const refused = { code: 'CORRUPT', message: `Cannot open "${store}": ${fault}`, hint }
  await expect(openEngine({ store })).rejects.toMatchObject(refused)
  const { ok, checks } = await examine({ store })
  expect(ok).toBe(false)
  const reported = { name: 'store', ok: false, detail: expect.stringContaining(fault) }
  expect(checks).toContainEqual(expect.objectContaining(reported))
})

test('tables and indexes of the host beside ours are let be', async () => {
  const store = await givenChanged('create table mine (a); create index mine_a on mine (a)')
  await openEngine({ store })
  expect((await examine({ store })).checks.find(({ name }) => name === 'store')).toMatchObject({ ok: true })
})

test('a view in the place of a table is not read by what verifies or diagnoses a file', async () => {
  const endless = 'with recursive n (i) as (select 1 union all select i + 1 from n) select i as position from n'
  const store = await givenChanged(`alter table event rename to e; create view event as ${endless}`)
  const refused = { code: 'CORRUPT', message: expect.stringContaining('its view "event" was changed') }
  await expect(verifyLog({ store })).rejects.toMatchObject(refused)
  await expect(diagnoseStore({ store })).rejects.toMatchObject(refused)
})
