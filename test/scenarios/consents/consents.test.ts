import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import type { World } from '../../../src/simulation/index.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { openWorld } from '../../support/world.ts'

const puts = (world: World) =>
  [...world.consentService.requests].filter(([name]) => name.startsWith('PUT')).reduce((sum, [, n]) => sum + n, 0)

const typesOf = (world: World): Promise<string[]> => Array.fromAsync(world.averba.log.read(), event => event.type)

test('an approval, a denial and a revocation are made at the service and shown by the views', async () => {
  const { world, subject, consent } = await givenConsent('PENDENTE')
  const { averba, samples, consentService } = world
  const outcome = await averba.consents.approve({ subject, id: consent.id })
  expect(outcome).toMatchObject({
    status: 'settled',
    replayed: false,
    value: { id: consent.id, status: 'ATIVO' },
  })
  expect(consentService.statusOf(samples.cpf, consent.id)).toBe('ATIVO')
  expect(valueOf(await averba.consents.revoke({ subject, id: consent.id })).status).toBe('REVOGADO')
  const detail = await averba.consents.get({ cpf: samples.cpf, id: consent.id })
  expect(detail?.historico.map(entry => entry.status)).toEqual(['PENDENTE', 'ATIVO', 'REVOGADO'])
  expect(detail?.titular?.cpf).toBe(samples.cpf)
  expect(detail?.finalidade?.rotulo).toBe('Análise de crédito')
})

test('a change that the table forbids is refused before any request is sent', async () => {
  const { world, subject, consent } = await givenConsent('ATIVO')
  await expect(world.averba.consents.deny({ subject, id: consent.id })).rejects.toMatchObject({
    code: 'REFUSED',
    message: 'Cannot do this now: it is ATIVO: only PENDENTE becomes ATIVO or NEGADO, and only ATIVO REVOGADO',
    hint: expect.stringContaining('under a new command id'),
  })
  expect(puts(world)).toBe(0)
})

test('a declined change leaves the consent as it was and returns the problem', async () => {
  const { world, subject, consent } = await givenConsent('PENDENTE', async (request, forward) => {
    if (request.method !== 'PUT') return forward(request)
    const properties = { code: 'TITULAR-01', cpf: '25774435016' }
    const body = {
      title: 'CPF 25774435016 sem permissão',
      status: 403,
      detail: 'titular 257.744.350-16',
      properties,
    }
    return Response.json(body, { status: 403 })
  })
  const outcome = await world.averba.consents.approve({ subject, id: consent.id })
  expect(outcome).toMatchObject({
    status: 'declined',
    problem: { status: 403, title: 'CPF *** sem permissão', detail: 'titular ***', code: 'TITULAR-01' },
  })
  const held = (await world.averba.consents.list({ subject })).find(each => each.id === consent.id)
  expect(held).toMatchObject({ status: 'PENDENTE', knowledge: 'known' })
})

test('the same command id gives the same result, and another input with it is an error', async () => {
  const { world, subject, consent } = await givenConsent('PENDENTE')
  const { averba } = world
  const first = await averba.consents.approve({ subject, id: consent.id }, { commandId: 'c1' })
  const second = await averba.consents.approve({ subject, id: consent.id }, { commandId: 'c1' })
  expect(second).toEqual({ ...first, replayed: true })
  expect(puts(world)).toBe(1)
  await expect(averba.consents.deny({ subject, id: consent.id }, { commandId: 'c1' })).rejects.toMatchObject({
    code: 'COMMAND_REUSED',
  })
})

test('a refused command is refused again under its id, even if it would be allowed now', async () => {
  const { world, subject, consent } = await givenConsent('PENDENTE')
  const { averba } = world
  const revoke = () => averba.consents.revoke({ subject, id: consent.id }, { commandId: 'c1' })
  await expect(revoke()).rejects.toMatchObject({ code: 'REFUSED' })
  valueOf(await averba.consents.approve({ subject, id: consent.id }))
  await expect(revoke()).rejects.toMatchObject({
    code: 'REFUSED',
    message: expect.stringContaining('PENDENTE'),
    hint: expect.stringContaining('under a new command id'),
  })
})

