import { expect, test } from 'vitest'
import { cpfOf } from '../../support/cpf-of.ts'
import { openWorld } from '../../support/world.ts'

const hourMs = 3_600_000
const service = { baseUrl: 'https://a.exemplo.br', certificate: { cert: '', key: '' } }

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
  let events = 0
  for await (const _ of averba.log.read()) events += 1
  for await (const ref of averba.consents.enrolAll([...people, people[0] ?? { cpf: '' }])) refs.push(ref)
  expect(refs.slice(500, 1_000)).toEqual(refs.slice(0, 500))
  for await (const _ of averba.log.read()) events -= 1
  expect(events).toBe(0)
})

test('a wrong entry stops enrolAll, and the people before it are enrolled', async () => {
  const world = await openWorld()
  const people = [{ cpf: cpfOf(1) }, { cpf: cpfOf(2) }, { cpf: '11111111111' }, { cpf: cpfOf(3) }]
  const refs: string[] = []
  const enrolling = async () => {
    for await (const ref of world.averba.consents.enrolAll(people)) refs.push(ref)
  }
  await expect(enrolling()).rejects.toMatchObject({ code: 'INVALID_CPF' })
  expect(await world.averba.views.selectFrom('subjects').selectAll().execute()).toHaveLength(2)
  expect(refs).toHaveLength(2)
  refs.length = 0
  const personal = async () => {
    const ask = { correlationId: `import-${cpfOf(1)}` }
    for await (const ref of world.averba.consents.enrolAll([{ cpf: cpfOf(4) }], ask)) refs.push(ref)
  }
  await expect(personal()).rejects.toMatchObject({ code: 'PERSONAL_ID' })
})

test('the interval of readings is stored with the subject and can be changed', async () => {
  const { averba, samples } = await openWorld()
  const every = async () => (await averba.views.selectFrom('subjects').selectAll().execute())[0]?.sync_every_ms
  await averba.consents.enrol({ cpf: samples.cpf })
  expect(await every()).toBeNull()
  await averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: hourMs })
  expect(await every()).toBe(hourMs)
  await averba.consents.enrol({ cpf: samples.cpf })
  await averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: hourMs })
  const scheduled = await Array.fromAsync(averba.log.read({ types: ['subject.scheduled'] }), event => event.data)
  expect(scheduled).toEqual([{ everyMs: hourMs }])
  await averba.settle()
  await averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: 2 * hourMs })
  await averba.settle()
  expect(await averba.effects.list({ state: 'pending' })).toHaveLength(1)
  for (const syncEveryMs of [0, 59_999, 90_000.5, Number.NaN]) {
    await expect(averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
  }
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('the default interval applies only to subjects without one set or ended', async () => {
  const consentService = { ...service, syncEveryMs: 24 * hourMs }
  const world = await openWorld({ averba: { consentService } })
  const { consents, validations } = world.averba
  const intervals = async () => {
    const { intervals: planned } = await consents.syncPlan()
    return planned.map(({ syncEveryMs, subjects }) => [syncEveryMs, subjects])
  }
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
  const consentService = { ...service, requestsPerSecond: 0.1 }
  const tight = await openWorld({ averba: { consentService, logger: line => void lines.push(line) } })
  for (const { averba } of [world, tight]) {
    for (let n = 0; n < 20; n++) await averba.consents.enrol({ cpf: cpfOf(n + 1) }, { syncEveryMs: 100_000 })
    await averba.consents.enrol({ cpf: cpfOf(99) })
  }
  expect(await world.averba.consents.syncPlan()).toMatchObject({
    ok: true,
    subjects: 20,
    neededPerSecond: 0.2,
  })
  expect(lines).toEqual([])
  const looked = (await tight.averba.health()).checks.find(check => check.name === 'consents')
  expect(looked).toMatchObject({
    ok: false,
    detail: expect.stringContaining('2.0 times the configured interval'),
  })
  expect(lines).toEqual([])
  const plan = await tight.averba.consents.syncPlan()
  expect(plan).toMatchObject({
    ok: false,
    requestsPerSecond: 0.1,
    intervals: [{ syncEveryMs: 100_000, subjects: 20, keptMs: 200_000 }],
  })
  expect(lines).toMatchObject([{ message: 'consents cannot be read as often as configured', detail: plan.detail }])
})
