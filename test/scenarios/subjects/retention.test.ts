import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type AverbaOptions, diagnoseStore, type SubjectRef, valueOf } from '../../../src/index.ts'
import type { World } from '../../../src/simulation/index.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { fillUp } from '../../support/fill-up.ts'
import { passTime } from '../../support/pass-time.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine, openWorld } from '../../support/world.ts'

const day = 86_400_000

async function worldWith(retention: AverbaOptions['retention'] & object) {
  const store = temporaryStore()
  const world = await openWorld({
    averba: {
      store,
      retention,
      schedules: true,
      subscriptions: [{ evento: 'e', chaveSecreta: 'x'.repeat(20) }],
    },
  })
  await world.averba.subscriptions.apply(await world.averba.subscriptions.plan())
  const destroyed = async () => {
    const found = await Array.fromAsync(world.averba.log.read({ types: ['retention.applied'] }), ({ data }) => data)
    return found as { kind: string; rule: string; parts: string[] }[]
  }
  const notify = (n: number) =>
    world.portal.notify({ evento: 'e', destinatarioTipo: 'CNPJ', destinatarioId: '12ABC34501DE35', body: { n } })
  return { ...world, world, store, destroyed, notify }
}

/** Reads a person with a consent in full. */
async function givenDetail({ averba, samples }: World) {
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  const [consent] = await averba.consents.list({ subject })
  const which = { subject, id: consent?.id ?? '' }
  await averba.consents.get(which)
  return which
}

test('parts are destroyed within a day of their time, with an event that names each', async () => {
  const { averba, clock, notify, store, destroyed, close } = await worldWith({ 'notification.body': { days: 30 } })
  await notify(1)
  const bodies = () => Array.fromAsync(averba.notifications.list(), ({ body }) => body)
  await averba.settle()
  await clock.advance(30 * day)
  await notify(2)
  await averba.settle()
  expect(await destroyed()).toEqual([])
  expect(await bodies()).toEqual([{ n: 1 }, { n: 2 }])
  await passTime({ averba, clock }, day)
  expect(await bodies()).toEqual([null, { n: 2 }])
  const [one, ...others] = await destroyed()
  expect(one).toMatchObject({
    kind: 'notification.body',
    rule: '30 days',
    parts: [expect.stringMatching(/^\d+\/body$/)],
  })
  expect(others).toEqual([])
  for (const { differences } of await averba.rebuild()) expect(differences).toBe(0)
  await close()
  expect(await diagnoseStore({ store, isDeep: true })).toMatchObject({
    problems: [],
    checked: { erasedParts: 1 },
  })
})

test.each(['the same process', 'the next one'])(
  '%s leaves no byte of destroyed parts in the file or beside it',
  async whose => {
    const { averba, clock, store, destroyed, world } = await worldWith({
      'validation.result': { days: 30 },
    })
    for (let n = 1; n <= 50; n++)
      valueOf(await averba.validations.validate({ id: `v${n}`, cpf: cpfOf(n), claims: { nome: 'Maria' } }))
    const sealed = useDatabase(store, file => file.column("select sealed from part where name = 'result'")) as Buffer[]
    const found = () => {
      const files = [store, `${store}-wal`].map(path => readFileSync(path))
      return sealed.filter(bytes => files.some(file => file.includes(bytes.subarray(-16)))).length
    }
    expect(found()).toBe(50)
    await clock.advance(31 * day)
    const reader = new Sqlite(store, { readOnly: true })
    reader.exec('begin; select count(*) from part')
    await averba.settle()
    expect((await destroyed())[0]?.parts).toHaveLength(50)
    // A running backup uses the journal.
    expect(found()).toBeGreaterThan(0)
    if (whose === 'the next one') await world.restart()
    reader.close()
    await passTime({ averba: world.averba, clock }, 60_000)
    expect(found()).toBe(0)
  },
)

test('claims and results stay until the validation is settled', async () => {
  let isLost = true
  const store = temporaryStore()
  const { averba, clock, samples } = await openWorld({
    averba: {
      store,
      schedules: true,
      retention: { 'validation.claims': 'until-settled', 'validation.result': 'until-settled' },
    },
    intercept: async (request, forward) => {
      if (isLost && request.url.includes('/validate/')) throw new TypeError('The connection was lost')
      return forward(request)
    },
  })
  await averba.validations.validate({ id: 'lost', cpf: samples.cpf, claims: { nome: 'X' } })
  isLost = false
  valueOf(await averba.validations.validate({ id: 'done', cpf: samples.cpf, claims: { nome: 'X' } }))
  await averba.settle()
  const partsOf = async () => (await diagnoseStore({ store, isDeep: true })).checked
  await expect(averba.validations.get('done')).rejects.toMatchObject({ code: 'PART_DESTROYED' })
  expect(await partsOf()).toMatchObject({ erasedParts: 2, faults: [] })
  // No part is left to return.
  const again = await averba.validations.validate({
    id: 'again',
    cpf: samples.cpf,
    claims: { nome: 'X' },
    reuseWithinMs: day,
  })
  expect(valueOf(again).reusedFrom).toBeUndefined()
  await averba.validations.resolve('lost', { charged: false })
  await passTime({ averba, clock }, day)
  expect(await partsOf()).toMatchObject({ erasedParts: 5, faults: [] })
})