test('the next reading records a change made at the service, and nothing else', async () => {
  const { world, subject, consent } = await givenConsent('ATIVO')
  const { averba, consentService, samples } = world
  expect(valueOf(await averba.consents.sync({ subject })).changed).toBe(0)
  consentService.change(samples.cpf, consent.id, 'REVOGADO')
  expect(valueOf(await averba.consents.sync({ subject })).changed).toBe(1)
  const revoked = await Array.fromAsync(averba.log.read({ types: ['consent.revoked'] }), event => event.data)
  const since = toInstant(world.clock.now())
  expect(revoked).toEqual([{ status: 'REVOGADO', by: 'service', since, askedAt: since }])
})

test('the caller stops waiting when the host says so, and the work continues', async () => {
  const held = Promise.withResolvers<void>()
  const { world, subject, consent } = await givenConsent('PENDENTE', async (request, forward) => {
    if (request.method === 'PUT') await held.promise
    return forward(request)
  })
  const stop = new AbortController()
  const waiting = world.averba.consents.approve({ subject, id: consent.id }, { signal: stop.signal })
  stop.abort()
  expect(await waiting).toMatchObject({ status: 'pending' })
  expect(
    await world.averba.consents.approve({ subject, id: consent.id }, { waitMs: 0 }).catch(error => error.code),
  ).toBe('REFUSED')
  held.resolve()
  await world.averba.settle()
  await expect.poll(() => world.consentService.statusOf(world.samples.cpf, consent.id)).toBe('ATIVO')
})

test('a CPF is enrolled once, however often it is enrolled', async () => {
  const world = await openWorld()
  const refs = await Promise.all(
    Array.from({ length: 10 }, () => world.averba.consents.enrol({ cpf: '257.744.350-16' })),
  )
  expect(new Set(refs).size).toBe(1)
  expect((await typesOf(world)).filter(type => type === 'subject.enrolled')).toHaveLength(1)
})

test('consents are filtered by controller and status, and a wrong filter is an error', async () => {
  const { world, subject } = await givenConsent('PENDENTE')
  const { list } = world.averba.consents
  expect(await list({ subject, cnpj: world.samples.cnpj })).toHaveLength(2)
  expect(await list({ subject, cnpj: '12.ABC.345/01DE-35', status: 'ATIVO' })).toHaveLength(1)
  await expect(list({ subject, cnpj: '12ABC34501DE36' })).rejects.toMatchObject({ code: 'INVALID_CNPJ' })
  await expect(list({ subject, status: 'SUSPENSO' as never })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  })
})

test('awareness records, login state and login address are read and stored', async () => {
  const { world, subject } = await givenConsent('PENDENTE')
  const { averba, consentService, samples, clock } = world
  const [record] = await averba.awareness.list({ subject })
  const detail = await averba.awareness.get({ subject, id: record?.id ?? '' })
  expect(detail?.hipoteses?.[0]?.hipoteseTratamento.nome).toBe('Execução de contrato')
  expect(await averba.awareness.get({ subject, id: 'nao-existe' })).toBeUndefined()
  expect((await averba.logins.state({ subject })).autenticado).toBe(false)
  consentService.logIn(samples.cpf, clock.now() + 60_000)
  expect((await averba.logins.state({ subject })).autenticado).toBe(true)
  expect((await averba.logins.url({ subject })).hostname).toBe('login.exemplo.br')
  const elsewhere = averba.logins.url({ subject }, { redirectUrl: 'https://malvado.exemplo/' })
  await expect(elsewhere).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})

