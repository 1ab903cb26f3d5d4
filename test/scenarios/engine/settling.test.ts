import { expect, test, vi } from 'vitest'
import { samples } from '../../../src/simulation/index.ts'
import { Store } from '../../../src/store/store.ts'
import { answering, busy } from '../../support/answers.ts'
import { isChange } from '../../support/consent-requests.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { givenSlowPace } from '../../support/given-slow-pace.ts'
import { validate } from '../../support/open-validating.ts'
import { startRun } from '../../support/start-run.ts'
import { consentServiceWith, openWorld } from '../../support/world.ts'

test('settle with a timeout begins nothing more after it, and work in progress continues by itself', async () => {
  const answer = Promise.withResolvers<void>()
  const { averba, clock, close } = await openWorld({
    averba: { consentService: consentServiceWith({ requestsAtOnceMax: 1 }) },
    intercept: async (request, forward) => {
      if (request.url.includes('consentimentos')) await answer.promise
      return forward(request)
    },
  })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await Promise.all([1, 2, 3].map(() => averba.consents.sync({ subject }, { waitMs: 0 })))
  await validate(averba, 'v1', { waitMs: 0 })
  averba.log.follow('crm', ['subject.enrolled'], () => new Promise(() => undefined))
  const settling = averba.settle({ timeoutMs: 5_000 })
  // The hanging call delays no other service.
  await expect.poll(async () => (await averba.validations.get('v1'))?.state).toBe('answered')
  await expect.poll(() => clock.sleeping).toBeGreaterThan(0)
  await clock.advance(5_000)
  expect(await settling).toEqual({ settled: expect.any(Number), deferred: 0, unknown: 0 })
  const readings = async () => (await averba.effects.list()).filter(each => each.type.endsWith('listConsents'))
  expect((await readings()).map(each => each.state)).toEqual(['started', 'pending', 'pending'])
  answer.resolve()
  await expect.poll(async () => (await readings())[0]?.state).toBe('settled')
  await close()
  expect(clock.sleeping).toBe(0)
})

test('settle ends before its timeout when all is done, and fails at once if that is invalid or the log closed', async () => {
  const { averba, clock } = await openWorld()
  const subject = await averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: 60_000 })
  expect(await averba.settle({ timeoutMs: 60_000 })).toEqual({ settled: 1, deferred: 0, unknown: 0 })
  expect(clock.sleeping).toBe(0)
  expect(await averba.consents.list({ subject })).toHaveLength(4)
  for (const timeoutMs of [-1, 0.5, Number.NaN])
    await expect(averba.settle({ timeoutMs })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await averba.close()
  await expect(averba.settle({ timeoutMs: 60_000 })).rejects.toMatchObject({ code: 'CLOSED' })
  expect(clock.sleeping).toBe(0)
})

test('a command whose call was queued by settle keeps its place when the timeout of settle is over', async () => {
  const { world, read } = await givenSlowPace('a', 'b')
  const { averba, clock } = world
  const settling = averba.settle({ timeoutMs: 1_000 })
  await expect.poll(() => clock.sleeping).toBe(2)
  const again = Promise.all([read('a', 600_000), read('b', 600_000)])
  // The first had its turn at once; the second, its call and settle are waiting.
  await expect.poll(() => clock.sleeping).toBe(3)
  await clock.advance(1_000)
  await settling
  await clock.advance(120_000)
  expect((await again).map(each => each.status)).toEqual(['settled', 'settled'])
})

test('a host’s call that waits for its turn is counted once by a concurrent settle', async () => {
  const { averba, clock } = await openWorld({
    averba: { consentService: consentServiceWith({ requestsAtOnceMax: 1 }) },
    faults: [{ kind: 'delay', ms: 1_000 }],
  })
  const subjects = await Promise.all([1, 2, 3].map(n => averba.consents.enrol({ cpf: cpfOf(n) })))
  const own = subjects.map(subject => averba.consents.sync({ subject }))
  await clock.quiet()
  expect(await clock.finish(averba.settle())).toEqual({ settled: 3, deferred: 0, unknown: 0 })
  await Promise.all(own)
})

test('calls that become due by a call already in progress are made as well', async () => {
  let changes = 0
  const intercept = answering(isChange, async (request, forward) => {
    changes += 1
    if (changes === 1) return busy(2, 503)
    await clock.sleep(1_000)
    await forward(request)
    throw new TypeError('The connection broke')
  })
  const { world, which } = await givenConsent('PENDENTE', intercept)
  const { averba, clock } = world
  expect((await clock.finish(averba.consents.approve(which))).status).toBe('deferred')
  const stop = startRun(world)
  await clock.runUntil(() => changes === 2)
  const stopped = stop()
  // The change is in doubt, which a reading of the consent resolves.
  await clock.finish(averba.settle())
  expect(await averba.consents.get(which)).toMatchObject({ status: 'ATIVO' })
  expect(await averba.effects.list({ state: 'pending' })).toEqual([])
  await stopped
})

test('due calls of one service are made even if another service’s cannot be looked up', async () => {
  const service = 'validationService'
  const { averba, clock, validationService } = await openWorld({
    faults: [
      { kind: 'status', service, status: 429, retryAfterS: 60, times: 1 },
      { kind: 'delay', service, ms: 1_000 },
    ],
  })
  expect(await clock.finish(validate(averba, 'v'))).toMatchObject({ status: 'deferred' })
  await clock.advance(60_000)
  const look = Store.prototype.dueEffects
  vi.spyOn(Store.prototype, 'dueEffects').mockImplementation(async function (this: Store, now, filter) {
    if (filter?.types?.includes('consentService.listConsents')) throw new Error('a page that cannot be read')
    return look.call(this, now, filter)
  })
  await expect(clock.finish(averba.settle())).rejects.toThrow('a page that cannot be read')
  vi.restoreAllMocks()
  expect(validationService.answered).toBe(1)
  expect((await averba.validations.get('v'))?.state).toBe('answered')
})
