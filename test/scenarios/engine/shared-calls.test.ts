import { expect, onTestFinished, test, vi } from 'vitest'
import type { Averba, LogLine } from '../../../src/index.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { VirtualClock, type World } from '../../../src/simulation/index.ts'
import { Store } from '../../../src/store/store.ts'
import { limitsOf } from '../../../src/vocabulary/fetch.ts'
import { busy, holdingAnswer } from '../../support/answers.ts'
import { isToken, isValidation, openValidating, validate } from '../../support/open-validating.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { expectSound } from '../../support/sound-log.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openWorld, validationServiceWith } from '../../support/world.ts'

/** Another process on the same file, with a clock and a token of its own, which can outlast the lease of a call. */
async function openOther({ reach }: World, store: string, logger = (_: LogLine) => {}) {
  const clock = new VirtualClock()
  const validationService = validationServiceWith({ bearer: 'outro' })
  const other = await openEngine({ store, clock, fetch: reach.validationService, validationService, logger })
  return { other, outlastLease: () => passTime({ averba: other, clock }, 61_000) }
}

const unknownCalls = ({ effects }: Averba) => effects.list({ state: 'unknown' })

/**
 * A process that is paused at one token request, on a clock that does not move, and another one on the same file that
 * takes over its call when the lease has expired.
 */
async function givenStandstill(atTokenRequest: number, isTakenOver: boolean) {
  const store = temporaryStore()
  let tokenRequests = 0
  const { intercept, given, release } = holdingAnswer(each => isToken(each) && ++tokenRequests === atTokenRequest)
  const world = await openWorld({ averba: { store }, intercept })
  if (atTokenRequest > 1) {
    await validate(world.averba, 'earlier')
    world.tokenService.expire()
  }
  const before = world.requests.length
  const validating = validate(world.averba, 'p1')
  await given
  const [lines, reports]: [LogLine[], boolean[]] = [[], []]
  const { other, outlastLease } = await openOther(world, store, line => lines.push(line))
  other.on('attempted', report => reports.push(report.isTakenOver))
  if (isTakenOver) {
    await outlastLease()
    expect(await unknownCalls(other)).toHaveLength(1)
  }
  release()
  const sent = () => world.requests.slice(before).filter(({ service }) => service === 'validationService').length
  return { other, validating, sent, lines, reports }
}

test.each([
  ['before it was sent', 1, 0],
  ['before it was sent again after a 401', 2, 1],
])('a paid call whose process stands still %s goes on only if nobody took it over', async (_, tokenRequest, before) => {
  const alone = await givenStandstill(tokenRequest, false)
  expect(await alone.validating).toMatchObject({ status: 'settled' })
  expect(alone.sent()).toBe(before + 1)
  const { other, validating, sent, lines, reports } = await givenStandstill(tokenRequest, true)
  expect(lines).toContainEqual({
    ...{ level: 'warn', message: 'a call is taken over: its last attempt has no outcome' },
    detail: expect.stringMatching(/^validationService\.validatePerson validation-/),
  })
  expect(reports).toEqual([true])
  // It was certainly not sent, so the doubt is over.
  expect(await validating).toMatchObject({ status: 'declined', problem: { code: 'NOT_DONE' } })
  expect(sent()).toBe(before)
  expect(await unknownCalls(other)).toEqual([])
})

test.each([
  ['a minute after its lease was extended', 0, minuteMs, false],
  ['soon after its lease was extended', 0, minuteMs / 2, true],
  ['after it stood still while its lease was extended', minuteMs, 0, false],
])('a paid call may leave only within its lease: %s', async (_, whileExtending, whileConnecting, mayLeave) => {
  let skewMs = 0
  const clock = new VirtualClock()
  const ownClock: Clock = { now: () => clock.now() + skewMs, sleep: clock.sleep.bind(clock) }
  const { extendLease } = Store.prototype
  const extend = vi.spyOn(Store.prototype, 'extendLease').mockImplementation(async function (this: Store, attempt) {
    const left = await extendLease.call(this, attempt)
    skewMs += whileExtending
    return left
  })
  onTestFinished(() => extend.mockRestore())
  const seen: unknown[] = []
  const averba = await openEngine({
    ...{ store: temporaryStore(), clock: ownClock, validationService: validationServiceWith({ bearer: 'x' }) },
    async fetch(request) {
      skewMs += whileConnecting
      seen.push(limitsOf(request).mayLeave?.())
      throw new TypeError('reset')
    },
  })
  await validate(averba, 'p1')
  expect(seen).toEqual([mayLeave])
})

/** Two processes on one file: the first gets its answer after the other has recorded the call as unknown. */
async function givenLateAnswer(answer?: () => Response) {
  const store = temporaryStore()
  const { intercept, given, release } = holdingAnswer(isValidation, answer)
  const world = await openWorld({ averba: { store }, intercept })
  const validating = validate(world.averba, 'p1')
  await given
  const { other, outlastLease } = await openOther(world, store)
  await outlastLease()
  const shown = () => other.validations.get('p1')
  expect((await shown())?.state).toBe('inconclusive')
  const come = () => {
    release()
    return validating
  }
  return { world, store, other, shown, come }
}

