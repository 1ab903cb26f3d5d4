import { expect, test, vi } from 'vitest'
import { Engine } from '../../../src/engine/engine.ts'
import { diagnoseStore, verifyLog } from '../../../src/index.ts'
import { Owners } from '../../../src/store/owners/owners.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

test('erasing a person who acted for others destroys nothing of the others', async () => {
  const store = temporaryStore()
  const world = await openWorld({ averba: { store } })
  const { averba, consentService } = world
  const [cpf, cpfOfOther] = [cpfOf(1), cpfOf(2)]
  const guardian = await averba.consents.enrol({ cpf })
  const ask = { actor: { kind: 'subject', ref: guardian }, correlationId: `atendimento-${guardian}` } as const
  const id = consentService.addConsent({ cpf: cpfOfOther, status: 'PENDENTE' })
  const subject = await averba.consents.enrol({ cpf: cpfOfOther }, { ...ask, syncEveryMs: 86_400_000 })
  await averba.consents.sync({ subject }, ask)
  await averba.subjects.hold({ subject }, `pedido-de-${guardian}`, ask)
  await averba.validations.validate({ id: 'v1', cpf: cpfOfOther, claims: { nome: 'X' } }, ask)
  const approve = () => averba.consents.approve({ subject, id }, { ...ask, commandId: `aprovar-${guardian}` })
  await approve()
  const seen = async () => ({
    consents: await averba.consents.list({ cpf: cpfOfOther }),
    calls: (await averba.effects.list({ state: 'pending' })).filter(({ type }) => !type.startsWith('keys.')),
    approved: await approve(),
    enrolled: await averba.consents.enrol({ cpf: cpfOfOther }),
    validations: await averba.views.selectFrom('validations').selectAll().execute(),
  })
  const before = await seen()
  expect(before).toMatchObject({ enrolled: subject, consents: [{ status: 'ATIVO' }], calls: [{}] })

  const receipt = await averba.subjects.erase({ subject: guardian }, asked)
  expect(receipt.destroyed).toMatchObject({ parts: [{ name: 'cpf' }], indexRows: 1, calls: [] })
  expect(await seen()).toEqual(before)
  const other = await averba.subjects.erase({ cpf: cpfOfOther }, asked)
  expect(other.subject).toBe(subject)
  await world.close()
  expect((await verifyLog({ store })).faults).toEqual([])
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
})

test('a person who constantly acts for others can be erased', async () => {
  const { averba } = await openWorld()
  const guardian = await averba.consents.enrol({ cpf: cpfOf(1) })
  const subject = await averba.consents.enrol({ cpf: cpfOf(2) })
  const ask = { actor: { kind: 'subject', ref: guardian } } as const
  const look = Owners.prototype.survey
  let acts = 0
  vi.spyOn(Owners.prototype, 'survey').mockImplementation(async function (this: Owners, whom) {
    const found = await look.call(this, whom)
    acts += 1
    await averba.subjects.hold({ subject }, `processo ${acts}`, ask)
    return found
  })
  expect((await averba.subjects.erase({ subject: guardian }, asked)).subject).toBe(guardian)
  expect(acts).toBe(1)
  vi.restoreAllMocks()
})

test('a call requested for a person during the erasure is cancelled too', async () => {
  const { averba, consentService } = await openWorld()
  const cpf = cpfOf(1)
  const subject = await averba.consents.enrol({ cpf })
  const id = consentService.addConsent({ cpf, status: 'PENDENTE' })
  await averba.consents.sync({ subject })
  const look = Owners.prototype.survey
  let looks = 0
  vi.spyOn(Owners.prototype, 'survey').mockImplementation(async function (this: Owners, whom) {
    const found = await look.call(this, whom)
    looks += 1
    if (looks === 1) {
      // Only the part that the call will open names the person.
      const held = vi.spyOn(Engine.prototype, 'perform').mockResolvedValue()
      await averba.consents.approve({ subject, id }, { waitMs: 0 })
      held.mockRestore()
    }
    return found
  })
  const { destroyed } = await averba.subjects.erase({ subject }, asked)
  vi.restoreAllMocks()
  expect(looks).toBe(2)
  expect(destroyed.calls).toHaveLength(1)
  const changes = (await averba.effects.list()).filter(({ type }) => type === 'consentService.changeStatus')
  expect(changes).toMatchObject([{ state: 'cancelled' }])
})
