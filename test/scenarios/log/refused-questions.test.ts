import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { serveReceivers } from '../../../src/index.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { refuses } from '../../support/refuses.ts'
import { openEngine, openWorld } from '../../support/world.ts'
import { basis } from '../consents/story.ts'

/** A value that its type forbids, as an untyped host may give it. */
const wrong = (value: unknown) => value as never

async function given() {
  const world = await openWorld()
  const subject = await world.averba.consents.enrol({ cpf: world.samples.cpf })
  await world.averba.consents.sync({ subject })
  return { ...world, subject }
}

const all = async <T>(list: () => AsyncIterable<T>) => Array.fromAsync(list())

const refused = { code: 'INVALID_INPUT', hint: expect.any(String) }

test('an invalid position, instant or view is refused instead of returning nothing', async () => {
  const { averba, clock } = await given()
  for (const after of [Number.NaN, Number.POSITIVE_INFINITY, -1, 1.5, 'x', '1', null])
    await expect(
      all(() => averba.log.read({ after: wrong(after) })),
      String(after),
    ).rejects.toMatchObject(refused)
  for (const position of [Number.NaN, -1, 1.5, '2', null])
    await expect(averba.viewAsOf('subjects', { position: wrong(position) })).rejects.toMatchObject(refused)
  expect((await all(() => averba.log.read({ after: 0 }))).length).toBeGreaterThan(3)
  expect(await averba.viewAsOf('subjects', { position: 0 })).toEqual([])
  const { position: end } = await averba.figures()
  const at = toInstant(clock.now())
  await clock.advance(1_000)
  await averba.consents.enrol({ cpf: '52998224725' })
  const found = [{ position: end }, { at }, { at: toInstant(clock.now()) }].map(asOf =>
    averba.viewAsOf('subjects', asOf),
  )
  expect((await Promise.all(found)).map(rows => rows.length)).toEqual([1, 1, 2])
  const hint = `The log ends at ${end + 1}`
  await refuses('INVALID_INPUT', averba.viewAsOf('subjects', { position: end + 2 }), { hint })
  await refuses('INVALID_INPUT', averba.viewAsOf(wrong('subject'), { position: end }))
  for (const asOf of [{}, { at: 'yesterday' }, { at: '2099-01-01T00:00:00.000Z' }])
    await expect(averba.viewAsOf('subjects', asOf)).rejects.toMatchObject(refused)
})

test('an unknown event type or state is refused', async () => {
  const { averba, lines } = await given()
  for (const types of ['subject.enrolled', ['consent.revokd'], [7], null])
    await expect(all(() => averba.log.read({ types: wrong(types) }))).rejects.toMatchObject(refused)
  expect(await all(() => averba.log.read({ types: ['consent.revoked'] }))).toEqual([])
  const hint = expect.stringMatching(/^It is one of: budget, .*consent, .*validation/)
  await expect(all(() => averba.log.read({ kind: 'consents' }))).rejects.toMatchObject({ ...refused, hint })
  expect(await all(() => averba.log.read({ kind: 'validation' }))).toEqual([])
  await expect(averba.effects.list({ state: wrong('opened') })).rejects.toMatchObject(refused)
  const state = wrong('done')
  await expect(all(() => averba.validations.list({ state }))).rejects.toMatchObject(refused)
  await expect(all(() => averba.notifications.list({ state }))).rejects.toMatchObject(refused)
  averba.log.follow('right', ['consent.revoked', 'log.resumed'], async () => {})
  averba.log.follow('mistyped', wrong(['consent.revokd']), async () => {})
  const message = 'a follower has an event type that this version does not record'
  const told = { message, follower: 'mistyped', detail: 'consent.revokd' }
  expect(lines.filter(line => line.follower !== undefined)).toMatchObject([told])
})

test('an unknown view and an unknown call are refused with a hint', async () => {
  const averba = await openEngine({ store: ':memory:' })
  const { views, effects } = averba
  await expect(views.selectFrom(wrong('nobodies')).selectAll().execute()).rejects.toMatchObject(refused)
  const writing: { deleteFrom(table: string): { execute(): Promise<unknown> } } = wrong(views)
  await expect(writing.deleteFrom('consents').execute()).rejects.toMatchObject(refused)
  // @ts-expect-error: the types have no statement that writes, not even within `with`.
  const hidden = views.with('gone', db => db.deleteFrom('consents').returning('consent')).selectFrom('gone')
  await expect(hidden.selectAll().execute()).rejects.toThrow()
  for (const text of ['select nothing from', 'select unknown_function(1)', 'select 1; select 2'])
    await expect(sql.raw(text).execute(wrong(views))).rejects.toMatchObject(refused)
  const several = views.with('all', db => db.selectFrom('consents').select('consent')).selectFrom('all')
  expect(await several.selectAll().execute()).toEqual([])
  const ending: { destroy(): Promise<void> } = wrong(views)
  await expect(ending.destroy()).rejects.toMatchObject(refused)
  expect(await views.selectFrom('consents').selectAll().execute()).toEqual([])
  for (const move of [effects.retry, effects.park])
    await expect(move('consent-x/1/0')).rejects.toMatchObject({ ...refused, code: 'NOT_FOUND' })
})

