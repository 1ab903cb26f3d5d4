import { expect, test } from 'vitest'
import { diagnoseStore } from '../../src/index.ts'
import { samples } from '../../src/simulation/index.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { watchedKeyring } from '../support/watched-keyring.ts'
import { openEngine } from '../support/world.ts'

test('doctor finds no fault beside an erasure', async () => {
  const store = temporaryStore()
  const averba = await openEngine({ store, schedules: false })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  let reads = 0
  const keyring = watchedKeyring(store, async () => {
    reads += 1
    if (reads === 2) await averba.subjects.erase({ subject }, { requester: 'p-1', legalBasis: 'LGPD art. 18, VI' })
  })
  expect((await diagnoseStore({ store, keyring })).problems).toEqual([])
  expect(reads).toBeGreaterThan(2)
})