test('the answer of a validation in doubt stays until it is resolved, however old it is', async () => {
  const { averba, clock } = await openWorld({
    averba: { schedules: true, retention: { 'validation.result': { days: 1 } } },
    intercept: async (request, forward) =>
      request.url.includes('/validate/pf') ? new Response('<html>protocolo 7</html>') : forward(request),
  })
  await averba.validations.validate({ id: 'a', cpf: cpfOf(1), claims: { nome: 'X' } })
  const pass = async () => {
    await passTime({ averba, clock }, 3 * day)
    return averba.validations.get('a')
  }
  expect(await pass()).toMatchObject({ state: 'inconclusive', unreadable: '<html>protocolo 7</html>' })
  await averba.validations.resolve('a', { charged: false })
  expect(await pass()).not.toHaveProperty('unreadable')
})

test('a destroyed answer is an error for a repeated request and never counts as a match', async () => {
  const world = await openWorld({
    averba: { schedules: true, retention: { 'validation.result': { days: 30 } } },
  })
  const { averba, clock, samples } = world
  const { validations } = averba
  const validate = (id: string, more = {}) =>
    validations.validate({ id, cpf: samples.cpf, claims: { nome: 'Outra Pessoa' }, ...more })
  const { fields } = valueOf(await validate('a'))
  expect(fields.nome?.result).toBe('mismatch')
  expect(valueOf(await validate('b', { reuseWithinMs: day })).reusedFrom).toBe('a')
  await passTime({ averba, clock }, 31 * day)
  const gone = { code: 'PART_DESTROYED' }
  for (const id of ['a', 'b']) {
    await expect(validations.get(id)).rejects.toMatchObject(gone)
    await expect(validate(id, id === 'b' ? { reuseWithinMs: day } : {})).rejects.toMatchObject(gone)
  }
  const listed = await Array.fromAsync(validations.list(), ({ id, state, fields, isDestroyed }) => {
    return { id, state, fields, isDestroyed }
  })
  const shown = { state: 'answered', fields: {}, isDestroyed: true }
  expect(listed).toEqual([
    { id: 'a', ...shown },
    { id: 'b', ...shown },
  ])
  for await (const event of averba.log.read({ types: ['validation.answered'] }))
    await expect(validations.of(event)).rejects.toMatchObject(gone)
  const asked = valueOf(await validate('c'))
  expect(asked.fields.nome?.result).toBe('mismatch')
  expect(asked).not.toHaveProperty('isDestroyed')
  expect(world.validationService.answered).toBe(2)
})

test('parts stay until each reason of their hold is released, and unhandled notifications stay too', async () => {
  const { averba, clock, notify, world, destroyed } = await worldWith({
    'notification.body': { days: 0 },
    'consent.detail': { days: 0 },
  })
  const which = await givenDetail(world)
  const { subject } = which
  for (const reason of ['processo A', 'processo B', 'processo B']) await averba.subjects.hold({ subject }, reason)
  expect(await Array.fromAsync(averba.log.read({ types: ['subject.held'] }))).toHaveLength(2)
  let isReady = false
  averba.notifications.handle('e', 'h', async () => {
    if (!isReady) throw new Error('not yet')
  })
  await notify(1)
  await averba.settle()
  await passTime({ averba, clock }, day)
  expect(await destroyed()).toEqual([])
  isReady = true
  await averba.subjects.release({ subject }, 'processo B')
  await expect(averba.subjects.release({ subject }, 'processo B')).rejects.toMatchObject({
    code: 'NOT_FOUND',
    hint: expect.stringContaining('subject.held'),
  })
  await passTime({ averba, clock }, day, 2)
  expect((await destroyed()).map(each => each.kind)).toEqual(['notification.body'])
  await averba.subjects.release({ subject }, 'processo A')
  await passTime({ averba, clock }, day)
  expect((await destroyed()).map(each => [each.kind, each.parts.length])).toEqual([
    ['notification.body', 1],
    ['consent.detail', 1],
  ])
  // A destroyed detail is read again on request.
  expect(await averba.consents.get(which)).toMatchObject({ id: which.id, historico: expect.any(Array) })
})

