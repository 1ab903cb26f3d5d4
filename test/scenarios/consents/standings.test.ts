import { expect, test } from 'vitest'
import { AverbaError, ConsentNotEffectiveError, valueOf } from '../../../src/index.ts'
import type { World } from '../../../src/simulation/index.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { isList } from '../../support/consent-requests.ts'
import { eventsOf } from '../../support/events-of.ts'
import { givenConsent, readConsent } from '../../support/given-consent.ts'
import { dayMs, hourMs, minuteMs } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { openWorld } from '../../support/world.ts'
import { basis, givenStory, tell } from './story.ts'

async function given(...args: Parameters<typeof givenConsent>) {
  const { world, which } = await givenConsent(...args)
  return { world, which, ...about(world) }
}

const about = ({ averba, clock }: World) => ({
  standing: averba.consents.standing,
  now: (ms = 0) => toInstant(clock.now() + ms),
})

test('an ATIVO consent is effective until its expiry, with the reading behind it', async () => {
  const { world, which, standing, now } = await given('ATIVO')
  const [held] = await world.averba.consents.list({ ...which, status: 'ATIVO' })
  const told = await standing(which)
  expect(told).toMatchObject({ effective: true, reason: 'active', readAt: now(), until: held?.dataExpiracao })
  expect(told.position).toBeGreaterThan(1)
  const expiry = held?.dataExpiracao ?? ''
  await world.clock.advance(366 * dayMs)
  expect(await standing(which)).toMatchObject({ effective: false, reason: 'expired' })
  expect((await standing(which, { at: expiry })).reason).toBe('expired')
  expect((await standing(which, { at: toInstant(Date.parse(expiry) - 1) })).reason).toBe('active')
})

test("a revocation counts from the service's time, and earlier answers stay the same", async () => {
  const { world, which, play } = await givenStory('ATIVO')
  await play('1 min, mark revoked, person REVOGADO, 1 min, mark between, is active') // No reading has shown it yet.
  const { position: knownAt } = await world.averba.figures()
  await play(`1 min, list, is revoked, at revoked revoked, at revoked-1 active, at between as known at between active,
    at 2026-01-01T00:00:00.000Z never-read`)
  const at = toInstant(world.clock.now() - minuteMs)
  expect((await world.averba.consents.standing(which, { at, knownAt })).reason).toBe('active')
})

test('a consent is effective from the time in its history once that was read', async () => {
  const world = await openWorld()
  const { standing, now } = about(world)
  const at = now()
  await world.clock.advance(minuteMs)
  const { which } = await readConsent(world)
  expect((await standing(which, { at })).reason).toBe('never-read')
  await world.averba.consents.get(which)
  expect((await standing(which, { at })).reason).toBe('active')
})

test('a reading that is too old is repeated, and if that fails the consent is stale', async () => {
  const { world, which, play } = await givenStory('ATIVO')
  const { standing, now } = about(world)
  await play('2 min')
  const fresh = { ...which, ageMaxMs: minuteMs }
  expect(await standing(fresh)).toMatchObject({ effective: true, readAt: now() })
  await play('2 min, lists lost')
  expect(await standing(fresh)).toMatchObject({ effective: false, reason: 'stale' })
  await play('is active')
})

test('a question about the past sends no request', async () => {
  const { world, which, standing, now } = await given('ATIVO')
  const before = now()
  await world.clock.advance(dayMs)
  const requestCount = world.requests.length
  expect((await standing({ ...which, ageMaxMs: 1 }, { at: before })).reason).toBe('active')
  expect((await standing({ ...which, ageMaxMs: 1 }, { knownAt: before })).reason).toBe('active')
  expect((await standing({ ...which, ageMaxMs: 1 }, { knownAt: now() })).reason).toBe('stale')
  expect(world.requests.length).toBe(requestCount)
})

test('a list with a record without id does not make any consent fresh', async () => {
  const { world, which, play, end } = await givenStory('ATIVO')
  const { standing, now } = about(world)
  const { consents, figures } = world.averba
  const readAt = now()
  await consents.schedule(which, { syncEveryMs: 60 * minuteMs })
  await play('lists nameless, 2 min')
  const fresh = { ...which, ageMaxMs: minuteMs }
  expect((await standing(fresh)).reason).toBe('stale')
  const readings = world.requests.length
  expect(new Set((await consents.list(fresh)).map(each => each.readAt))).toEqual(new Set([readAt]))
  expect(world.requests.length).toBe(readings + 1)
  expect((await figures()).readings).toEqual({ newestAt: readAt, oldestAt: readAt })
  await play('lists now')
  expect(new Set((await consents.list(fresh)).map(each => each.readAt))).toEqual(new Set([now()]))
  await end()
})