test('an unlisted consent has vanished, and no change of it is requested', async () => {
  let isEmpty = false
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    const isList = request.method === 'GET' && /consentimentos\/\d+$/.test(request.url)
    return isList && isEmpty ? Response.json([]) : forward(request)
  })
  isEmpty = true
  expect(valueOf(await world.averba.consents.sync({ subject }))).toMatchObject({ read: 0, changed: 4 })
  await expect(world.averba.consents.revoke({ subject, id: consent.id })).rejects.toMatchObject({
    code: 'REFUSED',
  })
  isEmpty = false
  expect(valueOf(await world.averba.consents.sync({ subject }))).toMatchObject({ read: 4, changed: 4 })
})

test('a vanished consent is not listed, and get returns its last reading in full', async () => {
  let isEmpty = false
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    const isList = request.method === 'GET' && /consentimentos\/\d+$/.test(request.url)
    return isList && isEmpty ? Response.json([]) : forward(request)
  })
  const { consents } = world.averba
  await consents.get({ subject, id: consent.id })
  const [pending] = await consents.list({ subject, status: 'PENDENTE' })
  isEmpty = true
  valueOf(await consents.sync({ subject }))
  expect(await consents.list({ subject })).toEqual([])
  expect(await consents.list({ subject, vanished: true })).toHaveLength(4)
  expect(await consents.get({ subject, id: consent.id })).toMatchObject({ knowledge: 'vanished' })
  expect(await consents.get({ subject, id: pending?.id ?? '' })).toBeUndefined()
  const revoking = consents.revoke({ subject, id: consent.id })
  await expect(revoking).rejects.toMatchObject({ message: expect.stringContaining('no longer lists it') })
})

test('150 concurrent answers about one subject are all recorded', async () => {
  const { world, subject } = await givenConsent('ATIVO')
  const states = await Promise.all(Array.from({ length: 150 }, () => world.averba.logins.state({ subject })))
  expect(states).toHaveLength(150)
  expect((await typesOf(world)).filter(type => type === 'subject.loginRead')).toHaveLength(150)
  expect((await world.averba.effects.list()).filter(effect => effect.state !== 'settled')).toEqual([])
})

test('a caller gets the result of a lost change that is read back while the log closes', async () => {
  const sent = Promise.withResolvers<void>()
  const { world, subject, consent } = await givenConsent('PENDENTE', async (request, forward) => {
    const response = await forward(request)
    if (request.method !== 'PUT') return response
    sent.resolve()
    throw new Error('reset')
  })
  const approving = world.averba.consents.approve({ subject, id: consent.id })
  await sent.promise
  await Promise.all([world.averba.close(), world.averba.close()])
  expect(await approving).toMatchObject({ status: 'settled' })
})

test('consents.of and validations.of find what an event is about until the subject is erased', async () => {
  const { world, subject, consent } = await givenConsent('ATIVO')
  const { averba, samples, consentService } = world
  const found: unknown[] = []
  averba.log.follow('ends', ['consent.revoked'], async event => void found.push(await averba.consents.of(event)))
  averba.log.follow('paid', ['validation.answered'], async event => {
    found.push(await averba.validations.of(event))
    await expect(averba.consents.of(event)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await expect(averba.validations.of({ stream: 'validation-none' })).rejects.toMatchObject({
      message: 'Cannot find the validation: the event is not about a validation',
    })
  })
  consentService.change(samples.cpf, consent.id, 'REVOGADO')
  valueOf(await averba.consents.sync({ subject }))
  await averba.validations.validate({ id: 'v-1', cpf: samples.cpf, claims: { nome: 'MARIA' } })
  await averba.settle()
  expect(found).toEqual([
    expect.objectContaining({ subject, id: consent.id, status: 'REVOGADO', knowledge: 'known' }),
    expect.objectContaining({ id: 'v-1', state: 'answered' }),
  ])
  await averba.subjects.erase({ subject }, { requester: 'r-1', legalBasis: 'LGPD 18 VI' })
  for await (const event of averba.log.read({ types: ['consent.revoked'] }))
    expect(await averba.consents.of(event)).toBeUndefined()
})
