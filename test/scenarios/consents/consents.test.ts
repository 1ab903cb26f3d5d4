import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import type { World } from '../../../src/simulation/index.ts'
import { answering } from '../../support/answers.ts'
import { isChange } from '../../support/consent-requests.ts'
import { eventsOf } from '../../support/events-of.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { refuses } from '../../support/refuses.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openWorld } from '../../support/world.ts'
import { givenStory } from './story.ts'

const changesIn = ({ requests }: World) => requests.filter(isChange).length

test('an approval, a denial and a revocation are made at the service and shown by the views', async () => {
  const { averba, samples, consentService, which } = await givenConsent('PENDENTE')
  const value = { id: which.id, status: 'ATIVO' }
  expect(await averba.consents.approve(which)).toMatchObject({ status: 'settled', replayed: false, value })
  expect(consentService.statusOf(samples.cpf, which.id)).toBe('ATIVO')
  expect(valueOf(await averba.consents.revoke(which)).status).toBe('REVOGADO')
  const detail = await averba.consents.get({ cpf: samples.cpf, id: which.id })
  expect(detail?.historico.map(entry => entry.status)).toEqual(['PENDENTE', 'ATIVO', 'REVOGADO'])
  expect(detail?.titular?.cpf).toBe(samples.cpf)
  expect(detail?.finalidade?.rotulo).toBe('Análise de crédito')
})

test('a declined change leaves the consent as it was and returns the problem', async () => {
  const properties = { code: 'TITULAR-01', cpf: '25774435016' }
  const said = { title: 'CPF 25774435016 sem permissão', detail: 'titular 257.744.350-16', status: 403 }
  const intercept = answering(isChange, () => Response.json({ ...said, properties }, { status: 403 }))
  const { averba, which } = await givenConsent('PENDENTE', intercept)
  const problem = { status: 403, title: 'CPF *** sem permissão', detail: 'titular ***', code: 'TITULAR-01' }
  expect(await averba.consents.approve(which)).toMatchObject({ status: 'declined', problem })
  const [held] = await averba.consents.list({ subject: which.subject, status: 'PENDENTE' })
  expect(held).toMatchObject({ id: which.id, knowledge: 'known' })
})

test('a change that the table forbids is refused without a request, and again under its id once it is allowed', async () => {
  const { averba, which, world } = await givenConsent('PENDENTE')
  const revoke = () => averba.consents.revoke(which, { commandId: 'c1' })
  const why = {
    message: 'Cannot do this now: it is PENDENTE: only PENDENTE becomes ATIVO or NEGADO, and only ATIVO REVOGADO',
    hint: expect.stringContaining('under a new command id'),
  }
  await refuses('REFUSED', revoke(), why)
  expect(changesIn(world)).toBe(0)
  valueOf(await averba.consents.approve(which))
  await refuses('REFUSED', revoke(), why)
})

test('a CPF is enrolled once, however often it is enrolled', async () => {
  const world = await openWorld()
  const enrolling = Array.from({ length: 10 }, () => world.averba.consents.enrol({ cpf: '257.744.350-16' }))
  expect(new Set(await Promise.all(enrolling)).size).toBe(1)
  expect(await eventsOf(world, 'subject.enrolled')).toHaveLength(1)
})

test('consents are filtered by controller and status, and a wrong filter is an error', async () => {
  const { averba, samples, subject } = await givenConsent('PENDENTE')
  const { list } = averba.consents
  expect(await list({ subject, cnpj: samples.cnpj })).toHaveLength(2)
  expect(await list({ subject, cnpj: '12.ABC.345/01DE-35', status: 'ATIVO' })).toHaveLength(1)
  await refuses('INVALID_CNPJ', list({ subject, cnpj: '12ABC34501DE36' }))
  await refuses('INVALID_INPUT', list({ subject, status: 'SUSPENSO' as never }))
})

