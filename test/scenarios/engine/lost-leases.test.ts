import { expect, onTestFinished, test, vi } from 'vitest'
import { type Averba, type LogLine, replayLog, verifyLog } from '../../../src/index.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { samples, VirtualClock, type World } from '../../../src/simulation/index.ts'
import { Store } from '../../../src/store/store.ts'
import { limitsOf } from '../../../src/vocabulary/fetch.ts'
import { notify } from '../../support/notify.ts'
import { passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openWorld } from '../../support/world.ts'

const { cpf } = samples
const input = { id: 'p1', cpf, claims: { nome: 'Maria de Exemplo Souza' } }
const never = new Promise<never>(() => undefined)
const isToken = (request: Request) => request.url.endsWith('/token')
const isValidation = (request: Request) => request.url.includes('/validate/pf')

/** Another process on the same file, with a clock and a token of its own. */
function openOther(
  { reach }: World,
  store: string,
  clock: VirtualClock,
  logger?: (line: LogLine) => void,
): Promise<Averba> {
  const validationService = { baseUrl: 'https://validacao.exemplo.br', service: 'datavalid-demonstracao' }
  return openEngine({
    ...{ store, clock, fetch: reach.validationService },
    validationService: { ...validationService, bearer: 'outro' },
    ...(logger && { logger }),
  })
}

/**
 * A process that is paused at one token request, on a clock that does not move, and another one on the same file that
 * takes over its call when the lease has expired.
 */
async function givenStandstill(atTokenRequest: number, isTakenOver: boolean) {
  const store = temporaryStore()
  const [reached, wake] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const sent: string[] = []
  let tokenRequests = 0
  const world = await openWorld({
    averba: { store },
    intercept: async (request, forward) => {
      if (isValidation(request)) sent.push('validation')
      const answer = await forward(request)
      if (!isToken(request) || ++tokenRequests < atTokenRequest) return answer
      reached.resolve()
      await wake.promise
      return answer
    },
  })
  if (atTokenRequest > 1) {
    await world.averba.validations.validate({ ...input, id: 'earlier' })
    world.tokenService.expire()
    sent.length = 0
  }
  const validating = world.averba.validations.validate(input)
  await reached.promise
  const clock = new VirtualClock()
  const [lines, reports]: [LogLine[], boolean[]] = [[], []]
  const other = await openOther(world, store, clock, line => lines.push(line))
  other.on('attempted', report => reports.push(report.isTakenOver))
  if (isTakenOver) {
    await passTime({ averba: other, clock }, 61_000)
    expect(await other.effects.list({ state: 'unknown' })).toHaveLength(1)
  }
  wake.resolve()
  return { world, other, validating, sent, lines, reports }
}

test.each([
  ['before it was sent', 1, []],
  ['before it was sent again after a 401', 2, ['validation']],
])('a paid call that another process recorded as unknown %s is never sent', async (_, tokenRequest, before) => {
  const { other, validating, sent, lines, reports } = await givenStandstill(tokenRequest, true)
  expect(lines).toContainEqual({
    ...{ level: 'warn', message: 'a call is taken over: its last attempt has no outcome' },
    detail: expect.stringMatching(/^validationService\.validatePerson validation-/),
  })
  expect(reports).toEqual([true])
  // It was certainly not sent, so the doubt is over.
  expect(await validating).toMatchObject({ status: 'declined', problem: { code: 'NOT_DONE' } })
  expect(sent).toEqual(before)
  expect(await other.effects.list({ state: 'unknown' })).toEqual([])
})

const minute = 60_000

test.each([
  ['a minute after its lease was extended', 0, minute, false],
  ['soon after its lease was extended', 0, minute / 2, true],
  ['after it stood still while its lease was extended', minute, 0, false],
])('a paid call may leave only within its lease: %s', async (_, whileExtending, whileConnecting, mayLeave) => {
  let skewMs = 0
  const clock = new VirtualClock()
  const ownClock: Clock = { now: () => clock.now() + skewMs, sleep: clock.sleep.bind(clock) }
  const { extendLease } = Store.prototype
  const extend = vi.spyOn(Store.prototype, 'extendLease').mockImplementation(async function extendSlowly(
    this: Store,
    attempt,
  ) {
    const left = await extendLease.call(this, attempt)
    skewMs += whileExtending
    return left
  })
  onTestFinished(() => extend.mockRestore())
  const seen: unknown[] = []
  const averba = await openEngine({
    ...{ store: temporaryStore(), clock: ownClock },
    validationService: { baseUrl: 'https://validacao.exemplo.br', service: 'datavalid-demonstracao', bearer: 'x' },
    async fetch(request) {
      skewMs += whileConnecting
      seen.push(limitsOf(request).mayLeave?.())
      throw new TypeError('reset')
    },
  })
  await averba.validations.validate(input)
  expect(seen).toEqual([mayLeave])
})

/** Two processes on one file: the first gets its answer after the other has recorded the call as unknown. */
async function givenLateAnswer(answer: (real: Response) => Response) {
  const store = temporaryStore()
  const [sent, mayCome] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const world = await openWorld({
    averba: { store },
    intercept: async (request, forward) => {
      const real = await forward(request)
      if (!isValidation(request)) return real
      sent.resolve()
      await mayCome.promise
      return answer(real)
    },
  })
  const clock = new VirtualClock()
  const validating = world.averba.validations.validate(input)
  await sent.promise
  const other = await openOther(world, store, clock)
  await passTime({ averba: other, clock }, 61_000)
  expect((await other.validations.get(input.id))?.state).toBe('inconclusive')
  const check = async () => {
    expect((await other.rebuild()).every(view => view.differences === 0)).toBe(true)
    await other.close()
    await world.close()
    expect((await verifyLog({ store })).faults).toEqual([])
    expect((await replayLog({ store })).divergence).toBeUndefined()
  }
  const come = () => {
    mayCome.resolve()
    return validating
  }
  return { other, come, check }
}

