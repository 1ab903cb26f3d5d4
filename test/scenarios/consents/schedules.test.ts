import { expect, test } from 'vitest'
import { samples, type World } from '../../../src/simulation/index.ts'
import { holdingAnswer } from '../../support/answers.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { eventsOf } from '../../support/events-of.ts'
import { dayMs, hourMs } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { consentServiceWith, openWorld } from '../../support/world.ts'

const schedulesOf = (world: World) => eventsOf(world, 'subject.scheduled', 'subject.unscheduled')

test('an unchanged schedule, of an enrolment too, records no event; a wrong one, or one of no subject, is refused', async () => {
  const world = await openWorld()
  const { consents, effects, settle, views } = world.averba
  const every = async () => (await views.selectFrom('subjects').selectAll().execute())[0]?.sync_every_ms
  const enrol = (options?: { syncEveryMs: number }) => consents.enrol({ cpf: samples.cpf }, options)
  const subject = await enrol()
  expect(await every()).toBeNull()
  await enrol({ syncEveryMs: dayMs })
  await enrol()
  await enrol({ syncEveryMs: dayMs })
  await consents.schedule({ subject }, { syncEveryMs: dayMs })
  expect(await every()).toBe(dayMs)
  const ended: unknown[] = []
  world.averba.on('subject.unscheduled', event => ended.push(event.data))
  for (let times = 0; times < 2; times++) await consents.schedule({ subject }, { syncEveryMs: null })
  expect(ended).toEqual([{}])
  expect(await schedulesOf(world)).toHaveLength(2)
  for (const syncEveryMs of [hourMs, 2 * hourMs]) {
    await enrol({ syncEveryMs })
    await settle()
  }
  expect(await effects.list({ state: 'pending' })).toHaveLength(1)
  for (const syncEveryMs of [0, 59_999, 90_000.5, Number.NaN]) await refuses('INVALID_INPUT', enrol({ syncEveryMs }))
  await refuses('INVALID_INPUT', consents.schedule({ subject }, { syncEveryMs: 59_999 }))
  await refuses('NOT_FOUND', consents.schedule({ cpf: '11144477735' }, { syncEveryMs: null }))
})

test('a reading under way when its schedule ends is recorded and schedules no other', async () => {
  const { intercept, given, release } = holdingAnswer(() => true)
  const world = await openWorld({ intercept })
  const { consents, effects, settle } = world.averba
  const subject = await consents.enrol({ cpf: samples.cpf }, { syncEveryMs: dayMs })
  const settling = settle()
  await given
  await consents.schedule({ subject }, { syncEveryMs: null })
  release()
  await settling
  expect(await consents.list({ subject })).not.toEqual([])
  for (const state of ['pending', 'cancelled'] as const) expect(await effects.list({ state })).toEqual([])
})

test('enrolAll enrols in order with few commits, and repeating it records no event', async () => {
  const { averba } = await openWorld()
  const people = Array.from({ length: 500 }, (_, n) => ({ cpf: cpfOf(n + 1), syncEveryMs: hourMs }))
  async function* stream() {
    yield* people
  }
  const refs = await Array.fromAsync(averba.consents.enrolAll(stream(), { correlationId: 'import' }))
  expect(new Set(refs).size).toBe(500)
  expect(refs[7]).toBe(await averba.consents.enrol({ cpf: cpfOf(8) }))
  const rows = await averba.views.selectFrom('subjects').select('sync_every_ms').execute()
  expect(new Set(rows.map(row => row.sync_every_ms))).toEqual(new Set([hourMs]))
  const { position } = await averba.figures()
  const again = await Array.fromAsync(averba.consents.enrolAll([...people, ...people.slice(0, 1)]))
  expect(again).toEqual([...refs, refs[0]])
  expect((await averba.figures()).position).toBe(position)
})