test('a hold counts once it resolves, even while retention is running', async () => {
  const { averba, clock, consentService, destroyed } = await worldWith({
    'consent.detail': { days: 1 },
  })
  const people: SubjectRef[] = []
  for (let i = 1; i <= 10; i++) {
    const cpf = cpfOf(i)
    const id = consentService.addConsent({ cpf, status: 'ATIVO' })
    const subject = await averba.consents.enrol({ cpf })
    valueOf(await averba.consents.sync({ subject }))
    await averba.consents.get({ subject, id })
    people.push(subject)
  }
  const [first] = people
  if (!first) throw new Error('There is no subject')
  await clock.advance(2 * day)
  await Promise.all([averba.settle(), averba.subjects.hold({ subject: first }, 'processo 0001')])
  const held: string[] = []
  for await (const { position, parts } of averba.log.read({ types: ['consent.described'] }))
    if (parts?.some(({ owner }) => owner === `subject-${first}`)) held.push(`${position}/detail`)
  const gone = (await destroyed()).flatMap(each => each.parts)
  expect(held).toHaveLength(1)
  expect(gone).toHaveLength(people.length - 1)
  expect(gone).not.toContain(held[0])
})

test('kept parts of an erased person are held and released by ref, whatever was held before', async () => {
  const { averba, clock, samples, destroyed } = await worldWith({ 'validation.result': { days: 30 } })
  const { cpf } = samples
  valueOf(await averba.validations.validate({ id: 'v', cpf, claims: { nome: 'Maria' } }))
  const subject = await averba.consents.enrol({ cpf })
  await averba.subjects.hold({ subject }, 'processo A')
  const asked = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }
  await averba.subjects.erase({ subject }, { ...asked, keep: ['validation.result'] })
  await averba.subjects.hold({ subject }, 'processo B')
  await averba.subjects.release({ subject }, 'processo A')
  await passTime({ averba, clock }, 40 * day)
  expect(await destroyed()).toEqual([])
  await averba.subjects.release({ subject }, 'processo B')
  await passTime({ averba, clock }, day)
  expect(await destroyed()).toHaveLength(1)
  await averba.subjects.erase({ subject }, asked)
  await expect(averba.subjects.hold({ subject }, 'processo C')).rejects.toMatchObject({
    code: 'SUBJECT_ERASED',
  })
})

test.each([
  ['by time', { days: 1 }],
  ['once it is settled', 'until-settled'],
] as const)('parts stay that a stopped process has not handled yet: %s', async (_, rule) => {
  const { averba, clock, notify, store, destroyed } = await worldWith({ 'notification.body': rule })
  const called: string[] = []
  averba.notifications.handle('e', 'here', async ({ body }) => void called.push(`here ${JSON.stringify(body)}`))
  const workThere = async () => {
    const other = await openEngine({ store, clock, schedules: false })
    other.notifications.handle('e', 'there', async ({ body }) => {
      called.push(`there ${JSON.stringify(body)}`)
    })
    await other.settle()
    await other.close()
  }
  await notify(1)
  await averba.settle()
  await workThere()
  await notify(2)
  await averba.settle()
  await passTime({ averba, clock }, 2 * day)
  await workThere()
  expect(called).toEqual(['here {"n":1}', 'there {"n":1}', 'here {"n":2}', 'there {"n":2}'])
  await passTime({ averba, clock }, day)
  expect((await destroyed()).flatMap(each => each.parts)).toHaveLength(2)
})

test('a process that was down longer than the retention days calls its handlers first', async () => {
  const { averba, clock, notify } = await worldWith({ 'notification.body': { days: 1 } })
  const called: unknown[] = []
  averba.notifications.handle('e', 'h', async ({ body }) => void called.push(body))
  await averba.settle()
  await notify(1)
  await passTime({ averba, clock }, 2 * day)
  expect(called).toEqual([{ n: 1 }])
})

test('without schedules nothing is destroyed, and the start logs that rules are set', async () => {
  const rules = { 'validation.claims': { days: 1 } } as const
  for (const { retention, schedules } of [
    { retention: rules, schedules: false },
    { retention: rules, schedules: true },
    { retention: {}, schedules: false },
  ]) {
    const messages: string[] = []
    const logger = ({ message }: { message: string }) => messages.push(message)
    const { averba, clock, samples, close } = await openWorld({ averba: { retention, schedules, logger } })
    const linesExpected = schedules || Object.keys(retention).length === 0 ? 0 : 1
    expect(messages.filter(message => message.startsWith('retention is set but schedules are off'))).toHaveLength(
      linesExpected,
    )
    valueOf(await averba.validations.validate({ id: 'a', cpf: samples.cpf, claims: { nome: 'MARIA' } }))
    await passTime({ averba, clock }, 3 * day)
    const applied = await Array.fromAsync(averba.log.read({ types: ['retention.applied'] }))
    expect(applied.length > 0).toBe(schedules && linesExpected === 0)
    await close()
  }
})

test('after a full disk at the daily run, retention is repeated within minutes', async () => {
  const { averba, clock, samples, fillDisk, destroyed, world } = await worldWith({
    'validation.claims': 'until-settled',
  })
  valueOf(await averba.validations.validate({ id: 'v', cpf: samples.cpf, claims: { nome: 'Maria' } }))
  await fillDisk(true)
  await fillUp(world)
  await expect(averba.settle()).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
  await fillDisk(false)
  await passTime({ averba, clock }, 60_000)
  expect(await destroyed()).toHaveLength(1)
})
