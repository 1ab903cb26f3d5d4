import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { samples, type World, type WorldOptions } from '../../../src/simulation/index.ts'
import { answering, busy } from '../../support/answers.ts'
import { isList } from '../../support/consent-requests.ts'
import { eventsOf } from '../../support/events-of.ts'
import { readConsent } from '../../support/given-consent.ts'
import { isToken, isValidation, validate } from '../../support/open-validating.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { expectSound } from '../../support/sound-log.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld, validationServiceWith } from '../../support/world.ts'

const { cpf } = samples
const otherCpf = '52998224725'
const claims = { nome: 'Maria de Exemplo Souza' }
const without = { purpose: 'opening an account', legalBasis: 'LGPD 7 I' }

/** A basis that names an effective consent, and a validation under it. */
async function givenBasis(world: World) {
  const { which } = await readConsent(world)
  const consent = { cpf, id: which.id }
  const basis = { ...without, consent }
  return { consent, basis, ask: (id: string) => validate(world.averba, id, { basis }) }
}

test('a validation under a consent is sent only if the consent is effective', async () => {
  const world = await openWorld()
  const { consents, validations } = world.averba
  const { consent, basis, ask } = await givenBasis(world)
  valueOf(await ask('a'))
  expect(await ask('a')).toMatchObject({ status: 'settled', replayed: true })
  // The command id has no digits, which could be a CPF by chance.
  const commandId = expect.stringMatching(/^use-[a-z]{64}$/)
  expect(await eventsOf(world, 'consent.used')).toMatchObject([
    { correlationId: 'a', basis: { purpose: 'opening an account' }, commandId },
  ])
  const requested = await eventsOf(world, 'validation.requested')
  expect(requested.map(event => [event.correlationId, event.basis])).toEqual([['a', without]])
  const uncorrelated = { basis, correlationId: undefined }
  valueOf(await validate(world.averba, 'u', uncorrelated as { basis: typeof basis })) // As JavaScript may.
  const linked = await eventsOf(world, 'consent.used', 'validation.requested')
  expect(linked.map(({ correlationId }) => correlationId)).toEqual(['a', 'a', 'u', 'u'])
  await refuses('INVALID_INPUT', validations.validate({ id: 'b', cpf: otherCpf, claims }, { basis }))
  valueOf(await consents.revoke(consent))
  await refuses('CONSENT_NOT_EFFECTIVE', ask('c'), { standing: { reason: 'revoked' } })
  expect(await validations.get('c')).toBeUndefined()
  expect(await ask('a')).toMatchObject({ status: 'settled', replayed: true })
  expect(world.validationService.answered).toBe(2)
})

test('a consent is used once for concurrent requests of one validation', async () => {
  const world = await openWorld({ averba: { validationService: validationServiceWith({ paidPerDayMax: 1 }) } })
  const { averba } = world
  const { consent, basis, ask } = await givenBasis(world)
  const uses = async (type: 'consent.used' | 'consent.useRefused') =>
    (await eventsOf(world, type)).map(event => event.correlationId)
  for (const outcome of await Promise.all([ask('a'), ask('a'), ask('a')])) valueOf(outcome)
  expect(await uses('consent.used')).toEqual(['a'])
  for (const wrong of [{ legalBasis: undefined as never }, { consent: { ...consent, ageMaxMs: Number.NaN } }])
    await refuses('INVALID_INPUT', validate(averba, 'wrong', { basis: { ...basis, ...wrong } }))
  for (let times = 0; times < 2; times++) await refuses('BUDGET_SPENT', ask('b'))
  expect(await uses('consent.used')).toEqual(['a', 'b'])
  valueOf(await averba.consents.revoke(consent))
  await world.clock.advance(24 * hourMs)
  for (let times = 0; times < 2; times++) await refuses('CONSENT_NOT_EFFECTIVE', ask('b'))
  expect(await uses('consent.useRefused')).toEqual(['b', 'b'])
  expect(world.validationService.answered).toBe(1)
})

/** Services that postpone every validation by an hour while busy, count them, and list no consents when empty. */
async function givenBusyService(options: WorldOptions = {}) {
  const service = { isBusy: true, left: 0, isEmpty: false }
  const isAnswered = (request: Request) => isValidation(request) || (service.isEmpty && isList(request))
  const intercept = answering(isAnswered, request => {
    if (isList(request)) return Response.json([])
    service.left += 1
    return service.isBusy ? busy(3_600) : undefined
  })
  const world = await openWorld({ intercept, ...options })
  return { world, service, ...(await givenBasis(world)) }
}