test.each([
  ['answer', undefined],
  ['answer, after a person resolved the call,', false],
  ['answer, after a person resolved the call as charged,', true],
])('a late %s becomes the outcome and is shown', async (_, charged) => {
  const { other, come } = await givenLateAnswer(real => real)
  if (charged !== undefined) await other.validations.resolve(input.id, { charged, note: 'by the report' })
  const value = { state: 'answered', fields: { nome: { result: 'match' } } }
  expect(await come()).toMatchObject({ status: 'settled', value })
  expect(await other.validations.validate(input)).toMatchObject({ status: 'settled', replayed: true, value })
  const shown = await other.validations.get(input.id)
  expect(shown).toMatchObject(value)
  expect(shown).not.toHaveProperty('resolved')
})

test('a late decline of the service replaces a person’s resolution', async () => {
  const declining = () => Response.json({ code: 'DV010' }, { status: 422 })
  const { other, come, check } = await givenLateAnswer(declining)
  await other.validations.resolve(input.id, { charged: true })
  const declined = { status: 'declined', problem: { status: 422, code: 'DV010' } }
  expect(await come()).toMatchObject(declined)
  expect(await other.validations.validate(input)).toMatchObject(declined)
  expect((await other.validations.get(input.id))?.state).toBe('declined')
  await check()
})

test('a late report that nothing was done ends the doubt, and nothing is sent again', async () => {
  const { other, come } = await givenLateAnswer(() => Response.json({}, { status: 429 }))
  const declined = { status: 'declined', problem: { code: 'NOT_DONE' } }
  expect(await come()).toMatchObject(declined)
  expect(await other.validations.validate(input)).toMatchObject(declined)
  expect(await other.effects.list({ state: 'unknown' })).toEqual([])
  expect(await other.validations.get(input.id)).toMatchObject({
    state: 'resolved',
    resolved: { charged: false },
  })
  // The invoice may say otherwise.
  await other.validations.resolve(input.id, { charged: true })
  expect(await other.validations.get(input.id)).toMatchObject({ resolved: { charged: true } })
})

test('a late report that nothing was done does not change a person’s resolution', async () => {
  const { other, come } = await givenLateAnswer(() => Response.json({}, { status: 429 }))
  await other.validations.resolve(input.id, { charged: true })
  expect(await come()).toMatchObject({ status: 'declined', problem: { code: 'CHARGED_WITHOUT_RESULT' } })
})

test.each([
  ['sent', 1, ['validation']],
  ['sent again after a 401', 2, ['validation', 'validation']],
])('a paid call that no other process took over meanwhile is %s', async (_, tokenRequest, all) => {
  const { validating, sent } = await givenStandstill(tokenRequest, false)
  expect(await validating).toMatchObject({ status: 'settled' })
  expect(sent).toEqual(all)
})

test('a paid call that is sent late keeps its lease for a whole minute more', async () => {
  const store = temporaryStore()
  const [sent, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const world = await openWorld({
    averba: { store },
    intercept: async (request, forward) => {
      if (isToken(request)) world.clock.jump(50_000)
      if (!isValidation(request)) return forward(request)
      sent.resolve()
      await answer.promise
      return forward(request)
    },
  })
  const clock = new VirtualClock()
  const validating = world.averba.validations.validate(input)
  await sent.promise
  const other = await openOther(world, store, clock)
  await passTime({ averba: other, clock }, 61_000)
  expect(await other.effects.list({ state: 'unknown' })).toEqual([])
  answer.resolve()
  expect(await validating).toMatchObject({ status: 'settled' })
})

test('calls and handlers of a dead process whose clock was a day ahead are taken over at once', async () => {
  const store = temporaryStore()
  const reached = Promise.withResolvers<void>()
  const ahead = new VirtualClock('2026-11-21T12:00:00.000Z')
  const dead = await openWorld({
    averba: { store, clock: ahead },
    intercept: async request => {
      if (isToken(request)) reached.resolve()
      return never
    },
  })
  const handling = Promise.withResolvers<void>()
  dead.averba.notifications.handle('e', 'crm', () => {
    handling.resolve()
    return never
  })
  await notify(dead.averba, { n: 1 })
  void dead.averba.settle()
  await handling.promise
  void dead.averba.validations.validate(input)
  await reached.promise

  // From here on this process counts as dead: its clock does not move.
  const world = await openWorld({ averba: { store } })
  const { averba } = world
  const bodies: unknown[] = []
  averba.notifications.handle('e', 'crm', async ({ body }) => void bodies.push(body))
  await notify(averba, { n: 2 })
  expect(await averba.validations.validate({ ...input, id: 'p2' })).toMatchObject({ status: 'settled' })
  await averba.settle()
  expect(bodies).toEqual([{ n: 1 }, { n: 2 }])
  // The call may have been paid for, so it is unknown and not sent again.
  expect((await averba.validations.get(input.id))?.state).toBe('inconclusive')
  expect(world.validationService.answered).toBe(1)
  expect((await averba.effects.list({ state: 'started' })).length).toBe(0)
})
