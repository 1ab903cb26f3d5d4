import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { valueOf, verifyLog } from '../../src/index.ts'
import { exportUpTo } from '../../src/operating.ts'
import { simulate } from '../../src/simulation/index.ts'

const erasure = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

test('a bundle says why each part is missing, also of what was erased after its checkpoint was signed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'averba-export-'))
  const store = join(folder, 'log.sqlite')
  const { averba, samples, close } = await simulate({ averba: { store } })
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
  const { faults, absent } = await verifyLog({ store: dir })
  expect(faults).toEqual([])
  expect(absent.erased).toBeGreaterThan(2)
  await close()
})
