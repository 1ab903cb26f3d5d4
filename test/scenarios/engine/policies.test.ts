import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { type Policies, samples } from '../../../src/simulation/index.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { validate } from '../../support/open-validating.ts'
import { hourMs } from '../../support/pass-time.ts'
import { applyPlan, callPortal, deliver } from '../../support/portal.ts'
import { openWorld } from '../../support/world.ts'

/** What is not the default, in as few worlds as have room for it. Tests of their own have the clients and users. */
const settings: Policies[] = [
  {
    consentService: { missingRecord: 'badRequest', moveOutsideTable: 'conflict' },
    tokenService: { reissue: 'revoke' },
    validationService: { errors: 'xml', unknownPerson: 'notFound' },
    portal: { processingTime: 'answer', authentication: 'none', success: '200' },
  },
  {
    consentService: { moveOutsideTable: 'unchanged', expiry: 'never' },
    tokenService: { characters: 36 },
    validationService: { otherHeaders: 'refuse', licenceName: 'absent' },
    portal: { processingTime: 'processing', duplicateEvent: 'accept', silence: 'delete' },
  },
  {
    consentService: { moveOutsideTable: 'accept', dates: 'zoneless' },
    tokenService: { errors: 'xml' },
    validationService: { required: 'key' },
    portal: { omittedFields: 'keep', tries: 3, represents: [{ tipo: 'CNPJ', id: samples.cnpj }] },
  },
  { portal: { differingId: 'path', redirects: 'follow' } },
]

const evento = 'dimp-situacao-import'
const subscriptions = [{ evento, chaveSecreta: 'um' }]
/** The portal records a failure: its receiver takes no body of this size. */
const tooLong = 'x'.repeat(1_100_000)

test.each(settings)('the engine works under every setting: %j', async policies => {
  const { world, subject, which } = await givenConsent('PENDENTE', undefined, { policies, averba: { subscriptions } })
  const { averba, clock, consentService } = world
  valueOf(await averba.consents.approve(which))
  // Changed at the service without our knowledge: our next request meets a state that its table forbids.
  consentService.change(samples.cpf, which.id, 'REVOGADO')
  expect(['declined', 'settled']).toContain((await averba.consents.revoke(which)).status)
  valueOf(await averba.consents.sync({ subject }))
  const now = (await averba.consents.list({ subject })).find(({ id }) => id === which.id)
  expect(now).toMatchObject({ status: 'REVOGADO', knowledge: 'known', dataHora: '2026-11-20T12:00:00.000Z' })
  valueOf(await validate(averba, 'a'))
  await clock.advance(hourMs)
  valueOf(await validate(averba, 'b'))
  await applyPlan(averba)
  expect(await deliver(world, { a: 1 })).toMatchObject([{ isDelivered: true }])
  await deliver(world, tooLong)
  expect(await averba.subscriptions.failures()).toHaveLength(1)
  await clock.advance(31 * 24 * hourMs)
  await averba.subscriptions.plan()
  expect((await averba.subscriptions.list({ inactive: true }))[0]).toMatchObject({ deletedBy: 'portal' })
  const open = (await averba.effects.list()).filter(({ state }) => state !== 'settled' && state !== 'declined')
  expect(open).toEqual([])
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('a consent that is added with a dataExpiracao expires then, if that is a time of the contract', async () => {
  const { averba, clock, consentService } = await openWorld()
  const cpf = '52998224725'
  const ends = ['2026-11-21T12:00:00.000Z', '2026-11-21T09:00:00', '2026-11-21T12:00:01Z', 'sem prazo']
  const added = ends.map(dataExpiracao => consentService.addConsent({ cpf, status: 'ATIVO', dataExpiracao }))
  const subject = await averba.consents.enrol({ cpf })
  await clock.advance(24 * hourMs)
  valueOf(await averba.consents.sync({ subject }))
  const statuses = new Map((await averba.consents.list({ subject })).map(({ id, status }) => [id, status]))
  expect(added.map(id => statuses.get(id))).toEqual(['EXPIRADO', 'EXPIRADO', 'ATIVO', 'ATIVO'])
})

test('users: each has its own subscriptions and failures, and a shared endpoint is notified once for each', async () => {
  const second = { authorization: 'outra-sessao' }
  const world = await openWorld({ policies: { portal: { users: [{ headers: second }] } }, averba: { subscriptions } })
  const { averba } = world
  await applyPlan(averba)
  expect(await callPortal(world, 'GET', undefined, '', second)).toEqual([])
  await callPortal(world, 'POST', { ...subscriptions[0], endpoint: 'https://receptor.exemplo.br/averba' }, '', second)
  expect((await averba.subscriptions.plan()).changes).toMatchObject([{ action: 'leave' }])
  expect(await deliver(world, { a: 1 })).toMatchObject(Array(2).fill({ isDelivered: true }))
  expect(await averba.views.selectFrom('notifications').select('copies').execute()).toEqual([{ copies: 2 }])
  await deliver(world, tooLong)
  expect(await averba.subscriptions.failures()).toHaveLength(1)
  expect(await callPortal(world, 'GET', undefined, '/falhas', second)).toHaveLength(1)
})
