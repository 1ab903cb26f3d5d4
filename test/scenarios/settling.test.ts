import { expect, test, vi } from 'vitest'
import { simulate, type World } from '../../src/simulation/index.ts'
import { Store } from '../../src/store/store.ts'
import { cpfOf } from '../crash/cpf-of.ts'

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