test.each([
  ['answer', undefined],
  ['answer, after a person resolved the call,', false],
  ['answer, after a person resolved the call as charged,', true],
])('a late %s becomes the outcome and is shown', async (_, charged) => {
  const { other, shown, come } = await givenLateAnswer()
  if (charged !== undefined) await other.validations.resolve('p1', { charged, note: 'by the report' })
  const value = { state: 'answered', fields: { nome: { result: 'match' } } }
  expect(await come()).toMatchObject({ status: 'settled', value })
  expect(await validate(other, 'p1')).toMatchObject({ status: 'settled', replayed: true, value })
  expect(await shown()).toMatchObject(value)
  expect(await shown()).not.toHaveProperty('resolved')
})

test('a late decline of the service replaces a person’s resolution', async () => {
  const declining = () => Response.json({ code: 'DV010' }, { status: 422 })
  const { world, store, other, shown, come } = await givenLateAnswer(declining)
  await other.validations.resolve('p1', { charged: true })
  const declined = { status: 'declined', problem: { status: 422, code: 'DV010' } }
  for (const outcome of [await come(), await validate(other, 'p1')]) expect(outcome).toMatchObject(declined)
  expect((await shown())?.state).toBe('declined')
  expect((await other.rebuild()).every(view => view.differences === 0)).toBe(true)
  await other.close()
  await world.close()
  await expectSound(store)
})

test('a late report that nothing was done ends the doubt, unless a person did, and nothing is sent again', async () => {
  const { other, shown, come } = await givenLateAnswer(() => busy())
  const declined = { status: 'declined', problem: { code: 'NOT_DONE' } }
  for (const outcome of [await come(), await validate(other, 'p1')]) expect(outcome).toMatchObject(declined)
  expect(await unknownCalls(other)).toEqual([])
  expect(await shown()).toMatchObject({ state: 'resolved', resolved: { charged: false } })
  // The invoice may say otherwise.
  await other.validations.resolve('p1', { charged: true })
  expect(await shown()).toMatchObject({ resolved: { charged: true } })
  const resolved = await givenLateAnswer(() => busy())
  await resolved.other.validations.resolve('p1', { charged: true })
  expect(await resolved.come()).toMatchObject({ status: 'declined', problem: { code: 'CHARGED_WITHOUT_RESULT' } })
})

test('a paid call that is sent late keeps its lease for a whole minute more', async () => {
  const store = temporaryStore()
  const { intercept, given, release } = holdingAnswer(isValidation)
  const world: World = await openWorld({
    averba: { store },
    intercept: (request, forward) => {
      if (isToken(request)) world.clock.jump(50_000)
      return intercept(request, forward)
    },
  })
  const validating = validate(world.averba, 'p1')
  await given
  const { other, outlastLease } = await openOther(world, store)
  await outlastLease()
  expect(await unknownCalls(other)).toEqual([])
  release()
  expect(await validating).toMatchObject({ status: 'settled' })
})

test('a caller waits for its call while another process performs it', async () => {
  const [clock, store] = [new VirtualClock(), temporaryStore()]
  const sent: { by: string; answer: () => void }[] = []
  /** An engine, whose answers come when the test gives them. */
  const open = (by: string, requestsAtOnceMax: number) =>
    openValidating({
      ...{ store, clock, validationService: validationServiceWith({ bearer: 't', requestsAtOnceMax }) },
      fetch: () => new Promise(resolve => sent.push({ by, answer: () => resolve(Response.json({ nome: true })) })),
    })
  const [first, second] = [await open('first', 1), await open('second', 8)]
  const blocking = validate(first, 'v1')
  await expect.poll(() => sent.length).toBe(1)
  const waiting = validate(first, 'v2')
  await expect.poll(() => second.effects.list()).toHaveLength(2)
  const settling = second.settle()
  await expect.poll(() => sent.map(({ by }) => by)).toEqual(['first', 'second'])
  sent[0]?.answer()
  expect(await blocking).toMatchObject({ status: 'settled' })
  let isOver = false
  const ended = waiting.finally(() => {
    isOver = true
  })
  const sleep = vi.spyOn(clock, 'sleep')
  await clock.advance(20_000)
  expect(isOver).toBe(false)
  // Soon at first, and then ever less often: many callers may wait.
  const looks = sleep.mock.calls.filter(([, , what]) => what === 'a call of another process')
  expect(looks.length).toBeGreaterThan(20)
  expect(looks.length).toBeLessThan(40)
  sent[1]?.answer()
  expect(await clock.finish(ended)).toMatchObject({ status: 'settled', value: { state: 'answered' } })
  await settling
  expect(sent).toHaveLength(2)
})