const notEffective = { status: 'declined', problem: { status: 0, code: 'CONSENT_NOT_EFFECTIVE' } }

/** What the person's report and the processing records say about the validation. */
async function reportOf({ averba }: World) {
  const report = JSON.parse(await averba.subjects.report({ cpf }, { format: 'json' }))
  const november = { from: '2026-11-01T00:00:00.000Z', until: '2026-12-01T00:00:00.000Z' }
  const processing = await Array.fromAsync(averba.audit.processing(november))
  const isValidation = ({ operation }: { operation: string }) => operation.startsWith('validationService.')
  return {
    call: report.told.find(isValidation).outcome,
    validation: report.validations[0].outcome,
    words: report.timeline.find((entry: { type: string }) => entry.type === 'validation.withheld').words,
    recipients: processing.find(({ type }) => type === 'validation.withheld')?.recipients,
  }
}

const notRepeated = expect.stringMatching(/^não repetida: foi enviada e não processada/)
const sentBefore = {
  call: notRepeated,
  validation: notRepeated,
  words: expect.stringMatching(/^Validação não repetida depois de uma tentativa não processada/),
  recipients: ['Serviço de validação'],
}

test('a deferred validation is not sent after its consent was revoked, and the report says what was sent', async () => {
  const store = temporaryStore()
  const { world, service, consent, ask } = await givenBusyService({ averba: { store } })
  const { averba } = world
  expect(await ask('a')).toMatchObject({ status: 'deferred' })
  valueOf(await averba.consents.revoke(consent))
  service.isBusy = false
  await passTime(world, 2 * hourMs)
  expect(service.left).toBe(1)
  expect(world.validationService.answered).toBe(0)
  expect(await averba.validations.get('a')).toMatchObject({ state: 'declined' })
  const problem = { ...notEffective.problem, title: expect.stringContaining('an earlier request was sent') }
  expect(await ask('a')).toMatchObject({ ...notEffective, problem, replayed: true })
  expect(await reportOf(world)).toEqual(sentBefore)
  const [revoked] = await eventsOf(world, 'consent.revoked')
  const [withheld] = await eventsOf(world, 'validation.withheld')
  expect(withheld).toMatchObject({ data: { reason: 'revoked', position: revoked?.position } })
  expect(withheld?.anomaly).toBeUndefined()
  expect(await averba.effects.list({ state: 'deferred' })).toEqual([])
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await world.close()
  await expectSound(store)
})

test('a validation waiting for a token is not sent after a revocation was requested', async () => {
  let revoking: Promise<unknown> = Promise.resolve()
  const world = await openWorld({
    async intercept(request, forward) {
      if (request.method === 'PUT') return busy(600, 503)
      if (isToken(request)) {
        revoking = world.averba.consents.revoke(consent)
        await revoking
      }
      return forward(request)
    },
  })
  const { consent, ask } = await givenBasis(world)
  expect(await ask('a')).toMatchObject(notEffective)
  expect(await revoking).toMatchObject({ status: 'deferred' })
  expect(world.validationService.answered).toBe(0)
  const [withheld] = await eventsOf(world, 'validation.withheld')
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
  const { consent, ask } = await givenBasis(world)
  valueOf(await world.averba.validations.validate({ id: 'warm', cpf: otherCpf, claims }))
  world.tokenService.expire()
  left = 0
  expect(await ask('a')).toMatchObject(notEffective)
  expect(left).toBe(1)
  expect(await reportOf(world)).toEqual(sentBefore)
})

test('the report says that nothing was sent if the consent ended before the request', async () => {
  const world = await openWorld({ faults: [{ kind: 'refuse', service: 'validationService' }] })
  const { consent, ask } = await givenBasis(world)
  expect(await ask('a')).toMatchObject({ status: 'deferred' })
  valueOf(await world.averba.consents.revoke(consent))
  await passTime(world, 2 * hourMs)
  const withheld = 'não enviada: o consentimento indicado já não valia'
  expect(await reportOf(world)).toEqual({
    call: withheld,
    validation: withheld,
    words: expect.stringMatching(/^Validação não enviada/),
    recipients: [],
  })
})