test('a consent that is not effective says why', async () => {
  const { world, which, standing } = await given('PENDENTE')
  const { consents } = world.averba
  expect((await standing(which)).reason).toBe('pending')
  valueOf(await consents.deny(which))
  expect((await standing(which)).reason).toBe('denied')
  const unknown = { effective: false, reason: 'never-read', position: 0 }
  expect(await standing({ ...which, id: 'unknown' })).toEqual(unknown)
  await refuses('NOT_FOUND', standing({ cpf: '52998224725', id: 'x' }))
  for (const wrong of [{ at: 'yesterday' }, { knownAt: -1 }, { knownAt: 'today' }])
    await refuses('INVALID_INPUT', standing(which, wrong))
})

/** A clock was two days ahead during a reading, and is right again. Then the service revokes. */
const clockWasAhead = 'clock +2 d, list, clock -2 d, 1 min, person REVOGADO, 1 min'

test('after a clock was ahead, now means all that is recorded, also for a given instant', async () => {
  const { world, which, play } = await givenStory('ATIVO')
  const { averba } = world
  const { standing, now } = about(world)
  await play(`${clockWasAhead}, list, 1 min, is revoked`)
  const plain = await standing(which)
  // Another machine, or a question from a moment ago, also means now.
  for (const ms of [0, -2_000, 2_000]) {
    const [at, knownAt] = [now(ms), now(ms)]
    expect(await standing(which, { at })).toEqual(plain)
    expect(await standing(which, { at, knownAt })).toEqual(plain)
    const { answer, today, ...told } = JSON.parse(await averba.audit.prove({ consent: which, at, knownAt }))
    expect([answer.reason, today.reason]).toEqual(['revoked', 'revoked'])
    expect(told).toMatchObject({ knownAt, knownPosition: told.log.position, later: [] })
  }
})

test('after a clock was ahead, a list that covers nothing does not make a consent fresh', async () => {
  let isOdd = false
  const world = await openWorld({
    async intercept(request, forward) {
      const answer = await forward(request)
      if (!isOdd || !isList(request)) return answer
      const records = (await answer.json()) as object[] // A list.
      return Response.json(records.map(each => ({ ...each, id: undefined })))
    },
  })
  const { averba, clock, consentService, samples } = world
  // The first reading of all is the one that is dated ahead.
  clock.jump(2 * dayMs)
  const { which } = await readConsent(world)
  clock.jump(-2 * dayMs)
  const fresh = { ...which, ageMaxMs: minuteMs }
  await clock.advance(minuteMs)
  expect((await averba.consents.use(fresh, { basis })).effective).toBe(true)
  isOdd = true
  consentService.change(samples.cpf, which.id, 'REVOGADO')
  await clock.advance(2 * minuteMs)
  await expect(averba.consents.use(fresh, { basis })).rejects.toMatchObject({ standing: { reason: 'stale' } })
  expect((await averba.consents.standing(fresh)).reason).toBe('stale')
})

test('an instant in the future or a position after the end of the log is refused', async () => {
  const { world, which, standing, now } = await given('ATIVO')
  const isRefused = async (question: Parameters<typeof standing>[1], more: object) => {
    await refuses('INVALID_INPUT', standing(which, question), more)
    await refuses('INVALID_INPUT', world.averba.audit.prove({ consent: which, at: now(), ...question }), more)
  }
  const future = now(2 * minuteMs)
  const message = 'Cannot use "knownAt": it is in the future'
  await isRefused({ knownAt: future }, { message })
  const notCome = { message: 'Cannot use "at": it is in the future' }
  await isRefused({ at: future }, notCome)
  await isRefused({ at: future, knownAt: now() }, notCome)
  const { position } = await world.averba.figures()
  await isRefused({ knownAt: position + 1 }, { message, hint: `The log ends at ${position}` })
  expect((await standing(which, { knownAt: position })).reason).toBe('active')
})

