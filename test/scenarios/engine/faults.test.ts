import { describe, expect, test } from 'vitest'
import { type Outcome, valueOf } from '../../../src/index.ts'
import { type Fault, type FaultKind, simulate, startServices, type World } from '../../../src/simulation/index.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { openEngine, openServices, openWorld } from '../../support/world.ts'

type Kind = 'read' | 'change' | 'paid'
type Row = Record<Kind, string> & { fault: Fault; reason?: string; stepMs?: number }

const inAll = (status: string) => ({ read: status, change: status, paid: status })
const inDoubt = { read: 'deferred', change: 'unknown', paid: 'unknown' }

/** The outcome of a reading, a change that can be read back and a paid call, under every fault. */
const table: Record<FaultKind, Row> = {
  refuse: {
    fault: { kind: 'refuse' },
    ...inAll('deferred'),
    reason: 'the connection was refused (ECONNREFUSED)',
  },
  expiredCertificate: {
    fault: { kind: 'expiredCertificate' },
    ...inAll('deferred'),
    reason: "the service's certificate has expired (CERT_HAS_EXPIRED)",
  },
  unknownCertificate: {
    fault: { kind: 'unknownCertificate' },
    ...inAll('deferred'),
    reason: expect.stringContaining("the service's certificate is not trusted"),
  },
  reset: { fault: { kind: 'reset' }, ...inDoubt },
  lose: { fault: { kind: 'lose' }, ...inDoubt },
  delay: { fault: { kind: 'delay', ms: 1 }, ...inAll('settled'), stepMs: 1 },
  trickle: { fault: { kind: 'trickle' }, ...inDoubt, reason: 'no answer in time', stepMs: 500 },
  status: { fault: { kind: 'status', status: 500 }, ...inDoubt },
  html: { fault: { kind: 'html' }, ...inDoubt },
  contentType: { fault: { kind: 'contentType' }, ...inAll('settled') },
  truncate: { fault: { kind: 'truncate' }, ...inDoubt },
  oversize: { fault: { kind: 'oversize' }, ...inDoubt },
  rejectToken: { fault: { kind: 'rejectToken', times: 1 }, ...inAll('settled') },
  // Faults of deliveries are tested in deliveries.test.ts.
  duplicate: { fault: { kind: 'duplicate' }, ...inAll('settled') },
  reorder: { fault: { kind: 'reorder' }, ...inAll('settled') },
  wrongSecret: { fault: { kind: 'wrongSecret' }, ...inAll('settled') },
  clockSkew: { fault: { kind: 'clockSkew', ms: -2 * hourMs }, ...inAll('settled') },
}

async function given(): Promise<{ world: World; calls: Record<Kind, () => Promise<Outcome<unknown>>> }> {
  const world = await openWorld()
  const { averba, samples } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  valueOf(await averba.validations.validate({ id: 'first', cpf: samples.cpf, claims: { nome: 'X' } }))
  const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
  const ask = { waitMs: hourMs }
  const calls = {
    read: () => averba.consents.sync({ subject }, ask),
    change: () => averba.consents.approve({ subject, id: pending?.id ?? '' }, ask),
    paid: () => averba.validations.validate({ id: 'second', cpf: samples.cpf, claims: { nome: 'X' } }, ask),
  }
  return { world, calls }
}