test('a wrong entry stops enrolAll, and the people before it are enrolled', async () => {
  const world = await openWorld()
  const people = [{ cpf: cpfOf(1) }, { cpf: cpfOf(2) }, { cpf: '11111111111' }, { cpf: cpfOf(3) }]
  const refs: string[] = []
  const enrolling = Array.fromAsync(world.averba.consents.enrolAll(people), ref => refs.push(ref))
  await refuses('INVALID_CPF', enrolling)
  expect(await world.averba.views.selectFrom('subjects').selectAll().execute()).toHaveLength(2)
  expect(refs).toHaveLength(2)
  const personal = world.averba.consents.enrolAll([{ cpf: cpfOf(4) }], { correlationId: `import-${cpfOf(1)}` })
  await refuses('PERSONAL_ID', Array.fromAsync(personal))
})

test('the default interval applies only to subjects without one set or ended', async () => {
  const world = await openWorld({ averba: { consentService: consentServiceWith({ syncEveryMs: 24 * hourMs }) } })
  const { consents, validations } = world.averba
  const intervals = async () =>
    (await consents.syncPlan()).intervals.map(each => [each.syncEveryMs / hourMs, each.subjects])
  const subject = await consents.enrol({ cpf: cpfOf(1) }, { syncEveryMs: hourMs })
  await consents.enrol({ cpf: cpfOf(1) })
  expect(await intervals()).toEqual([[1, 1]])
  await consents.schedule({ subject }, { syncEveryMs: null })
  for await (const _ of consents.enrolAll([{ cpf: cpfOf(1) }])) expect(await intervals()).toEqual([])
  await consents.enrol({ cpf: cpfOf(1) }, { syncEveryMs: hourMs })
  expect(await intervals()).toEqual([[1, 1]])
  // A person known from a validation has not been enrolled before.
  await validations.validate({ id: 'v1', cpf: cpfOf(2), claims: { nome: 'FULANO' } }, { waitMs: 0 })
  expect(await intervals()).toEqual([[1, 1]])
  await consents.enrol({ cpf: cpfOf(2) })
  await consents.enrol({ cpf: cpfOf(3) })
  expect((await intervals()).join('; ')).toBe('1,1; 24,2')
})

test('syncPlan computes how fresh consents can be kept, and logs when that is not enough', async () => {
  const world = await openWorld()
  const consentService = consentServiceWith({ requestsPerSecond: 0.1 })
  const tight = await openWorld({ averba: { consentService } })
  const { lines } = tight
  for (const { averba } of [world, tight]) {
    for (let n = 0; n < 20; n++) await averba.consents.enrol({ cpf: cpfOf(n + 1) }, { syncEveryMs: 100_000 })
    await averba.consents.enrol({ cpf: cpfOf(99) })
  }
  expect(await world.averba.consents.syncPlan()).toMatchObject({ ok: true, subjects: 20, neededPerSecond: 0.2 })
  expect(lines).toEqual([])
  const detail = expect.stringContaining('2.0 times the configured interval')
  expect((await tight.averba.health({ only: ['consents'] })).checks).toMatchObject([{ ok: false, detail }])
  expect(lines).toEqual([])
  const plan = await tight.averba.consents.syncPlan()
  const intervals = [{ syncEveryMs: 100_000, subjects: 20, keptMs: 200_000 }]
  expect(plan).toMatchObject({ ok: false, requestsPerSecond: 0.1, intervals })
  expect(lines).toMatchObject([{ message: 'consents cannot be read as often as configured', detail: plan.detail }])
})

test('consents that are less fresh than configured are logged once a day', async () => {
  const world = await openWorld({
    averba: {
      schedules: true,
      consentService: consentServiceWith({ requestsPerSecond: 0.000_1 }),
      fetch: async () => new Response('', { status: 503 }),
    },
  })
  await world.averba.consents.enrol({ cpf: cpfOf(1) }, { syncEveryMs: hourMs })
  const told = async () => {
    await world.averba.settle()
    return world.lines.filter(line => JSON.stringify(line).includes('cannot be read as often as configured')).length
  }
  expect(await told()).toBe(1)
  expect(await told()).toBe(1)
  await world.clock.advance(dayMs)
  expect(await told()).toBe(2)
})
