import { expect, test } from 'vitest'
import { verifyLog } from '../../../src/index.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

test('a log can be verified while its engine signs the next checkpoint', async () => {
  const store = temporaryStore()
  const { averba, clock } = await openWorld({ store })
  const signed = async () => {
    await clock.advance(61_000)
    await averba.consents.enrol({ cpf: '52998224725' })
    await averba.audit.checkpoint()
  }
  for (const cpf of ['25774435016', '11144477735']) await averba.consents.enrol({ cpf })
  await averba.audit.checkpoint()
  let going: Promise<void> | undefined
  const verdict = await verifyLog({
    store,
    onProgress: () => {
      going ??= signed()
    },
  })
  await going
  expect(verdict.faults).toEqual([])
})
