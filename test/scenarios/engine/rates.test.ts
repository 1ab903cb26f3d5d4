import { expect, test } from 'vitest'
import type { Fetch } from '../../../src/index.ts'
import { samples, VirtualClock, type World } from '../../../src/simulation/index.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openWorld } from '../../support/world.ts'

const cpfs = (count: number) => Array.from({ length: count }, (_, i) => cpfOf(i + 1))

/** A world with limits on the consent service, and pending readings that were postponed once. */
async function givenOwedReadings(
  count: number,
  limits: { requestsPerSecond?: number; requestsAtOnceMax?: number },
  intercept: (world: World, request: Request, forward: Fetch) => Promise<Response>,
): Promise<World> {
  let isReady = false
  const world: World = await openWorld({
    averba: {
      consentService: {
        baseUrl: 'https://consentimento.exemplo.br',
        certificate: { cert: '', key: '' },
        ...limits,
      },
    },
    async intercept(request, forward) {
      if (isReady) return intercept(world, request, forward)
      return new Response('', { status: 429, headers: { 'retry-after': '3600' } })
    },
  })
  const subjects = await Promise.all(cpfs(count).map(cpf => world.averba.consents.enrol({ cpf })))
  const postponed = Promise.all(subjects.map(subject => world.averba.consents.sync({ subject })))
  await world.clock.finish(postponed)
  isReady = true
  await world.clock.advance(2 * 3_600_000)
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

test('due calls run in parallel up to the limit', async () => {
  let inProgress = 0
  let inProgressMax = 0
  const world = await givenOwedReadings(12, { requestsAtOnceMax: 3 }, async (world, request, forward) => {
    inProgress += 1
    inProgressMax = Math.max(inProgressMax, inProgress)
    await world.clock.sleep(1_000)
    inProgress -= 1
    return forward(request)
  })
  const began = world.clock.now()
  const counts = await world.clock.finish(world.averba.settle())
  expect(counts).toEqual({ settled: 12, deferred: 0, unknown: 0 })
  expect(inProgressMax).toBe(3)
  expect(world.clock.now() - began).toBeLessThan(6_000)
})

test('a hanging service blocks no other', async () => {
  const hang = () => new Promise<Response>(() => undefined)
  const world = await givenOwedReadings(40, {}, (_, request, forward) =>
    request.url.includes('/consentimento/') ? hang() : forward(request),
  )
  const { averba } = world
  const stop = new AbortController()
  const running = averba.run({ signal: stop.signal })
  await expect.poll(async () => (await averba.effects.list({ state: 'started' })).length).toBe(8)
  await world.clock.finish(averba.subscriptions.failures())
  stop.abort()
  await world.clock.finish(running)
  await world.clock.finish(world.close())
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
      // With two readings per second, one is always in progress.
      await world.clock.sleep(2_000)
      return forward(request)
    },
  })
  const { averba, clock, samples } = world
  const stop = new AbortController()
  const running = averba.run({ signal: stop.signal })
  const people = 120
  for (const cpf of cpfs(people)) {
    await averba.consents.enrol({ cpf }, { syncEveryMs: 60_000 })
    await clock.advance(60_000 / people)
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
  stop.abort()
  await clock.finish(running)
})

test('postponed calls, and those that a list caused, do not wait until all lists have been read', async () => {
  const people = 300
  const puts: number[] = []
  const world: World = await openWorld({
    averba: {
      consentService: {
        ...{ baseUrl: 'https://consentimento.exemplo.br', certificate: { cert: '', key: '' } },
        requestsPerSecond: 1,
      },
    },
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
    await averba.consents.enrol({ cpf: cpfs(1)[0] ?? '' }, { syncEveryMs: 60_000 }),
  ]
  const id = world.consentService.addConsent({ cpf: cpfs(1)[0] ?? '', status: 'ATIVO' })
  await clock.finish(Promise.all([subject, other].map(each => averba.consents.sync({ subject: each }))))
  const [active] = await averba.consents.list({ subject, status: 'ATIVO' })
  for (const cpf of cpfs(people).slice(1)) await averba.consents.enrol({ cpf }, { syncEveryMs: 60_000 })
  const stop = new AbortController()
  const running = averba.run({ signal: stop.signal })
  await clock.advance(people * 1_000 + 60_000)
  const began = clock.now()
  const revoked = await clock.finish(averba.consents.revoke({ subject, id: active?.id ?? '' }))
  expect(revoked.status).toBe('deferred')
  world.consentService.change(cpfs(1)[0] ?? '', id, 'REVOGADO')
  // Each list is read once meanwhile, and a round of all takes five minutes.
  await clock.advance(people * 2_000)
  expect((puts[1] ?? Number.NaN) - began).toBeLessThan(90_000)
  const events = await Array.fromAsync(averba.log.read())
  const seen = events.find(({ type }) => type === 'consent.changeSeen')
  const revocation = events.find(({ type, stream }) => type === 'consent.revoked' && stream === seen?.stream)
  expect(Date.parse(revocation?.at ?? '') - Date.parse(seen?.at ?? '')).toBeLessThan(90_000)
  stop.abort()
  await clock.finish(running)
})

test('hanging calls occupy only their own places', async () => {
  const answered: number[] = []
  const world = await givenOwedReadings(60, { requestsAtOnceMax: 4 }, async (world, request, forward) => {
    // Two of four places are blocked as long as an answer is awaited.
    if (hung < 2) {
      hung += 1
      await world.clock.sleep(3_600_000)
    }
    await world.clock.sleep(100)
    answered.push(world.clock.now())
    return forward(request)
  })
  let hung = 0
  const began = world.clock.now()
  await world.clock.finish(world.averba.settle())
  const inTime = answered.filter(at => at - began < 5_000)
  expect(inTime.length).toBeGreaterThanOrEqual(58)
})

test.each([1, 2, 3])('%i processes make that many times the calls of one', async processes => {
  const clock = new VirtualClock()
  const store = temporaryStore()
  let sent = 0
  const open = (requestsPerSecond: number) =>
    openEngine({
      ...{ store, clock, schedules: false },
      async fetch() {
        sent += 1
        await clock.sleep(100)
        const busy = { status: 429, headers: { 'retry-after': '60' } }
        return sent <= 60 ? new Response('', busy) : Response.json({ nome: true })
      },
      validationService: {
        ...{ baseUrl: 'https://validacao.exemplo.br', service: 'datavalid', bearer: 't' },
        requestsPerSecond,
      },
    })
  const first = await open(1_000)
  const owing = Array.from({ length: 60 }, (_, i) =>
    first.validations.validate({ id: `v${i}`, cpf: samples.cpf, claims: { nome: `Pessoa ${i}` } }),
  )
  await clock.finish(Promise.all(owing))
  await first.close()
  const all = await Promise.all(Array.from({ length: processes }, () => open(4)))
  await clock.advance(60_000)
  const stop = new AbortController()
  const running = all.map(averba => averba.run({ signal: stop.signal }))
  const began = clock.now()
  await clock.runUntil(() => sent === 120)
  expect(clock.now() - began).toBeLessThanOrEqual(15_000 / processes)
  stop.abort()
  await clock.finish(Promise.all(running))
  await Promise.all(all.map(averba => averba.close()))
})
