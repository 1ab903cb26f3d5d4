import { expect, test } from 'vitest'
import { readConsentHistory } from '../../../src/api/consents/consent-events.ts'
import { AverbaError, ConsentNotEffectiveError, type Events, valueOf } from '../../../src/index.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { isList } from '../../support/consent-requests.ts'
import { eventsOf } from '../../support/events-of.ts'
import { givenConsent, readConsent } from '../../support/given-consent.ts'
import { dayMs, hourMs, minuteMs } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'
import { basis, givenStory, tell } from './story.ts'

const instant = ({ clock }: { clock: { now(): number } }, ms = 0) => toInstant(clock.now() + ms)

const refusalOf = (using: Promise<unknown>): Promise<ConsentNotEffectiveError> =>
  using.then(
    () => expect.fail('It was not refused'),
    error => error,
  )

test('an ATIVO consent is effective until its expiry, with the reading behind it', async () => {
  const { world, clock, which, consent, averba } = await givenConsent('ATIVO')
  const { standing } = averba.consents
  const until = consent.dataExpiracao ?? ''
  const told = await standing(which)
  expect(told).toMatchObject({ effective: true, reason: 'active', readAt: instant(world), until })
  expect(told.position).toBeGreaterThan(1)
  await clock.advance(366 * dayMs)
  expect(await standing(which)).toMatchObject({ effective: false, reason: 'expired' })
  expect((await standing(which, { at: until })).reason).toBe('expired')
  expect((await standing(which, { at: toInstant(Date.parse(until) - 1) })).reason).toBe('active')
})

test("a revocation counts from the service's time, and earlier answers stay the same", async () => {
  const { averba, world, which, play } = await givenStory('ATIVO')
  await play('1 min, mark revoked, person REVOGADO, 1 min, mark between, is active') // No reading has shown it yet.
  const { position: knownAt } = await averba.figures()
  await play(`1 min, list, is revoked, at revoked revoked, at revoked-1 active, at between as known at between active,
    at 2026-01-01T00:00:00.000Z never-read`)
  expect((await averba.consents.standing(which, { at: instant(world, -minuteMs), knownAt })).reason).toBe('active')
})

test('a consent is effective from the time in its history once that was read', async () => {
  const world = await openWorld()
  const { standing, get } = world.averba.consents
  const at = instant(world)
  await world.clock.advance(minuteMs)
  const { which } = await readConsent(world)
  expect((await standing(which, { at })).reason).toBe('never-read')
  await get(which)
  expect((await standing(which, { at })).reason).toBe('active')
})

test('a reading that is too old is repeated, and if that fails the consent is stale', async () => {
  const { averba, world, which, play } = await givenStory('ATIVO')
  const fresh = { ...which, ageMaxMs: minuteMs }
  await play('2 min')
  expect(await averba.consents.standing(fresh)).toMatchObject({ effective: true, readAt: instant(world) })
  await play('2 min, lists lost')
  expect(await averba.consents.standing(fresh)).toMatchObject({ effective: false, reason: 'stale' })
  await play('is active')
})

test('a question about the past sends no request', async () => {
  const { averba, clock, requests, which, world } = await givenConsent('ATIVO')
  const before = instant(world)
  await clock.advance(dayMs)
  const sent = requests.length
  const reasonAt = async (asked: object) => (await averba.consents.standing({ ...which, ageMaxMs: 1 }, asked)).reason
  expect(await reasonAt({ at: before })).toBe('active')
  expect(await reasonAt({ knownAt: before })).toBe('active')
  expect(await reasonAt({ knownAt: instant(world) })).toBe('stale')
  expect(requests.length).toBe(sent)
})

test('a list with a record without id does not make any consent fresh', async () => {
  const { averba, requests, which, world, play } = await givenStory('ATIVO')
  const { consents, figures } = averba
  const readAt = instant(world)
  await consents.schedule({ subject: which.subject }, { syncEveryMs: 60 * minuteMs })
  await play('lists nameless, 2 min')
  const fresh = { ...which, ageMaxMs: minuteMs }
  const listed = async () =>
    new Set((await consents.list({ subject: which.subject, ageMaxMs: minuteMs })).map(each => each.readAt))
  expect((await consents.standing(fresh)).reason).toBe('stale')
  const sent = requests.length
  expect(await listed()).toEqual(new Set([readAt]))
  expect(requests.length).toBe(sent + 1)
  expect((await figures()).readings).toEqual({ newestAt: readAt, oldestAt: readAt })
  await play('lists now')
  expect(await listed()).toEqual(new Set([instant(world)]))
})