test('an unlisted consent has vanished: it is not listed, cannot be approved, and is shown as it was last read', async () => {
  const { averba, which, subject, play } = await givenStory('ATIVO')
  const { consents } = averba
  await consents.get(which)
  const [pending] = await consents.list({ subject, status: 'PENDENTE' })
  await play('lists empty')
  expect(valueOf(await consents.sync({ subject }))).toMatchObject({ read: 0, changed: 4 })
  expect(await consents.list({ subject })).toEqual([])
  expect(await consents.list({ subject, vanished: true })).toHaveLength(4)
  expect(await consents.get(which)).toMatchObject({ knowledge: 'vanished' })
  expect(await consents.get({ ...which, id: pending?.id ?? '' })).toBeUndefined()
  await refuses('REFUSED', consents.approve(which), { message: expect.stringContaining('no longer lists it') })
  await play('lists now')
  expect(valueOf(await consents.sync({ subject }))).toMatchObject({ read: 4, changed: 4 })
})

test('60 concurrent answers about one subject are all recorded', async () => {
  const { averba, subject, world } = await givenConsent('ATIVO')
  await Promise.all(Array.from({ length: 60 }, () => averba.logins.state({ subject })))
  expect(await eventsOf(world, 'subject.loginRead')).toHaveLength(60)
  expect((await averba.effects.list()).filter(effect => effect.state !== 'settled')).toEqual([])
})

test('a caller gets the result of a lost change that is read back while the log closes', async () => {
  const sent = Promise.withResolvers<void>()
  const { averba, which } = await givenConsent('PENDENTE', async (request, forward) => {
    const response = await forward(request)
    if (request.method !== 'PUT') return response
    sent.resolve()
    throw new Error('reset')
  })
  const approving = averba.consents.approve(which)
  await sent.promise
  await Promise.all([averba.close(), averba.close()])
  expect(await approving).toMatchObject({ status: 'settled' })
})

test('consents.of and validations.of find what an event is about until the subject is erased', async () => {
  const { averba, samples, consentService, subject, consent, world } = await givenConsent('ATIVO')
  const found: { consent?: unknown; validation?: unknown } = {}
  averba.log.follow('ends', ['consent.revoked'], async event => {
    found.consent = await averba.consents.of(event)
  })
  averba.log.follow('paid', ['validation.answered'], async event => {
    found.validation = await averba.validations.of(event)
    const message = 'Cannot find the validation: the event is not about a validation'
    await refuses('INVALID_INPUT', averba.consents.of(event))
    await refuses('NOT_FOUND', averba.consents.of({ stream: 'consent-none' }))
    await refuses('NOT_FOUND', averba.validations.of({ stream: 'validation-none' }), { message })
  })
  consentService.change(samples.cpf, consent.id, 'REVOGADO')
  valueOf(await averba.consents.sync({ subject }))
  await averba.validations.validate({ id: 'v-1', cpf: samples.cpf, claims: { nome: 'MARIA' } })
  await averba.settle()
  expect(found).toMatchObject({
    consent: { subject, id: consent.id, status: 'REVOGADO', knowledge: 'known' },
    validation: { id: 'v-1', state: 'answered' },
  })
  await averba.subjects.erase({ subject }, { requester: 'r-1', legalBasis: 'LGPD 18 VI' })
  const [revoked] = await eventsOf(world, 'consent.revoked')
  expect(await averba.consents.of(revoked ?? { stream: '' })).toBeUndefined()
})

test('rows of a view are found by an index, not by a look at every row, also after a rebuild', async () => {
  const store = temporaryStore()
  const { averba } = await openWorld({ averba: { store } })
  for (let rebuilds = 0; rebuilds < 3; rebuilds++) {
    for (const [rows, by] of [
      ["consents where subject = 'a'", /^SEARCH .* USING INDEX/],
      ["awareness where subject = 'a'", /^SEARCH .* USING INDEX/],
      ["consents where lapses_at <= '2027' order by lapses_at", /^SEARCH consents USING INDEX consents_lapses_at/],
    ] as const) {
      const sql = `explain query plan select * from ${rows}`
      const plan = useDatabase(store, database => database.rows<{ detail: string }>(sql))
      expect(plan.map(({ detail }) => detail)).toEqual([expect.stringMatching(by)])
    }
    await averba.rebuild()
  }
})