test.each([
  ['expired', 366, false],
  ['vanished', 0, true],
  [undefined, 0, false],
])('a deferred validation is withheld if its consent has %s, and otherwise sent', async (reason, days, isEmpty) => {
  const { world, service, consent, ask } = await givenBusyService()
  const { averba, clock, validationService } = world
  expect(await ask('a')).toMatchObject({ status: 'deferred' })
  service.isEmpty = isEmpty
  valueOf(await averba.consents.sync({ cpf: consent.cpf }))
  service.isBusy = false
  clock.jump(days * 24 * hourMs)
  await passTime(world, 2 * hourMs)
  const [withheld] = await eventsOf(world, 'validation.withheld')
  const data = { reason, at: expect.any(String), position: expect.any(Number), sentBefore: true }
  expect(withheld?.data).toEqual(reason && data)
  expect((await averba.validations.get('a'))?.state).toBe(reason ? 'declined' : 'answered')
  if (reason) expect(service.left).toBe(1)
  expect(validationService.answered).toBe(reason ? 0 : 1)
})

test('consents also withhold repeated validations, but not reused answers', async () => {
  const { world, service, consent, basis } = await givenBusyService()
  const { consents, validations } = world.averba
  service.isBusy = false
  const ask = (id: string, more = {}) => validations.validate({ id, cpf, claims, ...more }, { basis })
  await world.faults.add({ kind: 'lose', service: 'validationService', times: 1 })
  expect(await ask('lost')).toMatchObject({ status: 'unknown' })
  valueOf(await ask('answered'))
  service.isBusy = true
  const again = { again: { of: 'lost', reason: 'the customer waits' } }
  expect(await ask('again', again)).toMatchObject({ status: 'deferred' })
  expect(valueOf(await ask('reused', { reuseWithinMs: hourMs })).reusedFrom).toBe('answered')
  const left = service.left
  valueOf(await consents.revoke(consent))
  await refuses('CONSENT_NOT_EFFECTIVE', ask('late', { reuseWithinMs: hourMs }))
  await passTime(world, 2 * hourMs)
  expect(await ask('again', again)).toMatchObject(notEffective)
  expect((await validations.get('lost'))?.state).toBe('inconclusive')
  expect(service.left).toBe(left)
})

test('a deferred validation whose person is erased is cancelled, not withheld', async () => {
  const { world, service, ask } = await givenBusyService()
  const { effects, subjects } = world.averba
  const { effect } = await ask('a')
  await subjects.erase({ cpf }, { requester: 'pedido-1', legalBasis: 'LGPD 18 VI' })
  service.isBusy = false
  await passTime(world, 2 * hourMs)
  expect((await effects.get(effect))?.state).toBe('cancelled')
  await refuses('SUBJECT_ERASED', ask('a'), { message: expect.stringContaining('Its call had no effect') })
  expect(service.left).toBe(1)
  expect(await eventsOf(world, 'validation.withheld')).toEqual([])
})

test('a validation first requested without the consent is refused with it', async () => {
  const { world, service, consent, basis, ask } = await givenBusyService()
  const { averba, clock } = world
  expect(await validate(averba, 'a', { basis: without })).toMatchObject({ status: 'deferred' })
  expect(await ask('b')).toMatchObject({ status: 'deferred' })
  service.isBusy = false
  await clock.advance(2 * hourMs)
  const underAnother = { basis: { ...basis, consent: { ...consent, id: 'outro' } } }
  await refuses('COMMAND_REUSED', ask('a'), { hint: expect.any(String) })
  await refuses('COMMAND_REUSED', validate(averba, 'b', underAnother), { hint: expect.any(String) })
  expect(world.validationService.answered).toBe(0)
  expect(await ask('b')).toMatchObject({ status: 'settled', replayed: true })
})

test('a validation requested concurrently without the consent is refused with it', async () => {
  const world = await openWorld()
  const { ask } = await givenBasis(world)
  const [under, free] = await Promise.allSettled([ask('a'), validate(world.averba, 'a', { basis: without })])
  expect(free).toMatchObject({ status: 'fulfilled', value: { status: 'settled' } })
  expect(under).toMatchObject({ status: 'rejected', reason: { code: 'COMMAND_REUSED' } })
  expect(world.validationService.answered).toBe(1)
})
