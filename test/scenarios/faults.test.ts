import { describe, expect, test } from 'vitest'
import { type Outcome, openAverba, valueOf } from '../../src/index.ts'
import {
  type Fault,
  type FaultKind,
  simulate,
  startServices,
  type World,
} from '../../src/simulation/index.ts'

/** What three kinds of call make of every fault: a reading, a change that can be read back, a paid call. */
const table: Record<FaultKind, { fault: Fault; read: string; change: string; paid: string }> = {
  refuse: { fault: { kind: 'refuse' }, read: 'deferred', change: 'deferred', paid: 'deferred' },
  reset: { fault: { kind: 'reset' }, read: 'deferred', change: 'unknown', paid: 'unknown' },
  lose: { fault: { kind: 'lose' }, read: 'deferred', change: 'unknown', paid: 'unknown' },
  delay: { fault: { kind: 'delay', ms: 1 }, read: 'settled', change: 'settled', paid: 'settled' },
  status: { fault: { kind: 'status', status: 500 }, read: 'deferred', change: 'unknown', paid: 'unknown' },
  html: { fault: { kind: 'html' }, read: 'deferred', change: 'unknown', paid: 'unknown' },
  contentType: { fault: { kind: 'contentType' }, read: 'settled', change: 'settled', paid: 'settled' },
  truncate: { fault: { kind: 'truncate' }, read: 'deferred', change: 'unknown', paid: 'unknown' },
  oversize: { fault: { kind: 'oversize' }, read: 'settled', change: 'settled', paid: 'settled' },
}

async function given(): Promise<{
  world: World
  calls: Record<'read' | 'change' | 'paid', () => Promise<Outcome<unknown>>>
}> {
  const world = await simulate()
  const { averba, samples } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  valueOf(await averba.validations.validate({ id: 'first', cpf: samples.cpf, claims: {} }))
  const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
  const calls = {
    read: () => averba.consents.sync({ subject }),
    change: () => averba.consents.approve({ subject, id: pending?.id ?? '' }),
    paid: () => averba.validations.validate({ id: 'second', cpf: samples.cpf, claims: {} }),
  }
  return { world, calls }
}

describe.each(Object.values(table))('$fault.kind', ({ fault, ...expected }) => {
  test.each(['read', 'change', 'paid'] as const)(`%s`, async kind => {
    const { world, calls } = await given()
    world.faults.add(fault)
    const calling = calls[kind]()
    if (fault.kind === 'delay') {
      await expect.poll(() => world.clock.sleeping).toBeGreaterThan(1)
      await world.clock.advance(1)
    }
    expect((await calling).status).toBe(expected[kind])
    world.faults.clear()
    await world.clock.advance(3_600_000)
    await world.averba.settle()
    // Whatever it was: nothing paid went twice, no doubt about a consent is left, and the views agree.
    expect(world.validationService.answered).toBeLessThanOrEqual(2)
    const rows = await world.averba.views.selectFrom('consents').select('knowledge').execute()
    expect(new Set(rows.map(row => row.knowledge))).toEqual(new Set(['known']))
    expect((await world.averba.rebuild()).every(view => view.differences === 0)).toBe(true)
    await world.close()
  })
})

describe.each([
  [400, undefined, 'declined', 'declined', 'declined'],
  [401, undefined, 'declined', 'declined', 'deferred'],
  [403, undefined, 'declined', 'declined', 'declined'],
  [404, undefined, 'declined', 'declined', 'declined'],
  [408, undefined, 'deferred', 'unknown', 'unknown'],
  [429, undefined, 'deferred', 'deferred', 'deferred'],
  [429, 120, 'deferred', 'deferred', 'deferred'],
  [500, undefined, 'deferred', 'unknown', 'unknown'],
  [503, undefined, 'deferred', 'unknown', 'unknown'],
  [503, 120, 'deferred', 'deferred', 'deferred'],
])('status %i with Retry-After %s', (status, retryAfterS, read, change, paid) => {
  test.each(Object.entries({ read, change, paid }))('%s is %s', async (kind, expected) => {
    const { world, calls } = await given()
    world.faults.add({ kind: 'status', status, ...(retryAfterS !== undefined && { retryAfterS }) })
    const outcome = await calls[kind as keyof typeof calls]()
    expect(outcome.status).toBe(expected)
    if (retryAfterS !== undefined) expect(outcome).toMatchObject({ retryAt: '2026-11-20T12:02:00.000Z' })
    await world.close()
  })
})

test('a fault befalls what it names, as often as it says, and a seed repeats its chances', async () => {
  const statuses = async (seed: number) => {
    const world = await simulate({ seed })
    world.faults.add({
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

test('over real sockets a lost answer is read back all the same', async () => {
  const services = await startServices()
  const averba = await openAverba({ store: ':memory:', ...services.options })
  const subject = await averba.consents.enrol({ cpf: services.samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
  services.faults.add({ kind: 'lose', method: 'PUT', times: 1 })
  const outcome = await averba.consents.approve({ subject, id: pending?.id ?? '' })
  expect(outcome).toMatchObject({ status: 'settled', value: { status: 'ATIVO' } })
  services.faults.add({ kind: 'oversize', times: 3 })
  expect(await averba.consents.sync({ subject })).toMatchObject({ status: 'deferred' })
  await averba.close()
  await services.close()
})
