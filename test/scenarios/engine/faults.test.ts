import { expect, test } from 'vitest'
import { type Outcome, valueOf } from '../../../src/index.ts'
import { type Fault, simulate, startServices } from '../../../src/simulation/index.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { validate } from '../../support/open-validating.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { openWorld } from '../../support/world.ts'

const kinds = ['read', 'change', 'paid'] as const
type Kind = (typeof kinds)[number]
type Row = Record<Kind, string> & { fault: Fault; reason?: unknown; retryAt?: string; tokenRequests?: number }

const inAll = (status: string) => ({ read: status, change: status, paid: status })
const inDoubt = { read: 'deferred', change: 'unknown', paid: 'unknown' }
const postponed = { ...inAll('deferred'), retryAt: '2026-11-20T12:02:00.000Z' }
const untrusted = expect.stringContaining("the service's certificate is not trusted")
const unsent = (reason: unknown) => ({ ...inAll('deferred'), reason })

/**
 * The outcome of a reading, a change that can be read back and a paid call, under every fault. Faults of deliveries are
 * tested in deliveries.test.ts.
 */
const table: Row[] = [
  { fault: { kind: 'refuse' }, ...unsent('the connection was refused (ECONNREFUSED)') },
  { fault: { kind: 'expiredCertificate' }, ...unsent("the service's certificate has expired (CERT_HAS_EXPIRED)") },
  { fault: { kind: 'unknownCertificate' }, ...unsent(untrusted) },
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
  const { world, subject, which } = await givenConsent('PENDENTE')
  const { averba, clock } = world
  const ask = { waitMs: hourMs }
  const calls = {
    read: () => averba.consents.sync({ subject }, ask),
    change: () => averba.consents.approve(which, ask),
    paid: () => validate(averba, 'second', ask),
  }
  valueOf(await validate(averba, 'first', ask))
  await world.faults.add(fault)
  for (const kind of kinds) {
    const outcome = await clock.finish<Outcome<unknown>>(calls[kind]())
    expect(outcome, kind).toMatchObject({ status: expected[kind], ...(retryAt !== undefined && { retryAt }) })
    if (reason !== undefined) expect((await averba.effects.get(outcome.effect))?.reason).toEqual(reason)
  }
  expect(world.tokenService.requests).toBe(tokenRequests)
  world.faults.clear()
  // A change that was not made is asked for again in the second hour.
  await passTime(world, hourMs, 2)
  if (expected.paid !== 'unknown') expect(await calls.paid()).toMatchObject({ status: 'settled' })
  expect(world.validationService.answered).toBeLessThanOrEqual(2)
  const rows = await averba.views.selectFrom('consents').select('knowledge').execute()
  expect(new Set(rows.map(row => row.knowledge))).toEqual(new Set(['known']))
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('a fault hits what it names as often as it says, and a seed repeats its random choices', async () => {
  const fault = {
    kind: 'status',
    status: 429,
    service: 'consentService',
    path: '/consentimentos/',
    percent: 50,
  } as const
  const statuses = async (seed: number) => {
    const { averba, samples, close } = await openWorld({ seed, faults: [fault] })
    const subject = await averba.consents.enrol({ cpf: samples.cpf })
    const found: string[] = []
    for (let i = 0; i < 20; i++) found.push((await averba.consents.sync({ subject })).status)
    expect((await averba.logins.state({ subject })).autenticado).toBe(false)
    await close()
    return found
  }
  const first = await statuses(7)
  expect(new Set(first)).toEqual(new Set(['settled', 'deferred']))
  expect(await statuses(7)).toEqual(first)
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
  for (const open of [simulate, startServices]) await expect(open({ faults: [fault] })).rejects.toMatchObject(expected)
})