test('a consent that expires on an impossible date is uncertain', async () => {
  const { play, end } = await givenStory('ATIVO', {}, 'expiring 2027-02-30T00:00:00Z')
  await play('is uncertain')
  await end()
})

test('a later expiry does not make a consent effective at a time when it was known as expired', async () => {
  const { world, which, play } = await givenStory('ATIVO', {}, 'expiring 2026-11-20T13:00:00Z')
  const until = (at: string) => `lists expiring ${at}, details expiring ${at}, list`
  await play(`2 h, mark expired, use expired, 1 h, ${until('2027-01-01T00:00:00Z')}, full, is active`)
  expect((await world.averba.consents.standing(which)).until).toBe('2027-01-01T00:00:00.000Z')
  await play('at expired expired, at 2026-11-20T12:59:59.999Z active, mark now, at now active')
  // An earlier expiry counts for every later question.
  await play(`${until('2026-11-20T14:30:00Z')}, at now expired`)
})

test('a use is recorded with purpose and legal basis, and replayed under its command id', async () => {
  const { world, which } = await given('ATIVO')
  const { consents } = world.averba
  const actor = { kind: 'system', ref: 'scoring' } as const
  const used = await consents.use(which, { basis, commandId: 'u1', actor })
  expect(used).toMatchObject({ effective: true, reason: 'active' })
  const [event] = await eventsOf(world, 'consent.used')
  expect(event).toMatchObject({ position: used.position, basis, actor: { ref: 'scoring' } })
  expect(used.replayed).toBe(false)
  expect(await consents.use(which, { basis, commandId: 'u1' })).toEqual({ ...used, replayed: true })
  expect(await eventsOf(world, 'consent.used')).toHaveLength(1)
  const other = { ...basis, purpose: 'marketing' }
  await refuses('COMMAND_REUSED', consents.use(which, { basis: other, commandId: 'u1' }))
  await refuses('INVALID_INPUT', consents.use(which))
})

test('repeating a use after a revocation records a refusal of its own', async () => {
  const { world, which, play } = await givenStory('ATIVO')
  const use = () => world.averba.consents.use({ ...which, ageMaxMs: 0 }, { basis, commandId: 'job-77' })
  const used = await use()
  await play('2 d, person REVOGADO')
  for (const count of [1, 2]) {
    const refused = (await use().catch(error => error)) as ConsentNotEffectiveError
    expect(refused).toMatchObject({
      code: 'CONSENT_NOT_EFFECTIVE',
      hint: `Do not use the data. The refusal is recorded. The earlier use under this command id stays recorded at ${used.position}`,
      standing: { effective: false, reason: 'revoked', replayed: false },
    })
    const refusals = await eventsOf(world, 'consent.useRefused')
    expect(refusals).toHaveLength(count)
    expect(refusals.at(-1)).toMatchObject({ position: refused.standing.position, basis })
  }
  expect(await eventsOf(world, 'consent.used')).toMatchObject([{ position: used.position }])
})

test('repeating a use reads the service only if the use was allowed', async () => {
  const { world, which } = await given('PENDENTE')
  const { averba, clock, consentService, samples, requests } = world
  const fresh = { ...which, ageMaxMs: minuteMs }
  const use = (purpose = basis.purpose) => averba.consents.use(fresh, { basis: { ...basis, purpose }, commandId: 'u1' })
  await expect(use()).rejects.toMatchObject({ standing: { reason: 'pending', replayed: false } })
  consentService.change(samples.cpf, which.id, 'ATIVO')
  await clock.advance(dayMs)
  const requestCount = requests.length
  await expect(use()).rejects.toMatchObject({ standing: { reason: 'pending', replayed: true } })
  await expect(use('marketing')).rejects.toMatchObject({ code: 'COMMAND_REUSED' })
  expect(requests.length).toBe(requestCount)
  const used = await averba.consents.use(fresh, { basis, commandId: 'u2' })
  await clock.advance(dayMs)
  const read = requests.length
  // The freshness is that of the repeated call.
  const readAt = new Date(clock.now()).toISOString()
  const again = await averba.consents.use(fresh, { basis, commandId: 'u2' })
  expect(again).toEqual({ ...used, readAt, replayed: true })
  expect(requests.length).toBe(read + 1)
})

