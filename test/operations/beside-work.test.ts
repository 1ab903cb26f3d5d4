import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { copyStore, diagnoseStore, openAverba } from '../../src/index.ts'
import { samples } from '../../src/simulation/index.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { useDatabase } from '../support/use-database.ts'
import { openEngine } from '../support/world.ts'

async function makeLog() {
  const store = temporaryStore()
  const averba = await openAverba({ store, schedules: false })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.close()
  return { store, subject }
}

/** The keyring of a log, and what happens before it is read for the nth time. */
function keyringThat(store: string, reads: number, happens: () => Promise<unknown> | unknown) {
  let count = 0
  const keyring = {
    name: 'keyring of the test',
    async read() {
      count += 1
      if (count === reads) await happens()
      const text = readFileSync(`${store}.keys`, 'utf8')
      return { text, tag: text }
    },
    replace: async () => false,
  }
  return { keyring, count: () => count }
}

test('a process that begins while a log is verified keeps it from leaving, and one that has ended does not', async () => {
  const { store } = await makeLog()
  const take = (owner: string | null) =>
    useDatabase(store, database => {
      const row = database.prepare(
        "insert into follower values (?, null, 0, 0, 0, null, '', ?, '2999-01-01T00:00:00.000Z')",
      )
      row.run(String(owner), owner)
    })
  take(null)
  const to = { store: temporaryStore() }
  const { keyring } = keyringThat(store, 2, () => take('other'))
  await expect(copyStore({ from: { store, keyring }, to })).rejects.toMatchObject({ code: 'STORE_BUSY' })
  await openEngine({ store, schedules: false })
  useDatabase(store, database => database.exec("delete from follower where name = 'other'"))
  expect((await copyStore({ from: { store }, to })).events).toBeGreaterThan(1)
})

test('doctor finds no fault beside an erasure', async () => {
  const { store, subject } = await makeLog()
  const averba = await openEngine({ store, schedules: false })
  const erase = () => averba.subjects.erase({ subject }, { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' })
  const { keyring, count } = keyringThat(store, 2, erase)
  expect((await diagnoseStore({ store, keyring })).problems).toEqual([])
  expect(count()).toBeGreaterThan(2)
})
