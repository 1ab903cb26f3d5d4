import { expect, test } from 'vitest'
import { type AverbaError, valueOf } from '../../../src/index.ts'
import { checkOf } from '../../support/check-of.ts'
import { isDetail } from '../../support/consent-requests.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { basis, givenStory, tell } from './story.ts'

tell({
  'the age of a reading counts from its request, and a use needs one no older than that':
    '10 min, hold lists back, begin list, 1 s, person REVOGADO, 8 s, open 1, 4900 ms, use within 5 s revoked',
})

test('a use with ageMaxMs 0 accepts a slow reading that it started', async () => {
  const { world, which, play } = await givenStory('ATIVO')
  await play('1 min, hold lists back')
  const using = world.averba.consents.use({ ...which, ageMaxMs: 0 }, { basis })
  await world.clock.quiet()
  await play('3 s, open 1')
  expect((await using).reason).toBe('active')
})

test('a use waits for a reading no longer than its caller waits', async () => {
  const { world, which, play } = await givenStory('ATIVO')
  await play('1 min, hold lists back')
  const stopped = new AbortController()
  const use = (ask: object) => world.averba.consents.use({ ...which, ageMaxMs: 0 }, { basis, ...ask })
  const using = Promise.allSettled([use({ waitMs: 200 }), use({ signal: stopped.signal })])
  await world.clock.quiet()
  stopped.abort()
  await world.clock.advance(200)
  const refused = { status: 'rejected', reason: { standing: { reason: 'stale' } } }
  expect(await using).toMatchObject([refused, refused])
  await play('open 1')
})

test('callers and uses do not wait for all readings in full that a list requires', async () => {
  let isSlow = false
  const { averba, clock, consentService, samples, subject, which } = await givenConsent(
    'ATIVO',
    async (request, forward) => {
      if (isSlow && isDetail(request)) await clock.sleep(9_000)
      return forward(request)
    },
  )
  const { cpf } = samples
  const others = Array.from({ length: 20 }, () => consentService.addConsent({ cpf, status: 'ATIVO' }))
  valueOf(await averba.consents.sync({ subject }))
  for (const id of others) consentService.change(cpf, id, 'REVOGADO')
  isSlow = true
  const askedAt = clock.now()
  const synced = averba.consents.sync({ subject }, { waitMs: 1_000 })
  expect((await clock.finish(synced)).status).toBe('settled')
  expect(clock.now() - askedAt).toBe(1_000)
  await clock.advance(60_000)
  const listed = averba.consents.list({ subject, ageMaxMs: 1_000 })
  await clock.advance(2_000)
  const use = (ageMaxMs: number) => clock.finish(averba.consents.use({ ...which, ageMaxMs }, { basis }))
  expect((await use(60_000)).reason).toBe('active')
  expect((await use(1_000)).reason).toBe('active')
  await clock.finish(listed)
  await clock.finish(averba.settle())
  expect(await averba.consents.list({ subject, status: 'REVOGADO' })).toHaveLength(20)
})

test.each([
  ['a status that the contract does not have', 'as SUSPENSO'],
  ['two entries that say two things', 'twice REVOGADO'],
])('a consent that is unreadable (%s) is uncertain, and no other one is', async (_, lists) => {
  const { averba, consentService, samples, subject, play } = await givenStory('ATIVO')
  const other = consentService.addConsent({ cpf: samples.cpf, cnpj: samples.cnpj, status: 'ATIVO' })
  await play(`details lost, lists ${lists}, 1 min, list, use uncertain`)
  expect((await averba.consents.use({ subject, id: other, ageMaxMs: 30_000 }, { basis })).reason).toBe('active')
  await play('lists now, 1 s, list, use active')
})

test('questions during an outage cause only two readings per kind afterwards', async () => {
  let isDown = false
  const requestCounts = new Map<string, number>()
  const { averba, clock, subject, which, world } = await givenConsent('ATIVO', async (request, forward) => {
    if (isDown) return new Response('', { status: 503 })
    const [route = ''] = /consentimentos|ciencias|autenticacao/.exec(request.url) ?? []
    requestCounts.set(route, (requestCounts.get(route) ?? 0) + 1)
    return forward(request)
  })
  const codeOf = (asking: Promise<unknown>) => asking.then(String, (error: AverbaError) => error.code)
  isDown = true
  await clock.advance(120_000)
  // A host waits for this one, with its own command id.
  const ask = { commandId: 'of-the-host' }
  expect(await averba.consents.sync({ subject }, ask)).toMatchObject({ status: 'deferred' })
  for (let n = 0; n < 30; n++) {
    expect(await codeOf(averba.consents.use({ ...which, ageMaxMs: 60_000 }, { basis }))).toBe('CONSENT_NOT_EFFECTIVE')
    expect(await codeOf(averba.logins.state({ subject }))).toBe('OUTCOME')
    expect(await codeOf(averba.awareness.list({ subject, ageMaxMs: 0 }))).toBe('OUTCOME')
    await clock.advance(10_000)
  }
  expect(await averba.effects.list({ state: 'deferred' })).toHaveLength(7)
  isDown = false
  requestCounts.clear()
  await passTime(world, hourMs)
  expect(Object.fromEntries(requestCounts)).toEqual({ consentimentos: 3, ciencias: 2, autenticacao: 2 })
  expect(await averba.consents.sync({ subject }, ask)).toMatchObject({ status: 'settled' })
})

test('health reports an outage of days, however often questions are asked meanwhile', async () => {
  const { averba, faults, subject, world } = await givenConsent('ATIVO')
  await faults.add({ kind: 'status', service: 'consentService', status: 503 })
  for (let hour = 0; hour < 30; hour++) {
    await averba.logins.state({ subject }).catch(() => undefined)
    await passTime(world, hourMs)
  }
  expect((await averba.effects.list({ state: 'parked' })).length).toBeGreaterThan(0)
  expect(await checkOf(averba, 'effects')).toMatchObject({ ok: false })
})
