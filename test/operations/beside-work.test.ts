import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { diagnoseStore } from '../../src/index.ts'
import { samples } from '../../src/simulation/index.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openEngine } from '../support/world.ts'

test('doctor finds no fault beside an erasure', async () => {
  const store = temporaryStore()
  const averba = await openEngine({ store, schedules: false })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  let reads = 0
  const keyring = {
    name: 'keyring of the test',
    async read() {
      reads += 1
      if (reads === 2) await averba.subjects.erase({ subject }, { requester: 'p-1', legalBasis: 'LGPD art. 18, VI' })
      const text = readFileSync(`${store}.keys`, 'utf8')
      return { text, tag: text }
    },
    replace: async () => false,
  }
  expect((await diagnoseStore({ store, keyring })).problems).toEqual([])
  expect(reads).toBeGreaterThan(2)
})
