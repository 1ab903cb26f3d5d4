import { expect, test } from 'vitest'
import { verifyLog } from '../../../src/index.ts'
import { simulate } from '../../../src/simulation/index.ts'
import { newPath } from '../../store/sample-store.ts'

test('a log can be verified while its engine signs the next checkpoint', async () => {
  const store = newPath()
  const { averba, clock, close } = await simulate({ store })
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
  await close()
})