test('ageMaxMs must be a whole number in every method', async () => {
  const { averba, subject } = await given()
  const [{ id = '' } = {}] = await averba.consents.list({ subject })
  for (const given of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '0', null]) {
    const which = { subject, id, ageMaxMs: wrong(given) }
    const { consents, awareness, logins } = averba
    const calls = [
      () => consents.list(which),
      () => consents.get(which),
      () => consents.standing(which),
      () => consents.use(which, { basis: { purpose: 'p', legalBasis: 'b' } }),
      () => awareness.list(which),
      () => awareness.get(which),
      () => logins.state(which),
    ]
    for (const ask of calls) await expect(ask()).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  }
})

test('failure records of a day that the portal does not keep are refused', async () => {
  const { averba } = await given() // Its clock shows 2026-11-20.
  const hint = expect.stringContaining('2026-10-21 to 2026-11-20')
  for (const day of ['2020-01-01', '2026-10-19', '2026-11-22', '2027-01-01']) {
    await refuses('INVALID_INPUT', averba.subscriptions.failures({ day }), { hint })
    await refuses('INVALID_INPUT', averba.subscriptions.recover(day))
  }
  // A portal whose clock is a day off may date failures so.
  for (const day of ['2026-10-20', '2026-11-20', '2026-11-21'])
    expect(await averba.subscriptions.failures({ day })).toEqual([])
})

test('a misspelt option is refused instead of ignored', async () => {
  const { world, subject, consent } = await givenConsent('ATIVO')
  const { consents, validations, notifications, effects, log } = world.averba
  const { cpf } = world.samples
  const which = { subject, id: consent.id }
  const claims = { nome: 'MARIA' }
  const sent = world.requests.length
  const slips: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['ageMaxMS', () => consents.use(wrong({ ...which, ageMaxMS: 1_000 }), { basis })],
    ['ageMaxMs', () => consents.use(which, wrong({ ageMaxMs: 1_000, basis }))],
    ['ageMaxMS', () => consents.standing(wrong({ ...which, ageMaxMS: 1_000 }))],
    ['asOf', () => consents.standing(which, wrong({ asOf: '2026-11-20T12:00:00.000Z' }))],
    ['syncEveryMS', () => consents.enrol({ cpf }, wrong({ syncEveryMS: 60_000 }))],
    ['comandId', () => consents.revoke(which, wrong({ comandId: 'one' }))],
    ['waitMS', () => consents.sync({ subject }, wrong({ waitMS: 0 }))],
    ['timeout', async () => notifications.handle('e', 'erp', async () => undefined, wrong({ timeout: 1 }))],
    ['stat', () => Array.fromAsync(notifications.list(wrong({ stat: 'parked' })))],
    ['stat', () => Array.fromAsync(effects.list(wrong({ stat: 'open' })))],
    ['kinds', async () => Array.fromAsync(log.read(wrong({ kinds: 'consent' })))],
    ['reuseWithinMS', () => validations.validate(wrong({ id: 'v', cpf, claims, reuseWithinMS: 1 }))],
  ]
  for (const [name, slip] of slips) {
    const message = expect.stringContaining(`"${name}"`)
    await refuses('INVALID_INPUT', slip(), { message, hint: expect.stringMatching(/^Known (option|member)s: /) })
  }
  // Personal data in the place of a name is not repeated.
  await expect(consents.sync({ subject }, wrong({ 'MARIA DE EXEMPLO': 1 }))).rejects.toMatchObject({
    message: expect.not.stringContaining('MARIA'),
  })
  expect(world.requests).toHaveLength(sent)
})

test('a call without a person is refused', async () => {
  const { averba } = await openWorld()
  const { consents } = averba
  const expected = { code: 'INVALID_INPUT', message: expect.stringContaining('CPF and ref are missing') }
  for (const who of [undefined, null, '01kc1v7m4d000w3c5y2n8q6r9t', {}]) {
    await expect(consents.sync(wrong(who))).rejects.toMatchObject(expected)
    await expect(consents.list(wrong(who))).rejects.toMatchObject(expected)
  }
})

test.each([
  [{ receivers: { '/averba': { listener: () => undefined } } }, 'there is no certificate'],
  [{ receivers: { '/averba': {} }, certificate: { cert: '', key: '' } }, 'is not a receiver'],
])('a receiver that could not be reached is not served: %j', async (options, why) => {
  const message = expect.stringContaining(why)
  await expect(serveReceivers(wrong(options))).rejects.toMatchObject({ code: 'MISCONFIGURED', message })
})
