import { describe, expect, test } from 'vitest'
import { retryPolicies } from '../../../src/engine/performing/retry-policy.ts'
import type { World } from '../../../src/simulation/index.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const operator = { actor: { kind: 'person', ref: 'operadora-7' } } as const

/** A subject whose consents are known, and a consent service that refuses every connection from now on. */
async function givenServiceThatIsDown() {
  let isDown = false
  const lines: unknown[] = []
  const world = await openWorld({
    averba: { logger: line => void lines.push(line) },
    intercept: async (request, forward) => {
      if (isDown && request.url.includes('/consentimento/')) return new Response('', { status: 429 })
      return forward(request)
    },
  })
  const subject = await world.averba.consents.enrol({ cpf: world.samples.cpf })
  await world.averba.consents.sync({ subject })
  const [pending] = await world.averba.consents.list({ subject, status: 'PENDENTE' })
  isDown = true
  const approve = () => world.averba.consents.approve({ subject, id: pending?.id ?? '' }, { commandId: 'c1' })
  const recover = () => {
    isDown = false
  }
  return { world, approve, recover, subject, lines }
}

/** Settles every five minutes for some hours. */
async function settleFor(world: World, hours: number): Promise<void> {
  for (let passed = 0; passed < hours * 12; passed++) {
    await world.averba.settle()
    await world.clock.advance(hourMs / 12)
  }
}

test('a call that fails for a day is parked, is reported, and waits for an operator', async () => {
  const { world, approve, recover, lines } = await givenServiceThatIsDown()
  const { averba } = world
  const announced: unknown[] = []
  averba.on('effect.parked', event => announced.push(event.data))
  const outcome = await approve()
  expect(outcome.status).toBe('deferred')
  await settleFor(world, 26)
  const [parked] = await averba.effects.list({ state: 'parked' })
  expect(parked).toMatchObject({
    id: outcome.effect,
    reason: expect.stringMatching(/^the consent service answered 429; given up after 2\d hours$/),
  })
  expect(announced).toMatchObject([{ effect: outcome.effect, type: 'consentService.changeStatus', by: 'policy' }])
  // The service’s own words are not logged.
  const detail = `consentService.changeStatus ${outcome.effect}: given up after 24 hours`
  expect(lines).toEqual([{ message: 'a call is parked: effects.retry releases it', detail }])
  const sent = world.requests.length
  await settleFor(world, 5)
  expect(world.requests).toHaveLength(sent)
  expect(await approve()).toMatchObject({ status: 'pending', replayed: true })

  recover()
  await averba.effects.retry(outcome.effect, operator)
  expect(await averba.effects.get(outcome.effect)).toMatchObject({ state: 'pending', attempts: 0 })
  expect(await averba.settle()).toEqual({ settled: 1, deferred: 0, unknown: 0 })
  expect(await approve()).toMatchObject({ status: 'settled', value: { status: 'ATIVO' } })
  const moves = []
  const types = ['effect.parked', 'effect.resumed'] as const
  for await (const event of averba.log.read({ types })) moves.push(event)
  expect(moves).toMatchObject([
    { type: 'effect.parked', moves: { effect: outcome.effect, to: 'parked' } },
    { type: 'effect.resumed', moves: { effect: outcome.effect, to: 'pending' }, ...operator },
  ])
})

test('a call released by an operator is retried for its full time again', async () => {
  const { world, approve } = await givenServiceThatIsDown()
  const { effect } = await approve()
  await settleFor(world, 26)
  await world.averba.effects.retry(effect)
  await settleFor(world, 12)
  expect(await world.averba.effects.get(effect)).toMatchObject({ state: 'deferred' })
  await settleFor(world, 14)
  expect(await world.averba.effects.get(effect)).toMatchObject({ state: 'parked' })
})

test('a process that was down for days does not park calls that it has hardly tried', async () => {
  const { world, approve, recover } = await givenServiceThatIsDown()
  const { effect } = await approve()
  await passTime(world, 72 * hourMs)
  expect(await world.averba.effects.get(effect)).toMatchObject({ state: 'deferred', attempts: 2 })
  recover()
  await settleFor(world, 1)
  expect(await world.averba.effects.get(effect)).toMatchObject({ state: 'settled' })
})

