import { expect, test, vi } from 'vitest'
import { chooseRetry, dayPolicy } from '../../../src/engine/performing/retry-policy.ts'
import { valueOf } from '../../../src/index.ts'
import type { Entropy } from '../../../src/runtime/entropy.ts'
import { samples, seededEntropy, type World } from '../../../src/simulation/index.ts'
import { answering, busy } from '../../support/answers.ts'
import { eventsOf } from '../../support/events-of.ts'
import { givenConsent, readConsent } from '../../support/given-consent.ts'
import { isToken, validate } from '../../support/open-validating.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { standStill } from '../../support/stand-still.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

test('attempts that may change something or cost money are recorded before the request; readings are not', async () => {
  const known: (string | undefined)[][] = []
  const world: World = await openWorld({
    faults: [{ kind: 'status', status: 429, method: 'PUT', times: 1 }],
    intercept: async (request, forward) => {
      const attempts = await eventsOf(world, 'effect.attempted')
      known.push([request.method, ...attempts.map(({ data }) => `${data.type} ${data.attempts}`)])
      return forward(request)
    },
  })
  const actor = { kind: 'person', ref: 'clerk-7' } as const
  const { which } = await readConsent(world, 'PENDENTE')
  await world.averba.consents.approve(which, { actor, correlationId: 'case-1' })
  await passTime(world, 60_000)
  valueOf(await validate(world.averba, 'v1'))
  const change = ['consentService.changeStatus 1', 'consentService.changeStatus 2']
  const paid = [...change, 'validationService.validatePerson 1', 'tokenService.requestToken 1']
  expect(known).toEqual([['GET'], ['PUT', change[0]], ['PUT', ...change], ['POST', ...paid], ['POST', ...paid]])
  const [first] = await eventsOf(world, 'effect.attempted')
  expect(first).toMatchObject({ actor, correlationId: 'case-1', moves: { to: 'started' } })
})

test('a retry is recorded with its time, reason and policy; nothing is recorded for a reading', async () => {
  const waits = [120]
  let isDown = false
  const isOne = ({ url }: Request) => isDown && url.includes('/consentimento/')
  const answers = answering(isOne, () => busy(waits.shift()))
  const { world, subject, which } = await givenConsent('PENDENTE', answers, { store: temporaryStore() })
  const { averba } = world
  isDown = true
  const { effect } = await averba.consents.approve(which, { correlationId: 'c' })
  await averba.consents.sync({ subject }, { waitMs: 0 })
  await passTime(world, 120_000)
  const deferred = await eventsOf(world, 'effect.deferred')
  const choice = { effect, type: 'consentService.changeStatus', policy: 'approval-1' }
  const reason = 'the consent service answered 429'
  expect(deferred).toMatchObject([
    { data: { ...choice, reason, attempts: 1, wait: 'known', elapsedMs: 0 }, correlationId: 'c' },
    { data: { ...choice, reason, attempts: 2, wait: 'backoff', elapsedMs: 120_000 } },
  ])
  const [known, backoff] = deferred.map(({ at, data }) => Date.parse(data.dueAt) - Date.parse(at))
  expect(known).toBe(120_000)
  expect(backoff).toBeGreaterThan(0)
  expect(backoff).toBeLessThanOrEqual(4_000)
  const { dueAt } = deferred[1]?.data ?? {}
  expect(await averba.effects.get(effect)).toMatchObject({ state: 'deferred', dueAt, reason })
  expect(deferred[1]?.moves).toEqual({ effect, to: 'deferred' })
  expect((await averba.audit.verify()).faults).toEqual([])
})

test('an error thrown by the host’s fetch leaves none of its text in the log', async () => {
  const texts = [
    ['name', '25774435016'],
    ['name', `Erro_${samples.cpf}`],
    ['code', `https://consentimento.exemplo.br/v1/consentimentos/${samples.cpf}`],
    ['code', 'Bearer_de exemplo'],
  ] as const
  let error: Error | undefined
  const intercept = vi.fn(() => Promise.reject(error))
  const { averba } = await openWorld({ intercept })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  for (const [member, text] of texts) {
    error = Object.assign(new Error(text), { [member]: text })
    intercept.mockClear()
    expect(await averba.consents.sync({ subject })).toMatchObject({ status: 'deferred', reason: 'unknown' })
    expect(intercept).toHaveBeenCalled()
  }
  const effects = JSON.stringify(await averba.effects.list())
  for (const [, text] of texts) expect(effects).not.toContain(text)
})

const operator = { actor: { kind: 'person', ref: 'operadora-7' } } as const

/** A consent service that postpones the approval of a known consent, and every other call, by an hour. */
async function givenServiceThatIsDown() {
  const { world, which, lines } = await givenConsent('PENDENTE')
  await world.faults.add({ kind: 'status', service: 'consentService', status: 429, retryAfterS: 3_600 })
  const approve = () => world.averba.consents.approve(which, { commandId: 'c1' })
  const { effect, status } = await approve()
  expect(status).toBe('deferred')
  const found = () => world.averba.effects.get(effect)
  return { world, approve, effect, found, recover: () => world.faults.clear(), lines }
}