test('a use without a basis gets the one in the options', async () => {
  const { world, which } = await given('ATIVO', undefined, { averba: { basis } })
  const { consents } = world.averba
  await consents.use(which)
  const own = { ...basis, purpose: 'another' }
  await consents.use(which, { basis: own })
  expect((await eventsOf(world, 'consent.used')).map(each => each.basis)).toEqual([basis, own])
})

test('a use of a consent that is not effective is refused, and the refusal is recorded', async () => {
  const { world, which } = await given('PENDENTE')
  const { consents } = world.averba
  const use = (id: string) => consents.use({ ...which, id }, { basis, commandId: `u-${id}` })
  const refused = (await use(which.id).catch(error => error)) as ConsentNotEffectiveError
  expect(refused).toBeInstanceOf(ConsentNotEffectiveError)
  expect(refused).toBeInstanceOf(AverbaError)
  expect(refused).toMatchObject({ code: 'CONSENT_NOT_EFFECTIVE', standing: { reason: 'pending' } })
  expect(refused.hint).toBe('Do not use the data. The refusal is recorded')
  const again = (await use(which.id).catch(error => error)) as ConsentNotEffectiveError
  expect(again.standing).toEqual({ ...refused.standing, replayed: true })
  expect(again.hint).toMatch(/another command id/)
  expect(await eventsOf(world, 'consent.useRefused')).toMatchObject([{ data: { reason: 'pending' }, basis }])
  const hint = expect.stringMatching(/consents\.sync.*check the id/)
  await expect(use('unknown')).rejects.toMatchObject({ standing: { reason: 'never-read' }, hint })
  expect(await eventsOf(world, 'subject.useRefused')).toMatchObject([{ basis, parts: [{ name: 'id' }] }])
  expect((await world.averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('no use is recorded after a revocation was requested, even concurrently', async () => {
  const { world, which } = await given('ATIVO')
  const { consents } = world.averba
  const uses = Array.from({ length: 30 }, () =>
    consents.use(which, { basis }).then(
      told => told.effective,
      () => false,
    ),
  )
  const [, ...told] = await Promise.all([consents.revoke(which), ...uses])
  const [asked] = await eventsOf(world, 'consent.changeRequested')
  const used = await eventsOf(world, 'consent.used')
  expect(used.every(event => event.position < (asked?.position ?? 0))).toBe(true)
  expect(used).toHaveLength(told.filter(Boolean).length)
  expect(used.length + (await eventsOf(world, 'consent.useRefused')).length).toBe(30)
})

/** Read while the clock was ten hours ahead. The clock is right again. */
const readAhead = 'clock +10 h, list, clock -10 h'

tell({
  'a consent just read from the service can be used, however far ahead the clock was':
    readAhead + ', 1 h, use within 5 min active'.repeat(9),
  'a consent is not effective while a revocation is under way or in doubt': `
    mark earlier, 1 min, mark asked, changes lost, lists lost, details lost, revoke unknown, is uncertain, use uncertain,
    lists now, details now, 1 h, settle, not made 1, is uncertain, at earlier active, as known at asked uncertain`,
  'a clock set back does not make a revoked consent effective':
    '1 min, revoke settled, clock -1 min, is revoked, use revoked',
  'after a clock was ahead, a list with another status counts at once': `
    ${clockWasAhead}, details lost, list, is revoked, mark now, at now revoked, at now as known at now revoked`,
  'a revocation dropped from the history still counts for the time when it was known': `
    mark began, copy, 1 h, mark revoked, person REVOGADO, 1 h, list, mark known, 1 h, mark refused, use revoked, 1 h,
    lists old, details old, list, is active, at revoked revoked, at known revoked, at known+1 revoked, at refused revoked,
    at began active`,
  'a use reads the service first when the last reading is too old': '2 min, person REVOGADO, use within 1 min revoked',
})

test('a reading dated ahead by a wrong clock is never fresh', async () => {
  const { world, which, play } = await givenStory('ATIVO')
  await play(`${readAhead}, person REVOGADO, 2 min, refuse`)
  const readAt = expect.any(String)
  const stale = { effective: false, reason: 'stale', readAt, position: expect.any(Number) }
  expect(await world.averba.consents.standing({ ...which, ageMaxMs: hourMs })).toEqual(stale)
  await play('use within 1 h stale, reach, 570 min, use within 1 h revoked')
})
