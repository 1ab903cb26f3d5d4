import { copyFileSync, rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { backupStore, diagnoseStore, openAverba, restoreStore, verifyLog } from '../../../src/index.ts'
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
  const refused = { code: 'KEYS_MISMATCH', hint: expect.stringContaining('Put the newest keyring back') }
  await expect(openAverba({ store })).rejects.toMatchObject(refused)
  const older = expect.stringContaining('the keyring is older than the log') as unknown
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([older])
  expect((await verifyLog({ store })).faults).toEqual([{ check: 'keys', count: 1, examples: [older] }])
  copyFileSync(`${store}.newest`, `${store}.keys`)
  const again = await openEngine({ store })
  await again.consents.enrol({ cpf: '52998224725' })
})

test('an older copy of a log that was closed is refused by its keyring, also without its mark', async () => {
  const store = temporaryStore()
  const { averba, samples, close } = await openWorld({ store })
  await averba.consents.enrol({ cpf: samples.cpf })
  await backupStore({ store, to: `${store}.backup` })
  await averba.consents.enrol({ cpf: '11144477735' })
  await close()
  for (const end of ['', '-wal', '-shm', '.mark']) rmSync(`${store}${end}`, { force: true })
  copyFileSync(`${store}.backup`, store)
  const behind = expect.stringMatching(/it has 2 events, and had \d when its keyring was written/) as unknown
  await expect(openAverba({ store })).rejects.toMatchObject({ code: 'ROLLED_BACK', message: behind })
  expect((await diagnoseStore({ store })).problems).toContainEqual(behind)
  for (const end of ['', '-wal', '-shm']) rmSync(`${store}${end}`, { force: true })
  await restoreStore({ store, backup: `${store}.backup`, acceptRollback: true })
  await (await openEngine({ store })).consents.enrol({ cpf: '52998224725' })
})
