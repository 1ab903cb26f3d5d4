import { describe, expect, test } from 'vitest'
import { chooseRetry, dayPolicy } from '../../../src/engine/performing/retry-policy.ts'
import type { Entropy } from '../../../src/runtime/entropy.ts'
import { seededEntropy } from '../../../src/simulation/index.ts'
import { eventsOf } from '../../support/events-of.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { standStill } from '../../support/stand-still.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const operator = { actor: { kind: 'person', ref: 'operadora-7' } } as const

const busy = { status: 429, headers: { 'retry-after': '3600' } }

/** A subject whose consents are known, and a consent service that postpones every call by an hour from now on. */
async function givenServiceThatIsDown() {
  let isDown = false
  const lines: unknown[] = []
  const { world, subject, consent } = await givenConsent(
    'PENDENTE',
    async (request, forward) =>
      isDown && request.url.includes('/consentimento/') ? Response.json({}, busy) : forward(request),
    { averba: { logger: line => void lines.push(line) } },
  )
  isDown = true
  const approve = () => world.averba.consents.approve({ subject, id: consent.id }, { commandId: 'c1' })
  const recover = () => {
    isDown = false
  }
  return { world, approve, recover, lines }
}

test('a call that fails for a day is parked and reported, and an operator releases it for another day', async () => {
  const { world, approve, recover, lines } = await givenServiceThatIsDown()
  const { averba } = world
  const announced: unknown[] = []
  averba.on('effect.parked', event => announced.push(event.data))
  const { effect, status } = await approve()
  expect(status).toBe('deferred')
  const reason = 'the consent service answered 429; given up after 24 hours'
  for (const day of ['first', 'second']) {
    await passTime(world, hourMs, 23)
    expect(await averba.effects.get(effect), day).toMatchObject({ state: 'deferred' })
    await passTime(world, hourMs)
    expect(await averba.effects.list({ state: 'parked' }), day).toMatchObject([{ id: effect, reason }])
    const sent = world.requests.length
    await passTime(world, 5 * hourMs)
    expect(world.requests).toHaveLength(sent)
    expect(await approve()).toMatchObject({ status: 'pending', replayed: true })
    if (day === 'second') recover()
    await averba.effects.retry(effect, operator)
    expect(await averba.effects.get(effect)).toMatchObject({ state: 'pending', attempts: 0 })
    if (day === 'first') await averba.settle()
  }
  expect(announced).toMatchObject(Array(2).fill({ effect, type: 'consentService.changeStatus', by: 'policy' }))
  // The service’s own words are not logged.
  const detail = `consentService.changeStatus ${effect}: given up after 24 hours`
  expect(lines).toMatchObject(Array(2).fill({ message: 'a call is parked: effects.retry releases it', detail }))
  expect(await averba.settle()).toEqual({ settled: 1, deferred: 0, unknown: 0 })
  expect(await approve()).toMatchObject({ status: 'settled', value: { status: 'ATIVO' } })
  const moves = await eventsOf(world, 'effect.parked', 'effect.resumed')
  const inADay = [
    { type: 'effect.parked', moves: { effect, to: 'parked' } },
    { type: 'effect.resumed', moves: { effect, to: 'pending' }, ...operator },
  ]
  expect(moves).toMatchObject([...inADay, ...inADay])
})

test('a process that was down for days does not park calls that it has hardly tried', async () => {
  const { world, approve, recover } = await givenServiceThatIsDown()
  const { effect } = await approve()
  await passTime(world, 72 * hourMs)
  expect(await world.averba.effects.get(effect)).toMatchObject({ state: 'deferred', attempts: 2 })
  recover()
  await passTime(world, hourMs)
  expect(await world.averba.effects.get(effect)).toMatchObject({ state: 'settled' })
})

test('an attempt that lost its lease parks nothing', async () => {
  const store = temporaryStore()
  let isHeld = false
  const held: ((status: number) => void)[] = []
  const intercept = async () => {
    if (!isHeld) return Response.json({}, busy)
    return new Promise<Response>(resolve => {
      held.push(status => resolve(new Response('[]', { status })))
    })
  }
  const first = await openWorld({ averba: { store }, intercept })
  const { clock } = first
  const second = await openWorld({ seed: 2, averba: { store, clock }, intercept })
  const subject = await first.averba.consents.enrol({ cpf: first.samples.cpf })
  const { effect } = await first.averba.consents.sync({ subject })
  await passTime(first, hourMs, 23)
  isHeld = true
  await clock.advance(2 * hourMs)
  const goOn = standStill()
  const settling = [first.averba.settle()]
  await expect.poll(() => held.length).toBe(1)
  goOn()
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
  await passTime(world, 2 * hourMs)
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
    let isLosing = false
    const { world, subject, consent } = await givenConsent('PENDENTE', async (request, forward) => {
      if (request.method !== 'PUT' && !(isLosing && request.url.includes('/consentimento/'))) return forward(request)
      if (request.method === 'PUT') await forward(request)
      throw new TypeError('lost')
    })
    const { averba } = world
    isLosing = true
    const outcome = await averba.consents.approve({ subject, id: consent.id })
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
      if (isDown && request.url.includes('/token')) return new Response('', { ...busy, status: 500 })
      return forward(request)
    },
  })
  const { averba, samples } = world
  const { effect } = await averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } })
  await passTime(world, hourMs, 30)
  expect(await averba.effects.get(effect)).toMatchObject({ state: 'parked' })
  expect(await averba.effects.list({ state: 'parked' })).toHaveLength(1)
  isDown = false
  await averba.effects.retry(effect)
  await passTime(world, hourMs)
  expect(await averba.effects.get(effect)).toMatchObject({ state: 'settled' })
})

test('a call is tried a limited number of times', () => {
  const attemptsOf = (entropy: Entropy, knownMs?: number) => {
    let [attempts, elapsedMs] = [1, 0]
    for (;;) {
      const choice = chooseRetry(dayPolicy, { attempts, elapsedMs, knownMs }, entropy)
      if ('givenUp' in choice) return attempts
      attempts += 1
      elapsedMs += choice.waitMs
    }
  }
  // However short the waits happen to be, and if the service says "in a second" each time.
  expect(attemptsOf({ bytes: length => new Uint8Array(length) })).toBe(200)
  expect(attemptsOf(seededEntropy(1), 1_000)).toBeLessThanOrEqual(250)
})
