import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { Decisions } from '../../../src/engine/recording/decisions.ts'
import { type AverbaOptions, diagnoseStore, valueOf } from '../../../src/index.ts'
import type { WorldOptions } from '../../../src/simulation/index.ts'
import { Owners } from '../../../src/store/owners/owners.ts'
import { answering } from '../../support/answers.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { eventsOf } from '../../support/events-of.ts'
import { fillUp } from '../../support/fill-up.ts'
import { readConsent } from '../../support/given-consent.ts'
import { isValidation } from '../../support/open-validating.ts'
import { dayMs, passTime } from '../../support/pass-time.ts'
import { applyPlan, deliver, inboxOf } from '../../support/portal.ts'
import { refuses } from '../../support/refuses.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine, openWorld } from '../../support/world.ts'

/** A world with these rules, and what its tests do with it. */
async function worldWith(retention: AverbaOptions['retention'] & object, options: WorldOptions = {}) {
  const store = temporaryStore()
  const subscriptions = [{ evento: 'e', chaveSecreta: 'x'.repeat(20) }]
  const world = await openWorld({ ...options, averba: { store, retention, schedules: true, subscriptions } })
  const { averba, samples } = world
  await applyPlan(averba)
  return {
    ...{ ...world, world, store },
    destroyed: async () => (await eventsOf(world, 'retention.applied')).map(({ data }) => data),
    notify: (n: number) => deliver(world, { n }, 'e'),
    pass: (days: number) => passTime(world, days * dayMs),
    validate: (id: string, more = {}) =>
      averba.validations.validate({ id, cpf: samples.cpf, claims: { nome: 'X' }, ...more }),
  }
}

test('parts are destroyed within a day of their time, with an event that names each', async () => {
  const { averba, clock, notify, pass, store, destroyed, close } = await worldWith({
    'notification.body': { days: 30 },
  })
  await notify(1)
  const bodies = async () => (await inboxOf(averba)).map(({ body }) => body)
  await averba.settle()
  await clock.advance(30 * dayMs)
  await notify(2)
  await averba.settle()
  expect(await destroyed()).toEqual([])
  expect(await bodies()).toEqual([{ n: 1 }, { n: 2 }])
  await pass(1)
  expect(await bodies()).toEqual([null, { n: 2 }])
  const parts = [expect.stringMatching(/^\d+\/body$/)]
  expect(await destroyed()).toMatchObject([{ kind: 'notification.body', rule: '30 days', parts }])
  for (const { differences } of await averba.rebuild()) expect(differences).toBe(0)
  await close()
  expect(await diagnoseStore({ store, isDeep: true })).toMatchObject({ problems: [], checked: { erasedParts: 1 } })
})

const processes = ['the same process', 'the next one']
test.each(processes)('%s leaves no byte of destroyed parts in the file or beside it', async whose => {
  const { averba, clock, store, destroyed, validate, world } = await worldWith({ 'validation.result': { days: 30 } })
  for (let n = 1; n <= 20; n++) valueOf(await validate(`v${n}`, { cpf: cpfOf(n) }))
  const sealed = useDatabase(store, file => file.column("select sealed from part where name = 'result'")) as Buffer[]
  const found = () => {
    const files = [store, `${store}-wal`].map(path => readFileSync(path))
    return sealed.filter(bytes => files.some(file => file.includes(bytes.subarray(-16)))).length
  }
  expect(found()).toBe(20)
  await clock.advance(31 * dayMs)
  const reader = new Sqlite(store, { readOnly: true })
  reader.exec('begin; select count(*) from part')
  await averba.settle()
  expect((await destroyed())[0]?.parts).toHaveLength(20)
  // A running backup uses the journal.
  expect(found()).toBeGreaterThan(0)
  if (whose === 'the next one') await world.restart()
  reader.close()
  await passTime({ averba: world.averba, clock }, 60_000)
  expect(found()).toBe(0)
})

test('claims and results stay until the validation is settled', async () => {
  const rules = { 'validation.claims': 'until-settled', 'validation.result': 'until-settled' } as const
  const { averba, faults, pass, store, validate } = await worldWith(rules)
  await faults.add({ kind: 'lose', service: 'validationService', times: 1 })
  await validate('lost')
  valueOf(await validate('done'))
  await averba.settle()
  const partsOf = async () => (await diagnoseStore({ store, isDeep: true })).checked
  await refuses('PART_DESTROYED', averba.validations.get('done'))
  expect(await partsOf()).toMatchObject({ erasedParts: 2, faults: [] })
  // No part is left to return.
  expect(valueOf(await validate('again', { reuseWithinMs: dayMs })).reusedFrom).toBeUndefined()
  await averba.validations.resolve('lost', { charged: false })
  await pass(1)
  expect(await partsOf()).toMatchObject({ erasedParts: 5, faults: [] })
})