/** Checks that no paid call was sent twice, no consent is in doubt and the views match the log. */
async function expectAllIsWell(world: World): Promise<void> {
  await passTime(world, hourMs)
  expect(world.validationService.answered).toBeLessThanOrEqual(2)
  const rows = await world.averba.views.selectFrom('consents').select('knowledge').execute()
  expect(new Set(rows.map(row => row.knowledge))).toEqual(new Set(['known']))
  expect((await world.averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await world.close()
}

describe.each(Object.values(table))('$fault.kind', ({ fault, reason, stepMs = 0, ...expected }) => {
  test.each(['read', 'change', 'paid'] as const)(`%s`, async kind => {
    const { world, calls } = await given()
    await world.faults.add(fault)
    const outcome = await world.clock.finish(calls[kind]())
    expect(outcome.status).toBe(expected[kind])
    if (reason !== undefined) {
      const pending = await world.averba.effects.get(outcome.effect)
      expect(pending?.reason).toEqual(reason)
    }
    world.faults.clear()
    await expectAllIsWell(world)
  })
})

test.each([429, 503])('a service that answers %i with Retry-After is called again at that time', async status => {
  const { world, calls } = await given()
  await world.faults.add({ kind: 'status', status, retryAfterS: 120 })
  const expected = { status: 'deferred', retryAt: '2026-11-20T12:02:00.000Z' }
  for (const call of Object.values(calls)) expect(await call()).toMatchObject(expected)
  world.faults.clear()
  await expectAllIsWell(world)
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

test('a slow answer within the time limit is accepted', async () => {
  const { world, calls } = await given()
  await world.faults.add({ kind: 'trickle', ms: 100 })
  expect((await world.clock.finish(calls.read())).status).toBe('settled')
  await expectAllIsWell(world)
})

test.each([
  [true, 'settled', 'a new token is obtained, and the call repeated with it'],
  [false, 'deferred', 'the gateway returns the same token, which is not requested again'],
])('a token that is rejected early and ended: %s is renewed once', async (ended, status) => {
  const { world } = await given()
  const validate = (id: string) =>
    world.averba.validations.validate({ id, cpf: world.samples.cpf, claims: { nome: 'X' } })
  await world.faults.add({ kind: 'rejectToken', ended, times: 1 })
  expect(world.tokenService.requests).toBe(1)
  expect((await validate('second')).status).toBe(status)
  expect(world.tokenService.requests).toBe(2)
  expect(world.validationService).toMatchObject({ refused: 1, answered: ended ? 2 : 1 })
  await passTime(world, hourMs)
  expect((await validate('second')).status).toBe('settled')
  expect(world.validationService.answered).toBe(2)
  await expectAllIsWell(world)
})

test('many calls in progress when a token is rejected early cost one token request', async () => {
  const { world } = await given()
  await world.faults.add({ kind: 'rejectToken', times: 1 })
  const calls = Array.from({ length: 30 }, (_, i) =>
    world.averba.validations.validate({ id: `p${i}`, cpf: world.samples.cpf, claims: { nome: 'X' } }),
  )
  for (const outcome of await Promise.all(calls)) valueOf(outcome)
  expect(world.tokenService.requests).toBe(2)
  expect(world.validationService.answered).toBe(31)
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
  ['ms with a status', { kind: 'status', ms: 3 }, 'ms: status does not use it'],
  ['a status with a lost answer', { kind: 'lose', status: 500 }, 'status: lose does not use it'],
  ['a status with an HTML page', { kind: 'html', status: 500 }, 'status: html does not use it'],
  ['Retry-After with a refused connection', { kind: 'refuse', retryAfterS: 4 }, 'retryAfterS: refuse does not use it'],
  ['a delay without ms', { kind: 'delay' }, 'ms: delay needs it'],
  ['a skew without ms', { kind: 'clockSkew' }, 'ms: clockSkew needs it'],
] as [string, Fault, string][])('%s is refused with a reason', async (_, fault, words) => {
  const expected = { code: 'INVALID_INPUT', message: expect.stringContaining(words) }
  await expect(simulate({ faults: [fault] })).rejects.toMatchObject(expected)
  await expect(startServices({ faults: [fault] })).rejects.toMatchObject(expected)
})

test('a lost answer is read back over real sockets too', async () => {
  const services = await openServices()
  const averba = await openEngine({ store: ':memory:', ...services.options })
  const subject = await averba.consents.enrol({ cpf: services.samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
  await services.faults.add({ kind: 'lose', method: 'PUT', times: 1 })
  const outcome = await averba.consents.approve({ subject, id: pending?.id ?? '' })
  expect(outcome).toMatchObject({ status: 'settled', value: { status: 'ATIVO' } })
})
