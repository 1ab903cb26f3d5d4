import { expect, test } from 'vitest'
import type { Fetch } from '../../../src/index.ts'
import { samples, VirtualClock, type World } from '../../../src/simulation/index.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { hourMs, minuteMs } from '../../support/pass-time.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openEngine, openWorld } from '../../support/world.ts'

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
    async intercept(request, forward) {
      if (isReady) return intercept(world, request, forward)
      return Response.json({}, { status: 429, headers: { 'retry-after': '3600' } })
    },
  })
  const subjects = await Promise.all(cpfs(count).map(cpf => world.averba.consents.enrol({ cpf })))
  const postponed = Promise.all(subjects.map(subject => world.averba.consents.sync({ subject })))
  await world.clock.finish(postponed)
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
  const began = world.clock.now()
  const { averba, samples } = world
  const settling = averba.settle()
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const own = await world.clock.finish(averba.consents.sync({ subject }))
  // A host’s own call waits behind a few others, not behind all pending ones.
  expect(own.status).toBe('settled')
  expect(world.clock.now() - began).toBeLessThan(6_000)
  await world.clock.finish(settling)
  expect(at).toHaveLength(41)
  for (const start of at) {
    // The bucket may be full, and is refilled while it empties.
    expect(at.filter(each => each >= start && each < start + 1_000).length).toBeLessThanOrEqual(8)
  }
  expect((at.at(-1) ?? 0) - began).toBeGreaterThanOrEqual(9_000)
  expect((at.at(-1) ?? 0) - began).toBeLessThanOrEqual(10_000)
})

test('what a pause of the service leaves for later counts as deferred, and few calls leave before it is known', async () => {
  let sent = 0
  const world = await givenOwedReadings(40, {}, async () => {
    sent += 1
    return Response.json({}, { status: 429, headers: { 'retry-after': '30' } })
  })
  expect(await world.clock.finish(world.averba.settle())).toEqual({ settled: 0, deferred: 40, unknown: 0 })
  expect(sent).toBeLessThanOrEqual(16)
})

test('a hanging service blocks no other', async () => {
  const hang = () => new Promise<Response>(() => undefined)
  const world = await givenOwedReadings(40, {}, (_, request, forward) =>
    request.url.includes('/consentimento/') ? hang() : forward(request),
  )
  const { averba } = world
  const stop = startRun(world)
  await expect.poll(async () => (await averba.effects.list({ state: 'started' })).length).toBe(8)
  await world.clock.finish(averba.subscriptions.failures())
  await stop()
})

test('a limit that allows no calls is refused', async () => {
  for (const limits of [{ requestsPerSecond: 0 }, { requestsAtOnceMax: 0 }, { requestsAtOnceMax: 1.5 }]) {
    await expect(givenOwedReadings(1, limits, (_, request, forward) => forward(request))).rejects.toMatchObject({
      code: 'MISCONFIGURED',
    })
  }
})

test('a postponed call is retried at its time, however steadily others become due', async () => {
  const puts: number[] = []
  const world: World = await openWorld({
    async intercept(request, forward) {
      if (request.method === 'PUT') {
        puts.push(world.clock.now())
        if (puts.length <= 2) return new Response('', { status: 503, headers: { 'retry-after': '2' } })
        return forward(request)
      }
      // With a reading every second, one is always in progress.
      await world.clock.sleep(2_000)
      return forward(request)
    },
  })
  const { averba, clock, samples } = world
  startRun(world)
  for (const cpf of cpfs(60)) {
    await averba.consents.enrol({ cpf }, { syncEveryMs: minuteMs })
    await clock.advance(1_000)
  }
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await clock.finish(averba.consents.sync({ subject }))
  const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
  const began = clock.now()
  const approving = averba.consents.approve({ subject, id: pending?.id ?? '' })
  expect(await clock.finish(approving)).toMatchObject({ status: 'deferred' })
  await clock.advance(20_000)
  expect(puts).toHaveLength(3)
  expect((puts[2] ?? 0) - began).toBeLessThan(10_000)
})

test('postponed calls, and those that a list caused, do not wait until all lists have been read', async () => {
  const people = 200
  const puts: number[] = []
  const world: World = await openWorld({
    averba: { consentService: consentServiceWith({ requestsPerSecond: 1 }) },
    async intercept(request, forward) {
      if (request.method !== 'PUT') return forward(request)
      puts.push(world.clock.now())
      if (puts.length > 1) return forward(request)
      return new Response('', { status: 503, headers: { 'retry-after': '2' } })
    },
  })
  const { averba, clock, samples } = world
  const [subject, other] = [
    await averba.consents.enrol({ cpf: samples.cpf }),
    await averba.consents.enrol({ cpf: cpfs(1)[0] ?? '' }, { syncEveryMs: minuteMs }),
  ]
  const id = world.consentService.addConsent({ cpf: cpfs(1)[0] ?? '', status: 'ATIVO' })
  await clock.finish(Promise.all([subject, other].map(each => averba.consents.sync({ subject: each }))))
  const [active] = await averba.consents.list({ subject, status: 'ATIVO' })
  for (const cpf of cpfs(people).slice(1)) await averba.consents.enrol({ cpf }, { syncEveryMs: minuteMs })
  startRun(world)
  await clock.advance(people * 1_000 + minuteMs)
  const began = clock.now()
  const revoked = await clock.finish(averba.consents.revoke({ subject, id: active?.id ?? '' }))
  expect(revoked.status).toBe('deferred')
  world.consentService.change(cpfs(1)[0] ?? '', id, 'REVOGADO')
  // Each list is read once meanwhile, and a round of all takes over three minutes.
  await clock.advance(people * 1_000 + 90_000)
  expect((puts[1] ?? Number.NaN) - began).toBeLessThan(90_000)
  const events = await Array.fromAsync(averba.log.read())
  const seen = events.find(({ type }) => type === 'consent.changeSeen')
  const revocation = events.find(({ type, stream }) => type === 'consent.revoked' && stream === seen?.stream)
  expect(Date.parse(revocation?.at ?? '') - Date.parse(seen?.at ?? '')).toBeLessThan(90_000)
})