test('the answer of a validation in doubt stays until it is resolved, however old it is', async () => {
  const unreadable = '<html>protocolo 7</html>'
  const intercept = answering(isValidation, () => new Response(unreadable))
  const { averba, pass, validate } = await worldWith({ 'validation.result': { days: 1 } }, { intercept })
  await validate('a')
  await pass(3)
  expect(await averba.validations.get('a')).toMatchObject({ state: 'inconclusive', unreadable })
  await averba.validations.resolve('a', { charged: false })
  await pass(3)
  expect(await averba.validations.get('a')).not.toHaveProperty('unreadable')
})

test('a destroyed answer is an error for a repeated request and never counts as a match', async () => {
  const { averba, pass, validate, validationService, world } = await worldWith({ 'validation.result': { days: 30 } })
  const { validations } = averba
  const { fields } = valueOf(await validate('a'))
  expect(fields.nome?.result).toBe('mismatch')
  expect(valueOf(await validate('b', { reuseWithinMs: dayMs })).reusedFrom).toBe('a')
  await pass(31)
  for (const id of ['a', 'b']) {
    await refuses('PART_DESTROYED', validations.get(id))
    await refuses('PART_DESTROYED', validate(id, id === 'b' ? { reuseWithinMs: dayMs } : {}))
  }
  const listed = await Array.fromAsync(validations.list(), each => [each.id, each.state, each.fields, each.isDestroyed])
  expect(listed).toEqual(['a', 'b'].map(id => [id, 'answered', {}, true]))
  const answered = await eventsOf(world, 'validation.answered')
  expect(answered.length).toBeGreaterThan(0)
  for (const event of answered) await refuses('PART_DESTROYED', validations.of(event))
  const asked = valueOf(await validate('c'))
  expect(asked.fields.nome?.result).toBe('mismatch')
  expect(asked).not.toHaveProperty('isDestroyed')
  expect(validationService.answered).toBe(2)
})

test('parts stay until each reason of their hold is released, and unhandled notifications stay too', async () => {
  const rules = { 'notification.body': { days: 0 }, 'consent.detail': { days: 0 } }
  const { averba, notify, pass, world, destroyed } = await worldWith(rules)
  const { subject, which } = await readConsent(world)
  await averba.consents.get(which)
  for (const reason of ['processo A', 'processo B', 'processo B']) await averba.subjects.hold({ subject }, reason)
  expect(await eventsOf(world, 'subject.held')).toHaveLength(2)
  let isReady = false
  averba.notifications.handle('e', 'h', async () => {
    if (!isReady) throw new Error('not yet')
  })
  await notify(1)
  await averba.settle()
  await pass(1)
  expect(await destroyed()).toEqual([])
  isReady = true
  await averba.subjects.release({ subject }, 'processo B')
  const hint = expect.stringContaining('subject.held')
  await refuses('NOT_FOUND', averba.subjects.release({ subject }, 'processo B'), { hint })
  await pass(1)
  await pass(1)
  expect((await destroyed()).map(each => each.kind)).toEqual(['notification.body'])
  await averba.subjects.release({ subject }, 'processo A')
  await pass(1)
  expect((await destroyed()).map(each => [each.kind, each.parts.length])).toEqual([
    ['notification.body', 1],
    ['consent.detail', 1],
  ])
  // A destroyed detail is read again on request.
  expect(await averba.consents.get(which)).toMatchObject({ id: which.id, historico: expect.any(Array) })
})

test('the body of a notification stays that is replayed, also while retention is running', async () => {
  const { averba, notify, pass, destroyed } = await worldWith({ 'notification.body': { days: 1 } })
  const called: unknown[] = []
  averba.notifications.handle('e', 'h', async ({ body }) => void called.push(body))
  await notify(1)
  await averba.settle()
  const [{ id } = { id: '' }] = await inboxOf(averba)
  const { existingParts } = Owners.prototype
  const replaying = vi.spyOn(Owners.prototype, 'existingParts').mockImplementationOnce(async function (
    this: Owners,
    ...given
  ) {
    expect(await averba.notifications.replay({ id })).toBe(1)
    return existingParts.apply(this, given)
  })
  await pass(2)
  replaying.mockRestore()
  await averba.settle()
  expect(called).toEqual([{ n: 1 }, { n: 1 }])
  const { decide } = Decisions.prototype
  const destroying = vi.spyOn(Decisions.prototype, 'decide').mockImplementationOnce(async function (
    this: Decisions,
    ...given
  ) {
    await pass(2)
    return decide.apply(this, given)
  })
  await refuses('PART_DESTROYED', averba.notifications.replay({ id }))
  destroying.mockRestore()
  expect(await destroyed()).toHaveLength(1)
  await averba.settle()
  expect(await inboxOf(averba)).toMatchObject([{ state: 'handled', body: null }])
  await refuses('PART_DESTROYED', averba.notifications.replay({ id }))
})

