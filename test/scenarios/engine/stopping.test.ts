import { expect, test } from 'vitest'
import { samples, seededEntropy, VirtualClock, type World } from '../../../src/simulation/index.ts'
import { givenSlowPace } from '../../support/given-slow-pace.ts'
import { hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openEngine, openWorld } from '../../support/world.ts'

const people = ['52998224725', '11144477735', '39053344705']

/** A validation service that accepts requests and never answers. */
async function givenServiceThatHangs(store: string): Promise<World> {
  const world: World = await openWorld({
    averba: {
      store,
      validationService: {
        baseUrl: 'https://validacao.exemplo.br',
        service: 'datavalid-demonstracao',
        requestsAtOnceMax: 1,
      },
    },
    async intercept(request, forward) {
      const response = await forward(request)
      return request.url.includes('/validate/') ? new Promise(() => undefined) : response
    },
  })
  return world
}

const validate = ({ averba }: World, id: string) =>
  averba.validations.validate({ id, cpf: samples.cpf, claims: { nome: 'X' } }, { waitMs: 0 })

async function hasHung(world: World): Promise<void> {
  await expect.poll(async () => (await world.averba.effects.list({ state: 'started' })).length).toBe(1)
  await expect.poll(() => world.validationService.answered).toBe(1)
}

test('a call in progress at closing is unknown for the next process that has the service, which makes the others', async () => {
  const store = temporaryStore()
  const world = await givenServiceThatHangs(store)
  await validate(world, 'v1')
  await hasHung(world)
  await validate(world, 'v2') // It waits for its turn, so nothing was sent.
  await world.clock.finish(world.averba.close())

  const next = await openWorld({ seed: 2, averba: { store } })
  const states = async () => (await next.averba.effects.list()).map(each => `${each.type} ${each.state}`)
  expect(await states()).toEqual([
    'validationService.validatePerson started',
    'tokenService.requestToken settled',
    'validationService.validatePerson pending',
  ])
  const { averba, clock } = next
  await clock.advance(2 * minuteMs)
  const without = await openEngine({ store, clock, entropy: seededEntropy(3) })
  expect(await without.settle()).toEqual({ settled: 0, deferred: 0, unknown: 0 })
  await averba.settle()
  await passTime({ averba, clock }, hourMs)
  expect(await averba.validations.get('v1')).toMatchObject({ state: 'inconclusive' })
  expect(await averba.validations.get('v2')).toMatchObject({ state: 'answered' })
  expect(next.validationService.answered).toBe(1)
})

test('closing resolves the caller of a hanging call in time, as pending', async () => {
  const world = await givenServiceThatHangs(temporaryStore())
  const { averba, clock } = world
  const asked = averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } }, { waitMs: hourMs })
  await hasHung(world)
  // This one was not sent: it waits for the first one to end.
  const standing = averba.validations.validate({ id: 'v2', cpf: samples.cpf, claims: { nome: 'X' } })
  await expect.poll(async () => (await averba.effects.list({ state: 'pending' })).length).toBe(1)
  const began = clock.now()
  await clock.finish(averba.close())
  expect(clock.now() - began).toBe(15_000)
  expect([await asked, await standing].map(each => each.status)).toEqual(['pending', 'pending'])
  expect(clock.sleeping).toBe(0)
})

/** A hanging call, a hanging handler, and a run that has just been stopped. */
async function givenHangingRun() {
  const world = await givenServiceThatHangs(':memory:')
  const { averba, clock } = world
  const hanging = Promise.withResolvers<void>()
  averba.log.follow('crm', ['subject.enrolled'], () => {
    hanging.resolve()
    return new Promise(() => undefined)
  })
  await validate(world, 'v1')
  await hasHung(world)
  const stop = startRun(world)
  await hanging.promise
  const began = clock.now()
  return { world, stopped: stop(), began }
}