test('calls run in parallel up to the limit, and hanging ones occupy only their own places', async () => {
  const answered: number[] = []
  let [inProgress, inProgressMax] = [0, 0]
  const world = await givenOwedReadings(60, { requestsAtOnceMax: 4 }, async (world, request, forward) => {
    inProgress += 1
    inProgressMax = Math.max(inProgressMax, inProgress)
    // Two of four places are blocked as long as an answer is awaited.
    if (hung < 2) {
      hung += 1
      await world.clock.sleep(hourMs)
    }
    await world.clock.sleep(100)
    inProgress -= 1
    answered.push(world.clock.now())
    return forward(request)
  })
  let hung = 0
  const began = world.clock.now()
  expect(await world.clock.finish(world.averba.settle())).toEqual({ settled: 60, deferred: 0, unknown: 0 })
  expect(inProgressMax).toBe(4)
  expect(answered.filter(at => at - began < 5_000)).toHaveLength(58)
})

test('three processes make together as many calls as one may, each of them its share', async () => {
  const clock = new VirtualClock()
  const store = temporaryStore()
  let sent = 0
  const shares: number[] = []
  const open = (requestsPerSecond: number, process = 0) =>
    openEngine({
      ...{ store, clock, schedules: false },
      async fetch() {
        sent += 1
        shares[process] = (shares[process] ?? 0) + 1
        await clock.sleep(100)
        const busy = { status: 429, headers: { 'retry-after': '60' } }
        return sent <= 30 ? Response.json({}, busy) : Response.json({ nome: true })
      },
      validationService: {
        ...{ baseUrl: 'https://validacao.exemplo.br', service: 'datavalid', bearer: 't' },
        requestsPerSecond,
      },
    })
  const first = await open(1_000)
  const owing = Array.from({ length: 30 }, (_, i) =>
    first.validations.validate({ id: `v${i}`, cpf: samples.cpf, claims: { nome: `Pessoa ${i}` } }),
  )
  await clock.finish(Promise.all(owing))
  const all = [await open(4, 1), await open(4, 2), await open(4, 3)]
  await clock.advance(minuteMs)
  for (const averba of all) startRun({ averba, clock })
  const began = clock.now()
  await clock.runUntil(() => sent === 60)
  // 4 at once, and 26 in turn.
  expect(clock.now() - began).toBeGreaterThanOrEqual(6_400)
  expect(clock.now() - began).toBeLessThanOrEqual(8_500)
  expect(Math.min(...shares.slice(1))).toBeGreaterThanOrEqual(6)
})

test('a service that asks one process for a pause gets no due calls from any, for a minute at most', async () => {
  const clock = new VirtualClock()
  const store = temporaryStore()
  const sent: number[] = []
  let retryAfter = '20'
  const open = () =>
    openEngine({
      ...{ store, clock, schedules: false },
      async fetch() {
        sent.push(clock.now() - began)
        if (retryAfter === '') return Response.json({ nome: true })
        return Response.json({}, { status: 429, headers: { 'retry-after': retryAfter } })
      },
      validationService: { baseUrl: 'https://validacao.exemplo.br', service: 'datavalid', bearer: 't' },
    })
  const [one, other] = [await open(), await open()]
  let began = clock.now()
  const validate = (averba: typeof one, id: string) =>
    clock.finish(averba.validations.validate({ id, cpf: samples.cpf, claims: { nome: id } }))
  await validate(one, 'a')
  await validate(one, 'b')
  await clock.advance(20_000)
  // Both are due. The first one learns that the pause goes on, before the other process begins.
  began = clock.now()
  retryAfter = '7200'
  await validate(one, 'c')
  for (const averba of [one, other]) startRun({ averba, clock })
  sent.length = 0
  await clock.advance(59_000)
  expect(sent).toEqual([])
  // A host's own call leaves, and learns the same.
  expect(await validate(other, 'd')).toMatchObject({ status: 'deferred' })
  expect(sent).toHaveLength(1)
  retryAfter = ''
  await clock.runUntil(() => sent.length === 3)
  expect(sent.slice(1).every(at => at >= 119_000 && at < 121_000)).toBe(true)
})

test('a call that is due says until when its service asked for a pause', async () => {
  const { averba, clock, samples } = await openWorld({
    intercept: async () => Response.json({}, { status: 429, headers: { 'retry-after': '45' } }),
  })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const [outcome] = await Promise.all([averba.consents.sync({ subject }), clock.advance(0)])
  await averba.effects.retry(outcome.effect)
  const waiting = async () => (await averba.effects.get(outcome.effect))?.waiting
  expect(await waiting()).toMatchObject({ for: 'time', until: '2026-11-20T12:00:45.000Z' })
  expect((await averba.effects.get(outcome.effect))?.reason).toBe('its service asked for a pause')
  clock.jump(45_000)
  expect(await waiting()).toMatchObject({ for: 'process', until: null })
})