test('a hold counts once it resolves, even while retention is running', async () => {
  const { averba, clock, consentService, destroyed, world } = await worldWith({ 'consent.detail': { days: 1 } })
  const cpfs = Array.from({ length: 10 }, (_, i) => cpfOf(i + 1))
  for (const cpf of cpfs) {
    const id = consentService.addConsent({ cpf, status: 'ATIVO' })
    await averba.consents.enrol({ cpf })
    valueOf(await averba.consents.sync({ cpf }))
    await averba.consents.get({ cpf, id })
  }
  await clock.advance(2 * dayMs)
  await Promise.all([averba.settle(), averba.subjects.hold({ cpf: cpfOf(1) }, 'processo 0001')])
  // The persons' details were read in their order.
  const [, ...others] = await eventsOf(world, 'consent.described')
  expect((await destroyed()).flatMap(each => each.parts).sort()).toEqual(
    others.map(({ position }) => `${position}/detail`).sort(),
  )
  expect(others).toHaveLength(9)
})

test('kept parts of an erased person are held and released by ref, whatever was held before', async () => {
  const { averba, pass, samples, destroyed, validate } = await worldWith({ 'validation.result': { days: 30 } })
  valueOf(await validate('v'))
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.subjects.hold({ subject }, 'processo A')
  const asked = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }
  await averba.subjects.erase({ subject }, { ...asked, keep: ['validation.result'] })
  await averba.subjects.hold({ subject }, 'processo B')
  await averba.subjects.release({ subject }, 'processo A')
  await pass(40)
  expect(await destroyed()).toEqual([])
  await averba.subjects.release({ subject }, 'processo B')
  await pass(1)
  expect(await destroyed()).toHaveLength(1)
  await averba.subjects.erase({ subject }, asked)
  await refuses('SUBJECT_ERASED', averba.subjects.hold({ subject }, 'processo C'))
})

test.each([
  ['by time', { days: 1 }],
  ['once it is settled', 'until-settled'],
] as const)('parts stay that a stopped process has not handled yet: %s', async (_, rule) => {
  const { averba, clock, notify, pass, store, destroyed } = await worldWith({ 'notification.body': rule })
  const called: string[] = []
  averba.notifications.handle('e', 'here', async ({ body }) => void called.push(`here ${JSON.stringify(body)}`))
  const workThere = async () => {
    const other = await openEngine({ store, clock, schedules: false })
    other.notifications.handle('e', 'there', async ({ body }) => void called.push(`there ${JSON.stringify(body)}`))
    await other.settle()
    await other.close()
  }
  await notify(1)
  await averba.settle()
  await workThere()
  await notify(2)
  await averba.settle()
  await pass(2)
  await workThere()
  expect(called).toEqual(['here {"n":1}', 'there {"n":1}', 'here {"n":2}', 'there {"n":2}'])
  await pass(1)
  expect((await destroyed()).flatMap(each => each.parts)).toHaveLength(2)
})

test('a process that was down longer than the retention days calls its handlers first', async () => {
  const { averba, notify, pass } = await worldWith({ 'notification.body': { days: 1 } })
  const called: unknown[] = []
  averba.notifications.handle('e', 'h', async ({ body }) => void called.push(body))
  await averba.settle()
  await notify(1)
  await pass(2)
  expect(called).toEqual([{ n: 1 }])
})

test('without schedules nothing is destroyed, and the start logs that rules are set', async () => {
  const rules = { 'validation.claims': { days: 1 } } as const
  for (const { retention, schedules } of [
    { retention: rules, schedules: false },
    { retention: rules, schedules: true },
    { retention: {}, schedules: false },
  ]) {
    const { averba, clock, samples, close, lines } = await openWorld({ averba: { retention, schedules } })
    const told = lines.filter(({ message }) => message.startsWith('retention is set but schedules are off'))
    expect(told).toHaveLength(retention === rules && !schedules ? 1 : 0)
    valueOf(await averba.validations.validate({ id: 'a', cpf: samples.cpf, claims: { nome: 'MARIA' } }))
    await passTime({ averba, clock }, 3 * dayMs)
    expect((await eventsOf({ averba }, 'retention.applied')).length > 0).toBe(schedules)
    await close()
  }
})

test('after a full disk at the daily run, retention is repeated within minutes', async () => {
  const { averba, fillDisk, destroyed, validate, world } = await worldWith({ 'validation.claims': 'until-settled' })
  valueOf(await validate('v'))
  await fillDisk(true)
  await fillUp(world)
  await refuses('STORE_UNSAFE', averba.settle())
  await fillDisk(false)
  await passTime(world, 60_000)
  expect(await destroyed()).toHaveLength(1)
})