test('closing after run does not wait again for the same work, but does for newer work', async () => {
  const { world, stopped, began } = await givenHangingRun()
  const { averba, clock } = world
  await stopped
  expect(clock.now() - began).toBe(15_000)
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  expect(await averba.consents.sync({ subject })).toMatchObject({ status: 'settled' })
  const late = averba.validations.validate({ id: 'v2', cpf: samples.cpf, claims: { nome: 'X' } })
  await expect.poll(async () => (await averba.effects.list({ state: 'pending' })).length).toBe(1)
  await clock.finish(Promise.all([averba.close(), late]))
  expect(clock.now() - began).toBe(30_000)
})

test('a process stops within 15 seconds of its signal, whatever hangs', async () => {
  const { world, stopped, began } = await givenHangingRun()
  const { averba, clock } = world
  await stopped
  await clock.finish(averba.close())
  expect(clock.now() - began).toBe(15_000)
})

test('closing ends run without logging anything, and no timer keeps the process alive', async () => {
  const lines: unknown[] = []
  const clock = new VirtualClock()
  const averba = await openEngine({ store: ':memory:', clock, logger: line => void lines.push(line) })
  const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isHandled = false
  averba.log.follow('crm', ['subject.enrolled'], async () => {
    begun.resolve()
    await go.promise
    isHandled = true
  })
  await averba.consents.enrol({ cpf: samples.cpf })
  const running = averba.run({ signal: new AbortController().signal })
  await begun.promise
  const closing = averba.close()
  go.resolve()
  await Promise.all([running, closing])
  expect(isHandled).toBe(true)
  expect(lines).toEqual([])
  expect(clock.sleeping).toBe(0)
  const again = averba.run({ signal: new AbortController().signal })
  await expect(again).rejects.toMatchObject({ code: 'CLOSED' })
})

test('closing does not wait for calls that are queued by run', async () => {
  const { world } = await givenSlowPace('a', 'b', 'c')
  const settling = world.averba.settle()
  await expect.poll(() => world.requests.length).toBe(1)
  // No time passes; the queued calls would take minutes.
  await world.averba.close()
  await expect(settling).resolves.toBeDefined()
})

test('a host’s call that is still queued when closing has waited long enough is not sent', async () => {
  const { world, read } = await givenSlowPace()
  const { averba, clock } = world
  await read('a')
  await read('b', 0)
  await expect.poll(() => clock.sleeping).toBe(1)
  await clock.finish(averba.close())
  expect(clock.sleeping).toBe(0)
  await clock.advance(600_000)
  expect(world.requests).toHaveLength(1)
})

test('after its signal, run begins no call and no handler; those in progress end', async () => {
  const answer = Promise.withResolvers<void>()
  const sent: string[] = []
  const called: string[] = []
  const { averba, clock } = await openWorld({
    averba: { consentService: consentServiceWith({ requestsAtOnceMax: 1 }) },
    async intercept(request, forward) {
      sent.push(request.url)
      await answer.promise
      return forward(request)
    },
  })
  for (const cpf of people) await averba.consents.enrol({ cpf }, { syncEveryMs: hourMs })
  await clock.advance(hourMs)
  averba.log.follow('crm', ['subject.enrolled'], async event => {
    called.push(event.id)
    await answer.promise
  })
  const stop = startRun({ averba, clock })
  await expect.poll(() => [sent.length, called.length]).toEqual([1, 1])
  const stopped = stop()
  answer.resolve()
  await stopped
  expect([sent.length, called.length]).toEqual([1, 1])
  // The one that ended has requested its next reading.
  const states = (await averba.effects.list()).map(each => each.state)
  expect(states.sort()).toEqual(['pending', 'pending', 'pending', 'settled'])
  await averba.settle()
  expect(called).toHaveLength(3)
})

test('a concurrent settle does the work that a stopped run leaves', async () => {
  const world = await openWorld()
  const { averba } = world
  for (const cpf of people) await averba.consents.enrol({ cpf })
  const go = Promise.withResolvers<void>()
  const called: string[] = []
  averba.log.follow('crm', ['subject.enrolled'], async event => {
    called.push(event.id)
    await go.promise
  })
  const stop = startRun(world)
  await expect.poll(() => called.length).toBe(1)
  const stopped = stop()
  const settling = averba.settle()
  go.resolve()
  await stopped
  await settling
  expect(called).toHaveLength(3)
})
