import { expect, test } from 'vitest'
import { replayLog, valueOf, verifyLog } from '../../../src/index.ts'
import { samples, type World } from '../../../src/simulation/index.ts'
import { isList } from '../../support/consent-requests.ts'
import { readConsent } from '../../support/given-consent.ts'
import { isToken, isValidation } from '../../support/open-validating.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const { cpf } = samples
const otherCpf = '52998224725'
const claims = { nome: 'Maria de Exemplo Souza' }

const validationService = {
  baseUrl: 'https://validacao.exemplo.br',
  service: 'datavalid-demonstracao',
  paidPerDayMax: 1,
}

/** A basis that names an effective consent. */
async function givenBasis(world: World) {
  const { which } = await readConsent(world)
  const consent = { cpf, id: which.id }
  return { consent, basis: { purpose: 'opening an account', legalBasis: 'LGPD 7 I', consent } }
}

test('a validation under a consent is sent only if the consent is effective', async () => {
  const world = await openWorld()
  const { consents, validations, log } = world.averba
  const { consent, basis } = await givenBasis(world)
  const ask = (id: string, of: string = cpf) => validations.validate({ id, cpf: of, claims }, { basis })
  valueOf(await ask('a'))
  expect(await ask('a')).toMatchObject({ status: 'settled', replayed: true })
  const used = await Array.fromAsync(log.read({ types: ['consent.used'] }))
  // The command id has no digits, which could be a CPF by chance.
  const commandId = expect.stringMatching(/^use-[a-z]{64}$/)
  expect(used).toMatchObject([{ correlationId: 'a', basis: { purpose: 'opening an account' }, commandId }])
  const [requested] = await Array.fromAsync(log.read({ types: ['validation.requested'] }))
  expect(requested).toMatchObject({ correlationId: 'a' })
  expect(requested?.basis).toEqual({ purpose: 'opening an account', legalBasis: 'LGPD 7 I' })
  await expect(ask('b', otherCpf)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  valueOf(await consents.revoke(consent))
  const refused = { code: 'CONSENT_NOT_EFFECTIVE', standing: { reason: 'revoked' } }
  await expect(ask('c')).rejects.toMatchObject(refused)
  expect(await validations.get('c')).toBeUndefined()
  expect(await ask('a')).toMatchObject({ status: 'settled', replayed: true })
  expect(world.validationService.answered).toBe(1)
})

test('a consent is used once for concurrent requests of one validation', async () => {
  const world = await openWorld({ averba: { validationService } })
  const { consents, validations, log } = world.averba
  const { consent, basis } = await givenBasis(world)
  const ask = (id: string) => validations.validate({ id, cpf, claims }, { basis })
  const uses = async (type: 'consent.used' | 'consent.useRefused') =>
    (await Array.fromAsync(log.read({ types: [type] }))).map(event => event.correlationId)
  for (const outcome of await Promise.all([ask('a'), ask('a'), ask('a')])) valueOf(outcome)
  expect(await uses('consent.used')).toEqual(['a'])
  const spent = { code: 'BUDGET_SPENT' }
  for (const wrong of [{ legalBasis: undefined as never }, { consent: { ...consent, ageMaxMs: Number.NaN } }]) {
    const given = { basis: { ...basis, ...wrong } }
    const input = { id: 'wrong', cpf, claims }
    await expect(validations.validate(input, given)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  }
  for (let times = 0; times < 2; times++) await expect(ask('b')).rejects.toMatchObject(spent)
  expect(await uses('consent.used')).toEqual(['a', 'b'])
  valueOf(await consents.revoke(consent))
  await world.clock.advance(24 * hourMs)
  const refused = { code: 'CONSENT_NOT_EFFECTIVE' }
  for (let times = 0; times < 2; times++) await expect(ask('b')).rejects.toMatchObject(refused)
  expect(await uses('consent.useRefused')).toEqual(['b', 'b'])
  expect(world.validationService.answered).toBe(1)
})

/** Answers every validation with 429 while it is on, and counts the requests. */
function busyService() {
  const service = { isBusy: true, left: 0 }
  const intercept = async (request: Request, forward: (request: Request) => Promise<Response>) => {
    if (!isValidation(request)) return forward(request)
    service.left += 1
    return service.isBusy ? Response.json({}, { status: 429, headers: { 'retry-after': '3600' } }) : forward(request)
  }
  return { service, intercept }
}

const notEffective = { status: 'declined', problem: { status: 0, code: 'CONSENT_NOT_EFFECTIVE' } }

/** What the person's report and the processing records say about the validation. */
async function reportOf({ averba }: World) {
  const report = JSON.parse(await averba.subjects.report({ cpf }, { format: 'json' }))
  const processing = await Array.fromAsync(
    averba.audit.processing({ from: '2026-11-01T00:00:00.000Z', until: '2026-12-01T00:00:00.000Z' }),
  )
  const isValidation = ({ operation }: { operation: string }) => operation.startsWith('validationService.')
  return {
    call: report.told.find(isValidation).outcome,
    validation: report.validations[0].outcome,
    words: report.timeline.find((entry: { type: string }) => entry.type === 'validation.withheld').words,
    recipients: processing.find(({ type }) => type === 'validation.withheld')?.recipients,
  }
}

const sentBefore = {
  call: expect.stringMatching(/^não repetida: foi enviada e não processada/),
  validation: expect.stringMatching(/^não repetida: foi enviada e não processada/),
  words: expect.stringMatching(/^Validação não repetida depois de uma tentativa não processada/),
  recipients: ['Serviço de validação'],
}

test('a deferred validation is not sent after its consent was revoked, and the report says what was sent', async () => {
  const { service, intercept } = busyService()
  const store = temporaryStore()
  const world = await openWorld({ averba: { store }, intercept })
  const { averba, clock, validationService: paid } = world
  const { consent, basis } = await givenBasis(world)
  const ask = () => averba.validations.validate({ id: 'a', cpf, claims }, { basis })
  expect(await ask()).toMatchObject({ status: 'deferred' })
  valueOf(await averba.consents.revoke(consent))
  service.isBusy = false
  await passTime({ averba, clock }, 2 * hourMs)
  expect(service.left).toBe(1)
  expect(paid.answered).toBe(0)
  expect(await averba.validations.get('a')).toMatchObject({ state: 'declined' })
  const title = expect.stringContaining('an earlier request was sent')
  expect(await ask()).toMatchObject({ ...notEffective, problem: { ...notEffective.problem, title }, replayed: true })
  expect(await reportOf(world)).toEqual(sentBefore)
  const [revoked] = await Array.fromAsync(averba.log.read({ types: ['consent.revoked'] }))
  const [withheld] = await Array.fromAsync(averba.log.read({ types: ['validation.withheld'] }))
  expect(withheld).toMatchObject({ data: { reason: 'revoked', position: revoked?.position } })
  expect(withheld?.anomaly).toBeUndefined()
  expect(await averba.effects.list({ state: 'deferred' })).toEqual([])
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await world.close()
  expect((await replayLog({ store })).divergence).toBeUndefined()
  expect((await verifyLog({ store })).faults).toEqual([])
})

test('a validation waiting for a token is not sent after a revocation was requested', async () => {
  let revoking: Promise<unknown> = Promise.resolve()
  const world = await openWorld({
    async intercept(request, forward) {
      if (request.method === 'PUT') return new Response('', { status: 503, headers: { 'retry-after': '600' } })
      if (isToken(request)) {
        revoking = world.averba.consents.revoke(consent)
        await revoking
      }
      return forward(request)
    },
  })
  const { consent, basis } = await givenBasis(world)
  const { validations, log } = world.averba
  const outcome = await validations.validate({ id: 'a', cpf, claims }, { basis })
  expect(await revoking).toMatchObject({ status: 'deferred' })
  expect(outcome).toMatchObject(notEffective)
  expect(world.validationService.answered).toBe(0)
  const [withheld] = await Array.fromAsync(log.read({ types: ['validation.withheld'] }))
  expect(withheld).toMatchObject({ data: { reason: 'uncertain' } })
  expect(withheld?.data).not.toHaveProperty('sentBefore')
})

test('the report says that data was sent, also if the consent ended after a 401', async () => {
  let left = 0
  const world = await openWorld({
    async intercept(request, forward) {
      if (isValidation(request)) left += 1
      if (isToken(request) && left > 0) valueOf(await world.averba.consents.revoke(consent))
      return forward(request)
    },
  })
  const { consent, basis } = await givenBasis(world)
  const { validations } = world.averba
  valueOf(await validations.validate({ id: 'warm', cpf: otherCpf, claims }))
  world.tokenService.expire()
  left = 0
  expect(await validations.validate({ id: 'a', cpf, claims }, { basis })).toMatchObject(notEffective)
  expect(left).toBe(1)
  expect(await reportOf(world)).toEqual(sentBefore)
})

test('the report says that nothing was sent if the consent ended before the request', async () => {
  const world = await openWorld()
  const { averba, clock, faults } = world
  const { consent, basis } = await givenBasis(world)
  await faults.add({ kind: 'refuse', service: 'validationService' })
  const { status } = await averba.validations.validate({ id: 'a', cpf, claims }, { basis })
  expect(status).toBe('deferred')
  valueOf(await averba.consents.revoke(consent))
  await passTime({ averba, clock }, 2 * hourMs)
  expect(await reportOf(world)).toEqual({
    call: 'não enviada: o consentimento indicado já não valia',
    validation: 'não enviada: o consentimento indicado já não valia',
    words: expect.stringMatching(/^Validação não enviada/),
    recipients: [],
  })
})

test('a validation is not sent after its consent expired or is no longer listed', async () => {
  for (const [reason, days, isListed] of [
    ['expired', 366, true],
    ['vanished', 0, false],
    [undefined, 0, true],
  ] as const) {
    const { service, intercept } = busyService()
    let isEmpty = false
    const world = await openWorld({
      intercept: (request, forward) =>
        isEmpty && isList(request) ? Promise.resolve(Response.json([])) : intercept(request, forward),
    })
    const { averba, clock } = world
    const { consent, basis } = await givenBasis(world)
    const outcome = await averba.validations.validate({ id: 'a', cpf, claims }, { basis })
    isEmpty = !isListed
    valueOf(await averba.consents.sync(consent))
    service.isBusy = false
    clock.jump(days * 24 * hourMs)
    await passTime({ averba, clock }, 2 * hourMs)
    const [withheld] = await Array.fromAsync(averba.log.read({ types: ['validation.withheld'] }))
    expect(withheld?.data).toEqual(
      reason && { reason, at: expect.any(String), position: expect.any(Number), sentBefore: true },
    )
    expect(outcome.status).toBe('deferred')
    expect((await averba.validations.get('a'))?.state).toBe(reason ? 'declined' : 'answered')
    if (reason) expect(service.left).toBe(1)
    expect(world.validationService.answered).toBe(reason ? 0 : 1)
    await world.close()
  }
})

test('consents also withhold repeated validations, but not reused answers', async () => {
  const { service, intercept } = busyService()
  service.isBusy = false
  const world = await openWorld({ intercept })
  const { averba, clock, faults } = world
  const { consent, basis } = await givenBasis(world)
  const { validations } = averba
  const validate = (id: string, more = {}) => validations.validate({ id, cpf, claims, ...more }, { basis })
  await faults.add({ kind: 'lose', service: 'validationService', times: 1 })
  expect(await validate('lost')).toMatchObject({ status: 'unknown' })
  valueOf(await validate('answered'))
  service.isBusy = true
  const again = { again: { of: 'lost', reason: 'the customer waits' } }
  expect(await validate('again', again)).toMatchObject({ status: 'deferred' })
  expect(valueOf(await validate('reused', { reuseWithinMs: hourMs })).reusedFrom).toBe('answered')
  const left = service.left
  valueOf(await averba.consents.revoke(consent))
  await expect(validate('late', { reuseWithinMs: hourMs })).rejects.toMatchObject({
    code: 'CONSENT_NOT_EFFECTIVE',
  })
  await passTime({ averba, clock }, 2 * hourMs)
  expect(await validate('again', again)).toMatchObject(notEffective)
  expect((await validations.get('lost'))?.state).toBe('inconclusive')
  expect(service.left).toBe(left)
  await world.close()

  const erased = await openWorld({ intercept })
  const { basis: other } = await givenBasis(erased)
  const ask = () => erased.averba.validations.validate({ id: 'a', cpf, claims }, { basis: other })
  const { effect } = await ask()
  await erased.averba.subjects.erase({ cpf }, { requester: 'pedido-1', legalBasis: 'LGPD 18 VI' })
  service.isBusy = false
  await passTime(erased, 2 * hourMs)
  expect((await erased.averba.effects.get(effect))?.state).toBe('cancelled')
  await expect(ask()).rejects.toMatchObject({
    code: 'SUBJECT_ERASED',
    message: expect.stringContaining('Its call had no effect'),
  })
  expect(service.left).toBe(left + 1)
  expect(await Array.fromAsync(erased.averba.log.read({ types: ['validation.withheld'] }))).toEqual([])
})

test('a validation first requested without the consent is refused with it', async () => {
  const { service, intercept } = busyService()
  const world = await openWorld({ intercept })
  const { averba, clock } = world
  const { consent, basis } = await givenBasis(world)
  const validate = (id: string, ...ask: Parameters<typeof averba.validations.validate>[1][]) =>
    averba.validations.validate({ id, cpf, claims }, ...ask)
  const { consent: _, ...without } = basis
  expect((await validate('a', { basis: without })).status).toBe('deferred')
  expect((await validate('b', { basis })).status).toBe('deferred')
  service.isBusy = false
  await clock.advance(2 * hourMs)
  const reused = { code: 'COMMAND_REUSED', hint: expect.any(String) }
  await expect(validate('a', { basis })).rejects.toMatchObject(reused)
  const other = { ...consent, id: 'outro' }
  await expect(validate('b', { basis: { ...basis, consent: other } })).rejects.toMatchObject(reused)
  expect(world.validationService.answered).toBe(0)
  expect(await validate('b', { basis })).toMatchObject({ status: 'settled', replayed: true })
})

test('a validation requested concurrently without the consent is refused with it', async () => {
  const world = await openWorld()
  const { averba } = world
  const { basis } = await givenBasis(world)
  const { consent: _, ...without } = basis
  const input = { id: 'a', cpf, claims }
  const asked = [basis, without].map(each => averba.validations.validate(input, { basis: each }))
  const [under, free] = await Promise.allSettled(asked)
  expect(free).toMatchObject({ status: 'fulfilled', value: { status: 'settled' } })
  expect(under).toMatchObject({ status: 'rejected', reason: { code: 'COMMAND_REUSED' } })
  expect(world.validationService.answered).toBe(1)
})

test('a use and its validation share a correlation id, also if the host gives none', async () => {
  const world = await openWorld()
  const { averba } = world
  const { basis } = await givenBasis(world)
  const ask = { basis, correlationId: undefined }
  valueOf(await averba.validations.validate({ id: 'a', cpf, claims }, ask as { basis: typeof basis })) // As JavaScript may.
  const linked = await Array.fromAsync(averba.log.read({ types: ['consent.used', 'validation.requested'] }))
  expect(linked.map(({ correlationId }) => correlationId)).toEqual(['a', 'a'])
})
