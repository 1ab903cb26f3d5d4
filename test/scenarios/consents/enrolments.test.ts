import { expect, test } from 'vitest'
import { cpfOf } from '../../support/cpf-of.ts'
import { hourMs } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { consentServiceWith, openWorld } from '../../support/world.ts'

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
  const enrolling = async () => {
    for await (const ref of world.averba.consents.enrolAll(people)) refs.push(ref)
  }
  await refuses('INVALID_CPF', enrolling())
  expect(await world.averba.views.selectFrom('subjects').selectAll().execute()).toHaveLength(2)
  expect(refs).toHaveLength(2)
  const personal = world.averba.consents.enrolAll([{ cpf: cpfOf(4) }], { correlationId: `import-${cpfOf(1)}` })
  await refuses('PERSONAL_ID', Array.fromAsync(personal))
})

test('the interval of readings is stored with the subject and can be changed', async () => {
  const { averba, samples } = await openWorld()
  const every = async () => (await averba.views.selectFrom('subjects').selectAll().execute())[0]?.sync_every_ms
  const enrol = (options?: { syncEveryMs: number }) => averba.consents.enrol({ cpf: samples.cpf }, options)
  await enrol()
  expect(await every()).toBeNull()
  await enrol({ syncEveryMs: hourMs })
  expect(await every()).toBe(hourMs)
  await enrol()
  await enrol({ syncEveryMs: hourMs })
  const scheduled = await Array.fromAsync(averba.log.read({ types: ['subject.scheduled'] }), event => event.data)
  expect(scheduled).toEqual([{ everyMs: hourMs }])
  await averba.settle()
  await enrol({ syncEveryMs: 2 * hourMs })
  await averba.settle()
  expect(await averba.effects.list({ state: 'pending' })).toHaveLength(1)
  for (const syncEveryMs of [0, 59_999, 90_000.5, Number.NaN]) await refuses('INVALID_INPUT', enrol({ syncEveryMs }))
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('the default interval applies only to subjects without one set or ended', async () => {
  const world = await openWorld({ averba: { consentService: consentServiceWith({ syncEveryMs: 24 * hourMs }) } })
  const { consents, validations } = world.averba
  const intervals = async () =>
    (await consents.syncPlan()).intervals.map(({ syncEveryMs, subjects }) => [syncEveryMs, subjects])
  const subject = await consents.enrol({ cpf: cpfOf(1) }, { syncEveryMs: hourMs })
  await consents.enrol({ cpf: cpfOf(1) })
  expect(await intervals()).toEqual([[hourMs, 1]])
  await consents.schedule({ subject }, { syncEveryMs: null })
  for await (const _ of consents.enrolAll([{ cpf: cpfOf(1) }])) expect(await intervals()).toEqual([])
  await consents.enrol({ cpf: cpfOf(1) }, { syncEveryMs: hourMs })
  expect(await intervals()).toEqual([[hourMs, 1]])
  // A person known from a validation has not been enrolled before.
  await validations.validate({ id: 'v1', cpf: cpfOf(2), claims: { nome: 'FULANO' } }, { waitMs: 0 })
  expect(await intervals()).toEqual([[hourMs, 1]])
  await consents.enrol({ cpf: cpfOf(2) })
  await consents.enrol({ cpf: cpfOf(3) })
  expect(await intervals()).toEqual([
    [hourMs, 1],
    [24 * hourMs, 2],
  ])
})

test('syncPlan computes how fresh consents can be kept, and logs when that is not enough', async () => {
  const lines: unknown[] = []
  const world = await openWorld()
  const consentService = consentServiceWith({ requestsPerSecond: 0.1 })
  const tight = await openWorld({ averba: { consentService, logger: line => void lines.push(line) } })
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
  expect(plan).toMatchObject({
    ok: false,
    requestsPerSecond: 0.1,
    intervals: [{ syncEveryMs: 100_000, subjects: 20, keptMs: 200_000 }],
  })
  expect(lines).toMatchObject([{ message: 'consents cannot be read as often as configured', detail: plan.detail }])
})
