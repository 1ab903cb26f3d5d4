import { expect, test } from 'vitest'
import { type Outcome, valueOf } from '../../../src/index.ts'
import { type Fault, simulate, startServices } from '../../../src/simulation/index.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { openWorld } from '../../support/world.ts'

const kinds = ['read', 'change', 'paid'] as const
type Kind = (typeof kinds)[number]
type Row = Record<Kind, string> & { fault: Fault; reason?: unknown; retryAt?: string; tokenRequests?: number }

const inAll = (status: string) => ({ read: status, change: status, paid: status })
const inDoubt = { read: 'deferred', change: 'unknown', paid: 'unknown' }
const postponed = { ...inAll('deferred'), retryAt: '2026-11-20T12:02:00.000Z' }

/**
 * The outcome of a reading, a change that can be read back and a paid call, under every fault. Faults of deliveries are
 * tested in deliveries.test.ts.
 */
const table: Row[] = [
  { fault: { kind: 'refuse' }, ...inAll('deferred'), reason: 'the connection was refused (ECONNREFUSED)' },
  {
    fault: { kind: 'expiredCertificate' },
    ...inAll('deferred'),
    reason: "the service's certificate has expired (CERT_HAS_EXPIRED)",
  },
  {
    fault: { kind: 'unknownCertificate' },
    ...inAll('deferred'),
    reason: expect.stringContaining("the service's certificate is not trusted"),
  },
  { fault: { kind: 'reset' }, ...inDoubt },
  { fault: { kind: 'lose' }, ...inDoubt },
  { fault: { kind: 'delay', ms: 1 }, ...inAll('settled') },
  { fault: { kind: 'trickle' }, ...inDoubt, reason: 'no answer in time' },
  // Slow, but within the time limit.
  { fault: { kind: 'trickle', ms: 100 }, ...inAll('settled') },
  { fault: { kind: 'status', status: 500 }, ...inDoubt },
  { fault: { kind: 'status', status: 429, retryAfterS: 120 }, ...postponed },
  { fault: { kind: 'status', status: 503, retryAfterS: 120 }, ...postponed },
  { fault: { kind: 'html' }, ...inDoubt },
  { fault: { kind: 'contentType' }, ...inAll('settled') },
  { fault: { kind: 'truncate' }, ...inDoubt },
  { fault: { kind: 'oversize' }, ...inDoubt },
  { fault: { kind: 'rejectToken', times: 1 }, ...inAll('settled'), tokenRequests: 2 },
  // The gateway returns the same token, which is not requested again.
  { fault: { kind: 'rejectToken', times: 1, ended: false }, ...inAll('settled'), paid: 'deferred', tokenRequests: 2 },
  { fault: { kind: 'clockSkew', ms: -2 * hourMs }, ...inAll('settled') },
]

test.each(table)('$fault', async ({ fault, reason, retryAt, tokenRequests = 1, ...expected }) => {
  const { world, subject, consent } = await givenConsent('PENDENTE')
  const { averba, clock, samples, tokenService, validationService } = world
  const ask = { waitMs: hourMs }
  const validate = (id: string) => averba.validations.validate({ id, cpf: samples.cpf, claims: { nome: 'X' } }, ask)
  const calls: Record<Kind, () => Promise<Outcome<unknown>>> = {
    read: () => averba.consents.sync({ subject }, ask),
    change: () => averba.consents.approve({ subject, id: consent.id }, ask),
    paid: () => validate('second'),
  }
  valueOf(await validate('first'))
  await world.faults.add(fault)
  for (const kind of kinds) {
    const outcome = await clock.finish(calls[kind]())
    expect(outcome, kind).toMatchObject({ status: expected[kind], ...(retryAt !== undefined && { retryAt }) })
    if (reason !== undefined) expect((await averba.effects.get(outcome.effect))?.reason).toEqual(reason)
  }
  expect(tokenService.requests).toBe(tokenRequests)
  world.faults.clear()
  await passTime(world, hourMs)
  // A change that was not made is asked for again.
  await passTime(world, hourMs)
  if (expected.paid !== 'unknown') expect(await validate('second')).toMatchObject({ status: 'settled' })
  expect(validationService.answered).toBeLessThanOrEqual(2)
  const rows = await averba.views.selectFrom('consents').select('knowledge').execute()
  expect(new Set(rows.map(row => row.knowledge))).toEqual(new Set(['known']))
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('a fault hits what it names as often as it says, and a seed repeats its random choices', async () => {
  const statuses = async (seed: number) => {
    const world = await openWorld({ seed })
    await world.faults.add({
      kind: 'status',
      status: 429,
      service: 'consentService',
      path: '/consentimentos/',
      percent: 50,
    })
    const subject = await world.averba.consents.enrol({ cpf: world.samples.cpf })
    const found: string[] = []
    for (let i = 0; i < 20; i++) found.push((await world.averba.consents.sync({ subject })).status)
    expect((await world.averba.logins.state({ subject })).autenticado).toBe(false)
    await world.close()
    return found
  }
  const first = await statuses(7)
  expect(new Set(first)).toEqual(new Set(['settled', 'deferred']))
  expect(await statuses(7)).toEqual(first)
})

test('faults apply from the start, and are cleared all at once', async () => {
  const world = await openWorld({ faults: [{ kind: 'reset' }, { kind: 'clockSkew', ms: hourMs }] })
  const subject = await world.averba.consents.enrol({ cpf: world.samples.cpf })
  expect((await world.averba.consents.sync({ subject })).status).toBe('deferred')
  world.faults.clear()
  expect((await world.averba.consents.sync({ subject })).status).toBe('settled')
  const [first] = await world.averba.consents.list({ subject })
  expect(first?.dataHora).toBe('2026-11-20T13:00:00.000Z')
})

test.each([
  ['duplicate', { kind: 'duplicate', service: 'portal' }, 'service: duplicate applies to the receiver only'],
  ['rejectToken', { kind: 'rejectToken', service: 'portal' }, 'applies to the validationService only'],
  ['a skew of the receiver', { kind: 'clockSkew', service: 'receiver' }, 'no simulated clock'],
  ['a skew with a number of times', { kind: 'clockSkew', times: 1 }, 'times: clockSkew lasts'],
  ['a certificate fault on one path', { kind: 'expiredCertificate', path: '/x' }, 'path: '],
  ['a negative delay', { kind: 'delay', ms: -1 }, 'ms: only clockSkew'],
  ['ended without a token fault', { kind: 'reset', ended: true }, 'ended: reset does not use it'],
  ['ms with a lost answer', { kind: 'lose', ms: 3 }, 'ms: lose does not use it'],
  ['a status with an HTML page', { kind: 'html', status: 500 }, 'status: html does not use it'],
  ['Retry-After with a refused connection', { kind: 'refuse', retryAfterS: 4 }, 'retryAfterS: refuse does not use it'],
  ['a delay without ms', { kind: 'delay' }, 'ms: delay needs it'],
  ['a skew of over a century', { kind: 'clockSkew', ms: 101 * 365 * 24 * hourMs }, 'ms: '],
  ['a skew without ms', { kind: 'clockSkew' }, 'ms: clockSkew needs it'],
] as [string, Fault, string][])('%s is refused with a reason', async (_, fault, words) => {
  const expected = { code: 'INVALID_INPUT', message: expect.stringContaining(words) }
  await expect(simulate({ faults: [fault] })).rejects.toMatchObject(expected)
  await expect(startServices({ faults: [fault] })).rejects.toMatchObject(expected)
})
