import { expect, test, vi } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { samples, simulate, type World } from '../../../src/simulation/index.ts'
import { Store } from '../../../src/store/store.ts'
import { cpfOf } from '../../crash/cpf-of.ts'

test('a script settles within its time: nothing more begins after it, and what is under way goes on by itself', async () => {
  const answer = Promise.withResolvers<void>()
  const world = await simulate({
    averba: {
      consentService: {
        baseUrl: 'https://consentimento.exemplo.br',
        certificate: { cert: '', key: '' },
        requestsAtOnceMax: 1,
      },
    },
    intercept: async (request, forward) => {
      if (request.url.includes('consentimentos')) await answer.promise
      return forward(request)
    },
  })
  const { averba, clock } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const asked = [1, 2, 3].map(() => averba.consents.sync({ subject }, { waitMs: 0 }))
  await Promise.all(asked)
  await averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } }, { waitMs: 0 })
  averba.log.follow('crm', ['subject.enrolled'], () => new Promise(() => undefined))
  const settling = averba.settle({ timeoutMs: 5_000 })
  // Nobody else is waited for because of the one that hangs.
  await expect.poll(async () => (await averba.validations.get('v1'))?.state).toBe('answered')
  await expect.poll(() => clock.sleeping).toBeGreaterThan(0)
  await clock.advance(5_000)
  expect(await settling).toEqual({ settled: expect.any(Number), deferred: 0, unknown: 0 })
  const readings = async () =>
    (await averba.effects.list()).filter(each => each.type.endsWith('listConsents'))
  expect((await readings()).map(each => each.state)).toEqual(['started', 'owed', 'owed'])
  answer.resolve()
  await expect.poll(async () => (await readings())[0]?.state).toBe('settled')
  await world.close()
  expect(clock.sleeping).toBe(0)
})

test('a call that a command left pending is waited for, and so is what it owes in the end', async () => {
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const world = await simulate({
    intercept: async (request, forward) => {
      if (request.method !== 'PUT') return forward(request)
      asked.resolve()
      await answer.promise
      await forward(request)
      throw new Error('The connection broke')
    },
  })
  const { averba, clock } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  const [{ id } = { id: '' }] = await averba.consents.list({ subject, status: 'ATIVO' })
  const revoked = await averba.consents.revoke({ subject, id }, { waitMs: 0 })
  expect(revoked.status).toBe('pending')
  await asked.promise
  expect(await averba.effects.get(revoked.effect)).toMatchObject({ state: 'started' })
  let isSettled = false
  const settling = averba.settle().finally(() => {
    isSettled = true
  })
  // Everything else that is due has its turn, and then nothing but the answer is waited for.
  await averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } })
  expect(isSettled).toBe(false)
  answer.resolve()
  // The validation is counted too where settle came upon it.
  expect(await clock.finish(settling)).toMatchObject({ deferred: 0, unknown: 1 })
  expect(await averba.consents.list({ subject, status: 'REVOGADO' })).toMatchObject([{ id }])
  await world.close()
})

test('what is done earlier is not waited for any longer, and a time that is none is refused', async () => {
  const world = await simulate()
  const { averba, clock } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: 60_000 })
  expect(await averba.settle({ timeoutMs: 60_000 })).toEqual({ settled: 1, deferred: 0, unknown: 0 })
  expect(clock.sleeping).toBe(0)
  expect(await averba.consents.list({ subject })).toHaveLength(4)
  for (const timeoutMs of [-1, 0.5, Number.NaN]) {
    await expect(averba.settle({ timeoutMs })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  }
  await world.close()
})

test('a script that cannot settle is told so, and is not kept waiting for its time', async () => {
  const world = await simulate()
  await world.averba.close()
  await expect(world.averba.settle({ timeoutMs: 60_000 })).rejects.toMatchObject({ code: 'CLOSED' })
  expect(world.clock.sleeping).toBe(0)
})

