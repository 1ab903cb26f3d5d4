import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { valueOf, verifyLog } from '../../../src/index.ts'
import { exportUpTo } from '../../../src/operations/audit.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { temporaryFolder, temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const erasure = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

test('a bundle explains each missing part, also those erased after the checkpoint was signed', async () => {
  const folder = temporaryFolder()
  const store = join(folder, 'log.sqlite')
  const { averba, samples } = await openWorld({ averba: { store } })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  let signed = 0
  const dir = join(folder, 'bundle')
  await exportUpTo({ store, dir }, async () => {
    await averba.audit.checkpoint()
    signed += 1
    if (signed === 1) await averba.subjects.erase({ subject }, erasure)
  })
  expect(signed).toBe(2)
  const { faults, erasedParts } = await verifyLog({ store: dir })
  expect(faults).toEqual([])
  expect(erasedParts).toBeGreaterThan(2)
})

test('an export during continuous erasures gives up after ten checkpoints', async () => {
  const folder = temporaryFolder()
  const [store, dir] = [join(folder, 'log.sqlite'), join(folder, 'bundle')]
  const { averba } = await openWorld({ averba: { store } })
  let signed = 0
  const exporting = exportUpTo({ store, dir }, async () => {
    await averba.audit.checkpoint()
    signed += 1
    const subject = await averba.consents.enrol({ cpf: cpfOf(signed) })
    await averba.subjects.erase({ subject }, erasure)
  })
  await expect(exporting).rejects.toMatchObject({ code: 'STORE_BUSY', hint: expect.any(String) })
  expect(signed).toBe(10)
  expect(existsSync(dir)).toBe(false)
})

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
