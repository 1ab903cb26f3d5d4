import { expect, onTestFinished, test, vi } from 'vitest'
import { Engine } from '../../../src/engine/engine.ts'
import { diagnoseStore, valueOf, verifyLog } from '../../../src/index.ts'
import { Owners } from '../../../src/store/owners/owners.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

/** Does something after each look for what an erasure has to destroy, with the number of the look. */
function afterEachLook(act: (look: number) => Promise<unknown>) {
  const { survey } = Owners.prototype
  const looking = vi.spyOn(Owners.prototype, 'survey').mockImplementation(async function (this: Owners, whom) {
    const found = await survey.call(this, whom)
    await act(looking.mock.calls.length)
    return found
  })
  onTestFinished(() => looking.mockRestore())
  return looking
}

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
  const looking = afterEachLook(look => averba.subjects.hold({ subject }, `processo ${look}`, ask))
  expect((await averba.subjects.erase({ subject: guardian }, asked)).subject).toBe(guardian)
  expect(looking).toHaveBeenCalledTimes(1)
})

test('a call requested for a person during the erasure is cancelled too', async () => {
  const { averba, subject, which } = await givenConsent('PENDENTE')
  const looking = afterEachLook(async look => {
    if (look > 1) return
    // Only the part that the call will open names the person.
    const held = vi.spyOn(Engine.prototype, 'perform').mockResolvedValue()
    await averba.consents.approve(which, { waitMs: 0 })
    held.mockRestore()
  })
  const { destroyed } = await averba.subjects.erase({ subject }, asked)
  expect(looking).toHaveBeenCalledTimes(2)
  expect(destroyed.calls).toHaveLength(1)
  const changes = (await averba.effects.list()).filter(({ type }) => type === 'consentService.changeStatus')
  expect(changes).toMatchObject([{ state: 'cancelled' }])
})

test('a result is not reused once its subject was erased, however close together', async () => {
  const claims = { nome: 'X' }
  const seen = new Set<string>()
  for (let turns = 0; turns < 12; turns++) {
    const { averba, samples, clock, close } = await openWorld()
    const { cpf } = samples
    valueOf(await averba.validations.validate({ id: 'paid', cpf, claims }))
    const subject = await averba.consents.enrol({ cpf })
    const erasing = averba.subjects.erase({ subject }, asked)
    for (let turn = 0; turn < turns; turn++) await new Promise(resolve => setImmediate(resolve))
    const validating = averba.validations.validate({ id: 'again', cpf, claims, reuseWithinMs: 3_600_000 })
    await clock.finish(Promise.allSettled([erasing, validating]))
    const types: string[] = await Array.fromAsync(averba.log.read(), ({ type }) => type)
    const erased = types.indexOf('subject.erased')
    const [reused, paid] = ['validation.reused', 'validation.requested'].map(type => types.lastIndexOf(type))
    expect(erased).toBeGreaterThan(0)
    expect(reused).toBeLessThan(erased)
    seen.add(reused === -1 ? 'paid' : 'reused')
    // A new subject, known only after the erasure, pays for it.
    if (reused === -1) expect(paid).toBeGreaterThan(erased)
    await close()
  }
  expect(seen).toEqual(new Set(['reused', 'paid']))
})