test('a call that fails for a day is parked and reported, and an operator releases it for another day', async () => {
  const { world, approve, effect, found, recover, lines } = await givenServiceThatIsDown()
  const { averba } = world
  const announced: unknown[] = []
  averba.on('effect.parked', event => announced.push(event.data))
  const reason = 'the consent service answered 429; given up after 24 hours'
  for (const day of ['first', 'second']) {
    await passTime(world, hourMs, 23)
    expect(await found(), day).toMatchObject({ state: 'deferred' })
    await passTime(world, hourMs)
    expect(await averba.effects.list({ state: 'parked' }), day).toMatchObject([{ id: effect, reason }])
    const sent = world.requests.length
    await passTime(world, 5 * hourMs)
    expect(world.requests).toHaveLength(sent)
    expect(await approve()).toMatchObject({ status: 'pending', replayed: true })
    if (day === 'second') recover()
    await averba.effects.retry(effect, operator)
    expect(await found()).toMatchObject({ state: 'pending', attempts: 0 })
    if (day === 'first') await averba.settle()
  }
  expect(announced).toMatchObject(Array(2).fill({ effect, type: 'consentService.changeStatus', by: 'policy' }))
  // The service’s own words are not logged.
  const detail = `consentService.changeStatus ${effect}: given up after 24 hours`
  expect(lines).toMatchObject(Array(2).fill({ message: 'a call is parked: effects.retry releases it', detail }))
  expect(await averba.settle()).toEqual({ settled: 1, deferred: 0, unknown: 0 })
  expect(await approve()).toMatchObject({ status: 'settled', value: { status: 'ATIVO' } })
  const inADay = [
    { type: 'effect.parked', moves: { effect, to: 'parked' } },
    { type: 'effect.resumed', moves: { effect, to: 'pending' }, ...operator },
  ]
  expect(await eventsOf(world, 'effect.parked', 'effect.resumed')).toMatchObject([...inADay, ...inADay])
})

test('a process that was down for days does not park calls that it has hardly tried', async () => {
  const { world, found, recover } = await givenServiceThatIsDown()
  await passTime(world, 72 * hourMs)
  expect(await found()).toMatchObject({ state: 'deferred', attempts: 2 })
  recover()
  await passTime(world, hourMs)
  expect(await found()).toMatchObject({ state: 'settled' })
})

test('an attempt that lost its lease parks nothing', async () => {
  const store = temporaryStore()
  let isHeld = false
  const held: ((answer: Response) => void)[] = []
  const intercept = async () => (isHeld ? new Promise<Response>(resolve => held.push(resolve)) : busy(3_600))
  const first = await openWorld({ averba: { store }, intercept })
  const { averba, clock } = first
  const second = await openWorld({ seed: 2, averba: { store, clock }, intercept })
  const { effect } = await averba.consents.sync({ subject: await averba.consents.enrol({ cpf: first.samples.cpf }) })
  await passTime(first, hourMs, 23)
  isHeld = true
  await clock.advance(2 * hourMs)
  const goOn = standStill()
  const settling = averba.settle()
  await expect.poll(() => held.length).toBe(1)
  goOn()
  await clock.advance(61_000)
  const takingOver = second.averba.settle()
  await expect.poll(() => held.length).toBe(2)
  held[0]?.(busy())
  await settling
  expect(await averba.effects.get(effect)).toMatchObject({ state: 'started' })
  held[1]?.(new Response('[]'))
  await takingOver
  expect(await averba.effects.get(effect)).toMatchObject({ state: 'settled' })
  for await (const event of averba.log.read({ kind: 'effect' })) expect.unreachable(event.type)
})

test('a call parked by an operator is not sent until it is released', async () => {
  const { world, effect, found, recover } = await givenServiceThatIsDown()
  const { effects } = world.averba
  await effects.park(effect, operator)
  recover()
  await passTime(world, 2 * hourMs)
  expect(await found()).toMatchObject({ state: 'parked', reason: 'parked by an operator', attempts: 1 })
  await expect(effects.park(effect)).rejects.toMatchObject({ code: 'REFUSED' })
  await effects.retry(effect, { ...operator, commandId: 'let-go' })
  await world.averba.settle()
  expect(await found()).toMatchObject({ state: 'settled' })
  // The same command id returns the same result, and does nothing.
  await effects.retry(effect, { ...operator, commandId: 'let-go' })
  await expect(effects.retry(effect)).rejects.toMatchObject({ code: 'REFUSED' })
  await expect(effects.retry('consent-x/1/0')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a call that was perhaps done and can be read back is left to the reading', async () => {
  const { world, which } = await givenConsent('PENDENTE')
  const { averba, faults } = world
  await faults.add({ kind: 'lose', service: 'consentService' })
  const outcome = await averba.consents.approve(which)
  expect(outcome).toMatchObject({ status: 'unknown', next: 'probe' })
  const message = expect.stringContaining('a pending reading will show it')
  await expect(averba.effects.retry(outcome.effect)).rejects.toMatchObject({ message })
})

test('a call that needs a token is parked by its own policy, and the token request never is', async () => {
  let isDown = true
  const world = await openWorld({ intercept: answering(isToken, () => (isDown ? busy(3_600, 500) : undefined)) })
  const { effects } = world.averba
  const { effect } = await validate(world.averba, 'v1')
  await passTime(world, hourMs, 30)
  expect(await effects.list({ state: 'parked' })).toMatchObject([{ id: effect }])
  isDown = false
  await effects.retry(effect)
  await passTime(world, hourMs)
  expect(await effects.get(effect)).toMatchObject({ state: 'settled' })
})

test('a call is tried a limited number of times', () => {
  const attemptsOf = (entropy: Entropy, knownMs?: number) => {
    for (let attempts = 1, elapsedMs = 0; ; attempts++) {
      const choice = chooseRetry(dayPolicy, { attempts, elapsedMs, knownMs }, entropy)
      if ('givenUp' in choice) return attempts
      elapsedMs += choice.waitMs
    }
  }
  // However short the waits happen to be, and if the service says "in a second" each time.
  expect(attemptsOf({ bytes: length => new Uint8Array(length) })).toBe(200)
  expect(attemptsOf(seededEntropy(1), 1_000)).toBeLessThanOrEqual(250)
})