test('a command whose call stood in line for settle keeps its place when the time of settle is over', async () => {
  let isReady = false
  const world = await simulate({
    averba: {
      consentService: {
        baseUrl: 'https://consentimento.exemplo.br',
        certificate: { cert: '', key: '' },
        requestsPerSecond: 1 / 60,
      },
    },
    async intercept(request, forward) {
      return isReady ? forward(request) : new Response('', { status: 429 })
    },
  })
  const { averba, clock } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const read = (commandId: string, waitMs?: number) =>
    averba.consents.sync({ subject }, { commandId, ...(waitMs !== undefined && { waitMs }) })
  for (const id of ['a', 'b']) {
    await read(id)
    await clock.advance(60_000)
  }
  isReady = true
  await clock.advance(3_600_000)
  const settling = averba.settle({ timeoutMs: 1_000 })
  await expect.poll(() => clock.sleeping).toBe(2)
  const again = Promise.all([read('a', 600_000), read('b', 600_000)])
  // The first had its turn at once; the other, its call and settle wait.
  await expect.poll(() => clock.sleeping).toBe(3)
  await clock.advance(1_000)
  await settling
  await clock.advance(120_000)
  expect((await again).map(each => each.status)).toEqual(['settled', 'settled'])
  await world.close()
})

test('a call of a host that waits for its turn is counted once by a settle beside it', async () => {
  const world: World = await simulate({
    averba: {
      consentService: {
        ...{ baseUrl: 'https://consentimento.exemplo.br', certificate: { cert: '', key: '' } },
        requestsAtOnceMax: 1,
      },
    },
    async intercept(request, forward) {
      await world.clock.sleep(1_000)
      return forward(request)
    },
  })
  const { averba, clock } = world
  const subjects = await Promise.all([1, 2, 3].map(n => averba.consents.enrol({ cpf: cpfOf(n) })))
  const own = subjects.map(subject => averba.consents.sync({ subject }))
  await clock.quiet()
  expect(await clock.finish(averba.settle())).toEqual({ settled: 3, deferred: 0, unknown: 0 })
  await Promise.all(own)
  await world.close()
})

test('what comes due by a call that was under way already is made as well', async () => {
  let changes = 0
  const world: World = await simulate({
    async intercept(request, forward) {
      if (request.method !== 'PUT') return forward(request)
      changes += 1
      if (changes === 1) return new Response('', { status: 503, headers: { 'retry-after': '2' } })
      await world.clock.sleep(1_000)
      await forward(request)
      throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } })
    },
  })
  const { averba, clock, samples } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await clock.finish(averba.consents.sync({ subject }))
  const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
  const id = pending?.id ?? ''
  expect((await clock.finish(averba.consents.approve({ subject, id }))).status).toBe('deferred')
  const stop = new AbortController()
  const running = averba.run({ signal: stop.signal })
  await clock.runUntil(() => changes === 2)
  stop.abort()
  // The change is in doubt then, which a reading of the consent ends.
  await clock.finish(averba.settle())
  expect(await averba.consents.get({ subject, id })).toMatchObject({ status: 'ATIVO' })
  expect(await averba.effects.list({ state: 'owed' })).toEqual([])
  await clock.finish(running)
  await world.close()
})

test('what is due at one service is made and waited for, also where that of another cannot be looked up', async () => {
  let sent = 0
  const world: World = await simulate({
    async intercept(request, forward) {
      if (!request.url.includes('/validate/')) return forward(request)
      sent += 1
      if (sent === 1) return new Response('', { status: 429, headers: { 'retry-after': '60' } })
      await world.clock.sleep(1_000)
      return forward(request)
    },
  })
  const { averba, clock, samples } = world
  const validating = averba.validations.validate({ id: 'v', cpf: samples.cpf, claims: { nome: 'X' } })
  expect(await clock.finish(validating)).toMatchObject({ status: 'deferred' })
  await clock.advance(60_000)
  const look = Store.prototype.dueEffects
  vi.spyOn(Store.prototype, 'dueEffects').mockImplementation(async function (this: Store, now, filter) {
    if (filter?.types?.includes('consentService.listConsents')) throw new Error('a page that cannot be read')
    return look.call(this, now, filter)
  })
  await expect(clock.finish(averba.settle())).rejects.toThrow('a page that cannot be read')
  vi.restoreAllMocks()
  expect(sent).toBe(2)
  expect((await averba.validations.get('v'))?.state).toBe('answered')
  await world.close()
})
