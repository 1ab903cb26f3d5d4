import { expect, test } from 'vitest'
import { samples, seededEntropy, type World } from '../../../src/simulation/index.ts'
import { answering, holdingAnswer } from '../../support/answers.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { givenSlowPace } from '../../support/given-slow-pace.ts'
import { isValidation, validate } from '../../support/open-validating.ts'
import { hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openEngine, openWorld, validationServiceWith } from '../../support/world.ts'

const never = new Promise<never>(() => undefined)

/** A validation service that accepts requests and never answers, and calls of it, of which the first has left. */
async function givenServiceThatHangs<T>(store: string, calls: (world: World) => Promise<T>) {
  const world = await openWorld({
    averba: { store, validationService: validationServiceWith({ requestsAtOnceMax: 1 }) },
    intercept: answering(isValidation, async (request, forward) => {
      await forward(request)
      return never
    }),
  })
  const called = calls(world)
  await expect.poll(() => world.averba.effects.list({ state: 'started' })).toHaveLength(1)
  await expect.poll(() => world.validationService.answered).toBe(1)
  return { world, called }
}

/** Waits until a call is recorded that was not sent, as it waits for another one to end. */
const isQueued = ({ averba }: World) => expect.poll(() => averba.effects.list({ state: 'pending' })).toHaveLength(1)

test('a call in progress at closing is unknown for the next process that has the service, which makes the others', async () => {
  const store = temporaryStore()
  const { world } = await givenServiceThatHangs(store, ({ averba }) => validate(averba, 'v1', { waitMs: 0 }))
  await validate(world.averba, 'v2', { waitMs: 0 })
  await world.clock.finish(world.averba.close())
  const next = await openWorld({ seed: 2, averba: { store } })
  const { averba, clock } = next
  expect((await averba.effects.list()).map(each => `${each.type} ${each.state}`)).toEqual([
    'validationService.validatePerson started',
    'tokenService.requestToken settled',
    'validationService.validatePerson pending',
  ])
  await clock.advance(2 * minuteMs)
  const without = await openEngine({ store, clock, entropy: seededEntropy(3) })
  expect(await without.settle()).toEqual({ settled: 0, deferred: 0, unknown: 0 })
  await averba.settle()
  await passTime(next, hourMs)
  expect(await averba.validations.get('v1')).toMatchObject({ state: 'inconclusive' })
  expect(await averba.validations.get('v2')).toMatchObject({ state: 'answered' })
  expect(next.validationService.answered).toBe(1)
})

test.each([
  ['a process stops within 15 seconds of its signal, whatever hangs', false],
  ['closing after run does not wait again for the same work, but does for newer work', true],
])('%s', async (_, isNewer) => {
  const { world } = await givenServiceThatHangs(':memory:', ({ averba }) => validate(averba, 'v1', { waitMs: 0 }))
  const { averba, clock } = world
  const hanging = Promise.withResolvers<void>()
  averba.log.follow('crm', ['subject.enrolled'], () => {
    hanging.resolve()
    return never
  })
  const stop = startRun(world)
  await hanging.promise
  const began = clock.now()
  await stop()
  expect(clock.now() - began).toBe(15_000)
  const newer: Promise<unknown>[] = []
  if (isNewer) {
    const subject = await averba.consents.enrol({ cpf: samples.cpf })
    expect(await averba.consents.sync({ subject })).toMatchObject({ status: 'settled' })
    newer.push(validate(averba, 'v2'))
    await isQueued(world)
  }
  await clock.finish(Promise.all([averba.close(), ...newer]))
  expect(clock.now() - began).toBe(isNewer ? 30_000 : 15_000)
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

/** Three people whose consents are due, and a follower that is told of them and ends its calls when it may. */
async function givenFollower(world: World, mayEnd: Promise<void>) {
  for (const n of [1, 2, 3]) await world.averba.consents.enrol({ cpf: cpfOf(n) }, { syncEveryMs: hourMs })
  await world.clock.advance(hourMs)
  const called: string[] = []
  world.averba.log.follow('crm', ['subject.enrolled'], async event => {
    called.push(event.id)
    await mayEnd
  })
  return called
}

test('after its signal, run begins no call and no handler; those in progress end', async () => {
  const go = Promise.withResolvers<void>()
  const { intercept, release } = holdingAnswer(() => true)
  const world = await openWorld({ averba: { consentService: consentServiceWith({ requestsAtOnceMax: 1 }) }, intercept })
  const { averba } = world
  const called = await givenFollower(world, go.promise)
  const stop = startRun(world)
  await expect.poll(() => [world.requests.length, called.length]).toEqual([1, 1])
  const stopped = stop()
  release()
  go.resolve()
  await stopped
  expect([world.requests.length, called.length]).toEqual([1, 1])
  // The one that ended has requested its next reading.
  const states = (await averba.effects.list()).map(each => each.state)
  expect(states.sort()).toEqual(['pending', 'pending', 'pending', 'settled'])
  await averba.settle()
  expect(called).toHaveLength(3)
})
