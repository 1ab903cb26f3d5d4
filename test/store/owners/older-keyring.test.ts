import { copyFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { diagnoseStore, openAverba, verifyLog } from '../../../src/index.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openWorld } from '../../support/world.ts'

test('a keyring from before an erasure is refused, and verifiers report it', async () => {
  const store = temporaryStore()
  const { averba, clock, samples, close } = await openWorld({ store })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  copyFileSync(`${store}.keys`, `${store}.older`)
  await clock.finish(averba.subjects.erase({ subject }, { requester: 'titular', legalBasis: 'LGPD 18 VI' }))
  await averba.settle()
  await close()
  copyFileSync(`${store}.keys`, `${store}.newest`)
  copyFileSync(`${store}.older`, `${store}.keys`)
  await expect(openAverba({ store })).rejects.toMatchObject({
    code: 'KEYS_MISMATCH',
    hint: expect.stringContaining('Put the newest keyring back'),
  })
  const older = expect.stringContaining('the keyring is older than the log') as unknown
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([older])
  expect((await verifyLog({ store })).faults).toEqual([{ check: 'keys', count: 1, examples: [older] }])
  copyFileSync(`${store}.newest`, `${store}.keys`)
  const again = await openEngine({ store })
  await again.consents.enrol({ cpf: '52998224725' })
})
