import { expect, onTestFinished, test, vi } from 'vitest'
import type { Fetch } from '../../../src/index.ts'
import { VirtualClock, type World } from '../../../src/simulation/index.ts'
import { busy } from '../../support/answers.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { readConsent } from '../../support/given-consent.ts'
import { openValidating, validate } from '../../support/open-validating.ts'
import { hourMs, minuteMs } from '../../support/pass-time.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openEngine, openWorld, validationServiceWith } from '../../support/world.ts'

const cpfs = (count: number) => Array.from({ length: count }, (_, i) => cpfOf(i + 1))

/** A world with limits on the consent service, and pending readings that were postponed once. */
async function givenOwedReadings(
  count: number,
  limits: { requestsPerSecond?: number; requestsAtOnceMax?: number },
  intercept: (world: World, request: Request, forward: Fetch) => Promise<Response>,
): Promise<World> {
  let isReady = false
  const world: World = await openWorld({
    averba: { consentService: consentServiceWith(limits) },
    intercept: async (request, forward) => (isReady ? intercept(world, request, forward) : busy(3_600)),
  })
  const subjects = await Promise.all(cpfs(count).map(cpf => world.averba.consents.enrol({ cpf })))
  await world.clock.finish(Promise.all(subjects.map(subject => world.averba.consents.sync({ subject }))))
  isReady = true
  await world.clock.advance(2 * hourMs)
  return world
}

test('no more calls begin per second than the limit allows', async () => {
  const at: number[] = []
  const world = await givenOwedReadings(40, { requestsPerSecond: 4 }, (world, request, forward) => {
    at.push(world.clock.now())
    return forward(request)
  })
  const { averba, clock } = world
  const began = clock.now()
  const settling = averba.settle()
  // A host’s own call waits behind a few others, not behind all pending ones.
  await clock.finish(readConsent(world))
  expect(clock.now() - began).toBeLessThan(6_000)
  await clock.finish(settling)
  expect(at).toHaveLength(41)
  // The bucket may be full, and is refilled while it empties.
  for (const start of at) expect(at.filter(each => each >= start && each < start + 1_000).length).toBeLessThanOrEqual(8)
  expect((at.at(-1) ?? 0) - began).toBeGreaterThanOrEqual(9_000)
  expect((at.at(-1) ?? 0) - began).toBeLessThanOrEqual(10_000)
})

test('what a pause of the service leaves for later counts as deferred, and few calls leave before it is known', async () => {
  const pause = vi.fn(async () => busy(30))
  const world = await givenOwedReadings(40, {}, pause)
  expect(await world.clock.finish(world.averba.settle())).toEqual({ settled: 0, deferred: 40, unknown: 0 })
  expect(pause.mock.calls.length).toBeLessThanOrEqual(16)
})

test('a limit that allows no calls is refused', async () => {
  for (const limits of [{ requestsPerSecond: 0 }, { requestsAtOnceMax: 0 }, { requestsAtOnceMax: 1.5 }]) {
    const opening = openWorld({ averba: { consentService: consentServiceWith(limits) } })
    await expect(opening).rejects.toMatchObject({ code: 'MISCONFIGURED' })
  }
})

test('postponed calls, and those that a list caused, do not wait until all lists have been read', async () => {
  const people = 200
  const puts: number[] = []
  const world: World = await openWorld({
    averba: { consentService: consentServiceWith({ requestsPerSecond: 1 }) },
    intercept: async (request, forward) =>
      request.method === 'PUT' && puts.push(world.clock.now()) === 1 ? busy(2, 503) : forward(request),
  })
  const { averba, clock } = world
  const id = world.consentService.addConsent({ cpf: cpfOf(1), status: 'ATIVO' })
  const subject = await averba.consents.enrol({ cpf: cpfOf(1) }, { syncEveryMs: minuteMs })
  await clock.finish(averba.consents.sync({ subject }))
  const { which } = await clock.finish(readConsent(world))
  for (const cpf of cpfs(people).slice(1)) await averba.consents.enrol({ cpf }, { syncEveryMs: minuteMs })
  startRun(world)
  await clock.advance(people * 1_000 + minuteMs)
  const began = clock.now()
  expect(await clock.finish(averba.consents.revoke(which))).toMatchObject({ status: 'deferred' })
  world.consentService.change(cpfOf(1), id, 'REVOGADO')
  // Each list is read once meanwhile, and a round of all takes over three minutes.
  await clock.advance(people * 1_000 + 90_000)
  expect((puts[1] ?? Number.NaN) - began).toBeLessThan(90_000)
  const events = await Array.fromAsync(averba.log.read())
  const seen = events.find(({ type }) => type === 'consent.changeSeen')
  const revocation = events.find(({ type, stream }) => type === 'consent.revoked' && stream === seen?.stream)
  expect(Date.parse(revocation?.at ?? '') - Date.parse(seen?.at ?? '')).toBeLessThan(90_000)
})

function useFakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  onTestFinished(() => void vi.useRealTimers())
}

test("closing aborts what a host's fetch still waits for after 15 seconds", async () => {
  useFakeTimers()
  const sent = Promise.withResolvers<AbortSignal>()
  const fetch = ({ signal }: Request) => {
    sent.resolve(signal)
    return new Promise<Response>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  const consentService = consentServiceWith({ timeoutMs: 120_000 })
  const averba = await openEngine({ store: ':memory:', fetch, consentService, schedules: false })
  const syncing = averba.consents.sync({ subject: await averba.consents.enrol({ cpf: cpfOf(1) }) })
  const signal = await sent.promise
  const closing = averba.close()
  await vi.advanceTimersByTimeAsync(14_000)
  expect(signal.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(1_000)
  await closing
  expect([signal.aborted, (await syncing).status]).toEqual([true, 'pending'])
})

test("a host's fetch that never ends loses its place after the time of the call", async () => {
  useFakeTimers()
  const hung = Promise.withResolvers<Request>()
  const never = new Promise<Response>(() => {})
  let calls = 0
  const fetch = async (request: Request) => {
    calls += 1
    if (calls > 1) return Response.json([])
    hung.resolve(request)
    return never
  }
  const consentService = consentServiceWith({ timeoutMs: 1_000, requestsAtOnceMax: 1 })
  const averba = await openEngine({ store: ':memory:', fetch, consentService, schedules: false })
  const subjects = await Promise.all(cpfs(2).map(cpf => averba.consents.enrol({ cpf })))
  const syncing = subjects.map(subject => averba.consents.sync({ subject }))
  const { signal } = await hung.promise
  await vi.advanceTimersByTimeAsync(999)
  expect([calls, signal.aborted]).toEqual([1, false])
  await vi.advanceTimersByTimeAsync(1)
  expect(await Promise.all(syncing)).toMatchObject([{ status: 'settled' }, { status: 'settled' }])
  expect([calls, signal.aborted]).toEqual([3, true])
})

test('three processes make together as many calls as one may, each of them its share', async () => {
  const [clock, store] = [new VirtualClock(), temporaryStore()]
  const sentBy: number[] = []
  const open = (process: number, requestsPerSecond: number) =>
    openValidating({
      ...{ store, clock, validationService: validationServiceWith({ bearer: 't', requestsPerSecond }) },
      async fetch() {
        const sent = sentBy.push(process)
        await clock.sleep(100)
        return sent <= 30 ? busy(60) : Response.json({ nome: true })
      },
    })
  const first = await open(0, 1_000)
  await clock.finish(Promise.all(Array.from({ length: 30 }, (_, i) => validate(first, `v${i}`))))
  const all = [await open(1, 4), await open(2, 4), await open(3, 4)]
  await clock.advance(minuteMs)
  for (const averba of all) startRun({ averba, clock })
  const began = clock.now()
  await clock.runUntil(() => sentBy.length === 60)
  // 4 at once, and 26 in turn.
  expect(clock.now() - began).toBeGreaterThanOrEqual(6_400)
  expect(clock.now() - began).toBeLessThanOrEqual(8_500)
  for (const process of [1, 2, 3]) expect(sentBy.filter(by => by === process).length).toBeGreaterThanOrEqual(6)
})

test('a service that asks one process for a pause gets no due calls from any, for a minute at most', async () => {
  const [clock, store] = [new VirtualClock(), temporaryStore()]
  const sent: number[] = []
  let retryAfter = 20
  const fetch = async () => {
    sent.push(clock.now() - began)
    return retryAfter > 0 ? busy(retryAfter) : Response.json({ nome: true })
  }
  const options = { store, clock, fetch, validationService: validationServiceWith({ bearer: 't' }) }
  const [one, other] = [await openValidating(options), await openValidating(options)]
  let began = clock.now()
  for (const id of ['a', 'b']) await clock.finish(validate(one, id))
  await clock.advance(20_000)
  // Both are due. The first one learns that the pause goes on, before the other process begins.
  began = clock.now()
  retryAfter = 7_200
  await clock.finish(validate(one, 'c'))
  for (const averba of [one, other]) startRun({ averba, clock })
  sent.length = 0
  await clock.advance(59_000)
  expect(sent).toEqual([])
  // A host's own call leaves, and learns the same.
  expect(await clock.finish(validate(other, 'd'))).toMatchObject({ status: 'deferred' })
  expect(sent).toHaveLength(1)
  retryAfter = 0
  await clock.runUntil(() => sent.length === 3)
  expect(sent.slice(1).every(at => at >= 119_000 && at < 121_000)).toBe(true)
})