test('an attempt that lost its lease parks nothing', async () => {
  const store = temporaryStore()
  let isHeld = false
  const held: ((status: number) => void)[] = []
  const intercept = async () => {
    if (!isHeld) return new Response('', { status: 429 })
    return new Promise<Response>(resolve => {
      held.push(status => resolve(new Response('[]', { status })))
    })
  }
  const first = await openWorld({ averba: { store }, intercept })
  const { clock } = first
  const second = await openWorld({ seed: 2, averba: { store, clock }, intercept })
  const subject = await first.averba.consents.enrol({ cpf: first.samples.cpf })
  const { effect } = await first.averba.consents.sync({ subject })
  await settleFor(first, 23)
  isHeld = true
  await clock.advance(2 * hourMs)
  const settling = [first.averba.settle()]
  await expect.poll(() => held.length).toBe(1)
  await clock.advance(61_000)
  settling.push(second.averba.settle())
  await expect.poll(() => held.length).toBe(2)
  held[0]?.(429)
  await settling[0]
  expect(await first.averba.effects.get(effect)).toMatchObject({ state: 'started' })
  held[1]?.(200)
  await settling[1]
  expect(await first.averba.effects.get(effect)).toMatchObject({ state: 'settled' })
  for await (const event of first.averba.log.read({ kind: 'effect' })) expect.unreachable(event.type)
})

test('a call parked by an operator is not sent until it is released', async () => {
  const { world, approve, recover } = await givenServiceThatIsDown()
  const { averba } = world
  const { effect } = await approve()
  await averba.effects.park(effect, operator)
  recover()
  await settleFor(world, 2)
  expect(await averba.effects.get(effect)).toMatchObject({
    state: 'parked',
    reason: 'parked by an operator',
    attempts: 1,
  })
  await expect(averba.effects.park(effect)).rejects.toMatchObject({ code: 'REFUSED' })
  await averba.effects.retry(effect, { ...operator, commandId: 'let-go' })
  await averba.settle()
  expect(await averba.effects.get(effect)).toMatchObject({ state: 'settled' })
  // The same command id returns the same result, and does nothing.
  await averba.effects.retry(effect, { ...operator, commandId: 'let-go' })
  await expect(averba.effects.retry(effect)).rejects.toMatchObject({ code: 'REFUSED' })
  await expect(averba.effects.retry('consent-x/1/0')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

describe('a call that was perhaps done', () => {
  test('and paid for is not repeated by retry', async () => {
    const { averba, samples, validationService } = await openWorld({
      intercept: async (request, forward) => {
        const response = await forward(request)
        if (request.url.includes('/validate/')) throw new TypeError('lost')
        return response
      },
    })
    const outcome = await averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } })
    expect(outcome).toMatchObject({ status: 'unknown', next: 'person' })
    for (const verb of ['retry', 'park'] as const) {
      await expect(averba.effects[verb](outcome.effect)).rejects.toMatchObject({
        code: 'REFUSED',
        message: expect.stringContaining('a person has to decide'),
      })
    }
    await averba.settle()
    expect(validationService.answered).toBe(1)
  })

  test('and can be read back is left to the reading', async () => {
    let isLosing = true
    const { averba, samples } = await openWorld({
      intercept: async (request, forward) => {
        if (request.method !== 'PUT' && !(isLosing && request.url.includes('/consentimento/'))) return forward(request)
        if (request.method === 'PUT') await forward(request)
        throw new TypeError('lost')
      },
    })
    const subject = await averba.consents.enrol({ cpf: samples.cpf })
    isLosing = false
    await averba.consents.sync({ subject })
    const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
    isLosing = true
    const outcome = await averba.consents.approve({ subject, id: pending?.id ?? '' })
    expect(outcome).toMatchObject({ status: 'unknown', next: 'probe' })
    await expect(averba.effects.retry(outcome.effect)).rejects.toMatchObject({
      message: expect.stringContaining('a pending reading will show it'),
    })
  })
})

test('a call that needs a token is parked by its own policy, and the token request never is', async () => {
  let isDown = true
  const world = await openWorld({
    intercept: async (request, forward) => {
      if (isDown && request.url.includes('/token')) return new Response('', { status: 500 })
      return forward(request)
    },
  })
  const { averba, samples } = world
  const { effect } = await averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } })
  await settleFor(world, 30)
  expect(await averba.effects.get(effect)).toMatchObject({ state: 'parked' })
  expect(await averba.effects.list({ state: 'parked' })).toHaveLength(1)
  isDown = false
  await averba.effects.retry(effect)
  await settleFor(world, 1)
  expect(await averba.effects.get(effect)).toMatchObject({ state: 'settled' })
})

test('every class of effect has a policy that ends', () => {
  for (const policy of Object.values(retryPolicies.byClass)) {
    expect(policy.attemptsMax).toBeLessThan(1_000)
    expect(policy.elapsedMaxMs).toBeLessThanOrEqual(24 * hourMs)
  }
})