test('a consent that is not effective says why', async () => {
  const { averba, which } = await givenConsent('PENDENTE')
  const { deny, standing } = averba.consents
  expect((await standing(which)).reason).toBe('pending')
  valueOf(await deny(which))
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
  const { averba, which, world, play } = await givenStory('ATIVO')
  const { standing } = averba.consents
  await play(`${clockWasAhead}, list, 1 min, is revoked`)
  const plain = await standing(which)
  // Another machine, or a question from a moment ago, also means now.
  for (const ms of [0, -2_000, 2_000]) {
    const [at, knownAt] = [instant(world, ms), instant(world, ms)]
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
  expect((await refusalOf(averba.consents.use(fresh, { basis }))).standing.reason).toBe('stale')
  expect((await averba.consents.standing(fresh)).reason).toBe('stale')
})

test('an instant in the future or a position after the end of the log is refused', async () => {
  const { averba, which, world } = await givenConsent('ATIVO')
  const { standing } = averba.consents
  const [now, future, { position }] = [instant(world), instant(world, 2 * minuteMs), await averba.figures()]
  const isRefused = async (question: Parameters<typeof standing>[1], name: string, more = {}) => {
    const error = { message: `Cannot use "${name}": it is in the future`, ...more }
    await refuses('INVALID_INPUT', standing(which, question), error)
    await refuses('INVALID_INPUT', averba.audit.prove({ consent: which, at: now, ...question }), error)
  }
  await isRefused({ knownAt: future }, 'knownAt')
  await isRefused({ at: future }, 'at')
  await isRefused({ at: future, knownAt: now }, 'at')
  await isRefused({ knownAt: position + 1 }, 'knownAt', { hint: `The log ends at ${position}` })
  expect((await standing(which, { knownAt: position })).reason).toBe('active')
})

test('a consent that expires on an impossible date is uncertain', async () => {
  const { play } = await givenStory('ATIVO', {}, 'expiring 2027-02-30T00:00:00Z')
  await play('is uncertain')
})

test('a later expiry does not make a consent effective at a time when it was known as expired', async () => {
  const { averba, which, play } = await givenStory('ATIVO', {}, 'expiring 2026-11-20T13:00:00Z')
  const until = (at: string) => `lists expiring ${at}, details expiring ${at}, list`
  await play(`2 h, mark expired, use expired, 1 h, ${until('2027-01-01T00:00:00Z')}, full, is active`)
  expect((await averba.consents.standing(which)).until).toBe('2027-01-01T00:00:00.000Z')
  await play('at expired expired, at 2026-11-20T12:59:59.999Z active, mark now, at now active')
  // An earlier expiry counts for every later question.
  await play(`${until('2026-11-20T14:30:00Z')}, at now expired`)
})

test('a use is recorded with purpose and legal basis, its own or that of the options, and replayed under its command id', async () => {
  const { averba, which, world } = await givenConsent('ATIVO', undefined, { averba: { basis } })
  const { use } = averba.consents
  const own = { ...basis, purpose: 'marketing' }
  const used = await use(which, { basis: own, commandId: 'u1', actor: { kind: 'system', ref: 'scoring' } })
  expect(used).toMatchObject({ effective: true, reason: 'active', replayed: false })
  expect(await use(which, { basis: own, commandId: 'u1' })).toEqual({ ...used, replayed: true })
  await refuses('COMMAND_REUSED', use(which, { basis, commandId: 'u1' }))
  const { position } = await use(which)
  const events = await eventsOf(world, 'consent.used')
  expect(events).toMatchObject([{ position: used.position, actor: { ref: 'scoring' } }, { position }])
  expect(events.map(event => event.basis)).toEqual([own, basis])
})

test('repeating a use after a revocation records a refusal of its own', async () => {
  const { averba, which, world, play } = await givenStory('ATIVO')
  const use = () => averba.consents.use({ ...which, ageMaxMs: 0 }, { basis, commandId: 'job-77' })
  const used = await use()
  await play('2 d, person REVOGADO')
  for (const count of [1, 2]) {
    const refused = await refusalOf(use())
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
  const { averba, clock, consentService, samples, requests, which, world } = await givenConsent('PENDENTE')
  const use = (commandId: string, purpose = basis.purpose) =>
    averba.consents.use({ ...which, ageMaxMs: minuteMs }, { basis: { ...basis, purpose }, commandId })
  expect((await refusalOf(use('u1'))).standing).toMatchObject({ reason: 'pending', replayed: false })
  consentService.change(samples.cpf, which.id, 'ATIVO')
  await clock.advance(dayMs)
  const sent = requests.length
  expect((await refusalOf(use('u1'))).standing).toMatchObject({ reason: 'pending', replayed: true })
  await refuses('COMMAND_REUSED', use('u1', 'marketing'))
  expect(requests.length).toBe(sent)
  const used = await use('u2')
  await clock.advance(dayMs)
  const read = requests.length
  // The freshness is that of the repeated call.
  const readAt = instant(world)
  expect(await use('u2')).toEqual({ ...used, readAt, replayed: true })
  expect(requests.length).toBe(read + 1)
})

test('a use of a consent that is not effective is refused, and the refusal is recorded', async () => {
  const { averba, which, world } = await givenConsent('PENDENTE')
  const use = (id: string) => averba.consents.use({ ...which, id }, { basis, commandId: `u-${id}` })
  await refuses('INVALID_INPUT', averba.consents.use(which))
  const refused = await refusalOf(use(which.id))
  expect(refused).toBeInstanceOf(ConsentNotEffectiveError)
  expect(refused).toBeInstanceOf(AverbaError)
  expect(refused).toMatchObject({ code: 'CONSENT_NOT_EFFECTIVE', standing: { reason: 'pending' } })
  expect(refused.hint).toBe('Do not use the data. The refusal is recorded')
  const again = await refusalOf(use(which.id))
  expect(again.standing).toEqual({ ...refused.standing, replayed: true })
  expect(again.hint).toMatch(/another command id/)
  expect(await eventsOf(world, 'consent.useRefused')).toMatchObject([{ data: { reason: 'pending' }, basis }])
  const hint = expect.stringMatching(/consents\.sync.*check the id/)
  expect(await refusalOf(use('unknown'))).toMatchObject({ standing: { reason: 'never-read' }, hint })
  expect(await eventsOf(world, 'subject.useRefused')).toMatchObject([{ basis, parts: [{ name: 'id' }] }])
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('no use is recorded after a revocation was requested, even concurrently', async () => {
  const { averba, which, world } = await givenConsent('ATIVO')
  const uses = Array.from({ length: 30 }, () => averba.consents.use(which, { basis }))
  const [, ...told] = await Promise.allSettled([averba.consents.revoke(which), ...uses])
  const [asked] = await eventsOf(world, 'consent.changeRequested')
  const used = await eventsOf(world, 'consent.used')
  expect(used.every(event => event.position < (asked?.position ?? 0))).toBe(true)
  expect(used).toHaveLength(told.filter(({ status }) => status === 'fulfilled').length)
  expect(used.length + (await eventsOf(world, 'consent.useRefused')).length).toBe(30)
})

test('standing is answered without reading old uses twice', async () => {
  const path = temporaryStore()
  const { averba, which, world } = await givenConsent('ATIVO', undefined, { averba: { store: path } })
  const { consents } = averba
  for (let use = 0; use < 40; use++) await consents.use(which, { basis })
  valueOf(await consents.revoke(which))
  await expect(consents.use(which, { basis })).rejects.toThrow('revoked')
  await world.close()

  const store = await openStore<Events>({ path })
  let events = 0
  const reading: Parameters<typeof readConsentHistory>[0] = {
    lookUp: (...asked) => store.lookUp(...asked),
    lastVersion: stream => store.lastVersion(stream),
    async read(filter) {
      const page = await store.read(filter)
      events += page.length
      return page
    },
  }
  const look = (options?: Parameters<typeof readConsentHistory>[3]) =>
    readConsentHistory(reading, which.subject, which.id, options)
  await look()
  events = 0
  const history = await look()
  expect(events).toBeLessThan(3)
  const types = new Set(history.events.map(({ type }) => type))
  expect([...types]).toEqual(['consent.appeared', 'consent.changeRequested', 'consent.revoked'])
  expect(history.last?.type).toBe('consent.useRefused')
  expect((await look({ withUses: true })).events.length).toBeGreaterThan(40)
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
  const { averba, which, play } = await givenStory('ATIVO')
  await play(`${readAhead}, person REVOGADO, 2 min, refuse`)
  const readAt = expect.any(String)
  const stale = { effective: false, reason: 'stale', readAt, position: expect.any(Number) }
  expect(await averba.consents.standing({ ...which, ageMaxMs: hourMs })).toEqual(stale)
  await play('use within 1 h stale, reach, 570 min, use within 1 h revoked')
})
