import { expect, onTestFinished, test } from 'vitest'
import { replayLog, verifyLog } from '../../../src/index.ts'
import { readConsent } from '../../support/given-consent.ts'
import { passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

/** A world that can delay the answers of one operation, and whose log is verified at the end of the test. */
async function holding(path: RegExp, method = 'GET') {
  const held = { isOn: false, left: Promise.withResolvers<void>(), let: Promise.withResolvers<void>() }
  const store = temporaryStore()
  const world = await openWorld({
    averba: { store },
    async intercept(request, forward) {
      const answer = await forward(request)
      if (held.isOn && request.method === method && path.test(new URL(request.url).pathname)) {
        held.left.resolve()
        await held.let.promise
      }
      return answer
    },
  })
  onTestFinished(async () => {
    await world.close()
    expect((await verifyLog({ store })).faults).toEqual([])
    expect((await replayLog({ store })).divergence).toBeUndefined()
  })
  return { ...world, held }
}

const eventsOf = (averba: Awaited<ReturnType<typeof holding>>['averba'], after = 0) =>
  Array.fromAsync(averba.log.read({ after }))

test('a list under way during an erasure is recorded as unexpected and brings back no personal data', async () => {
  const { averba, samples, held } = await holding(/consentimentos\/\d+$/)
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  held.isOn = true
  const syncing = averba.consents.sync({ subject })
  await held.left.promise
  const { destroyed } = await averba.subjects.erase({ subject }, asked)
  expect(destroyed.calls).toEqual([`subject-${subject}/2/0`])
  const before = (await eventsOf(averba)).length
  held.let.resolve()
  expect(await syncing).toMatchObject({ status: 'declined', problem: { code: 'SUBJECT_ERASED' } })
  const late = await eventsOf(averba, before)
  expect(late.map(({ type, data, parts, anomaly }) => ({ type, data, parts, anomaly }))).toEqual([
    {
      type: 'subject.unexpected',
      data: { fact: 'consentService.consentsListed', event: 'subject.synced' },
      parts: undefined,
      anomaly: 'its data subject was erased',
    },
  ])
  expect(await averba.views.selectFrom('consents').selectAll().execute()).toEqual([])
  expect(await averba.effects.get(`subject-${subject}/2/0`)).toMatchObject({ state: 'cancelled' })
})

test('a late answer to a change is recorded without parts and requests no call', async () => {
  const { averba, held, ...world } = await holding(/status/, 'PUT')
  const { subject, which } = await readConsent({ averba, ...world }, 'PENDENTE')
  held.isOn = true
  const approving = averba.consents.approve(which)
  await held.left.promise
  await averba.subjects.erase({ subject }, asked)
  const before = (await eventsOf(averba)).length
  held.let.resolve()
  // The service made the change.
  expect(await approving).toMatchObject({ status: 'unknown', next: 'person' })
  const late = await eventsOf(averba, before)
  expect(late.map(event => event.type)).toEqual(['consent.unexpected'])
  expect(late[0]).toMatchObject({ anomaly: 'its data subject was erased' })
  expect(late[0]).not.toHaveProperty('parts')
  const [row] = await averba.views.selectFrom('consents').selectAll().where('status', '=', 'PENDENTE').execute()
  expect(row?.knowledge).toBe('erased')
})

test('a late answer to a validation leaves no claims and no result', async () => {
  const { averba, samples, held } = await holding(/validate/, 'POST')
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  held.isOn = true
  const validating = averba.validations.validate({ id: 'p1', cpf: samples.cpf, claims: { nome: 'X' } })
  await held.left.promise
  await averba.subjects.erase({ subject }, asked)
  held.let.resolve()
  // It was paid.
  expect(await validating).toMatchObject({ status: 'unknown', next: 'person' })
  const answered = (await eventsOf(averba)).find(event => event.type === 'validation.answered')
  expect(answered).toMatchObject({ anomaly: 'it had ended before' })
  expect(answered).not.toHaveProperty('parts')
  await expect(averba.validations.get('p1')).rejects.toMatchObject({ code: 'PART_DESTROYED' })
  for await (const listed of averba.validations.list())
    expect(listed).toMatchObject({ id: 'p1', state: 'answered', fields: {}, isDestroyed: true })
})

test('of the calls that an erasure ends, sent ones are in doubt and unsent ones are declined', async () => {
  const held = { left: Promise.withResolvers<void>(), let: Promise.withResolvers<void>() }
  const statuses: (number | undefined)[] = []
  const { averba, samples } = await openWorld({
    async intercept(request, forward) {
      if (!request.url.includes('/validate/pf')) return forward(request)
      const status = statuses.shift()
      if (status !== undefined) return Response.json({}, { status, headers: { 'retry-after': '3600' } })
      held.left.resolve()
      await held.let.promise
      return forward(request)
    },
  })
  const ask = (id: string, more = {}) =>
    averba.validations.validate({ id, cpf: samples.cpf, claims: { nome: 'X' } }, more)
  const putOff = { status: 'deferred' }
  statuses.push(429, 503)
  expect(await ask('put off')).toMatchObject(putOff)
  expect(await ask('put off too')).toMatchObject(putOff)
  const away = ask('away')
  await held.left.promise
  await averba.subjects.erase({ cpf: samples.cpf }, asked)
  const again = (became: string) => ({
    code: 'SUBJECT_ERASED',
    message: expect.stringMatching(`again: its data subject was erased. ${became}$`),
  })
  // Also while the call is under way.
  await expect(ask('away', { waitMs: 0 })).rejects.toMatchObject(again('Its call was perhaps made'))
  await expect(ask('put off')).rejects.toMatchObject(again('Its call had no effect'))
  await expect(ask('put off too')).rejects.toMatchObject(again('Its call had no effect'))
  held.let.resolve()
  expect(await away).toMatchObject({ status: 'unknown', next: 'person' })
  await expect(ask('away')).rejects.toMatchObject(again('Its call was perhaps made'))
})

test('a notification about an erased person gets 2xx and belongs to a new subject', async () => {
  const world = await openWorld({ averba: { subscriptions: [{ evento: 'e', chaveSecreta: 'x'.repeat(20) }] } })
  const { averba } = world
  await averba.subscriptions.apply(await averba.subscriptions.plan())
  const person = { destinatarioTipo: 'CPF', destinatarioId: world.samples.cpf } as const
  const first = await world.portal.notify({ evento: 'e', ...person, body: { n: 1 } })
  expect(first).toMatchObject([{ isDelivered: true }])
  await averba.subjects.erase({ cpf: world.samples.cpf }, asked)
  const bodies = () =>
    Array.fromAsync(averba.notifications.list(), ({ body, recipient }) => ({ body, id: recipient?.id }))
  expect(await bodies()).toEqual([{ body: null, id: undefined }])
  // The same content is new, because no record of the first is left.
  expect(await world.portal.notify({ evento: 'e', ...person, body: { n: 1 } })).toMatchObject([{ isDelivered: true }])
  expect(await bodies()).toEqual([
    { body: null, id: undefined },
    { body: { n: 1 }, id: world.samples.cpf },
  ])
  const subjects = await averba.views.selectFrom('subjects').selectAll().orderBy('subject').execute()
  expect(subjects.map(row => row.erased_at !== null)).toEqual([true, false])
})

test('scheduled readings end with the person, and handlers are not called without content', async () => {
  const world = await openWorld({ averba: { subscriptions: [{ evento: 'e', chaveSecreta: 'x'.repeat(20) }] } })
  const { averba, clock, samples } = world
  await averba.subscriptions.apply(await averba.subscriptions.plan())
  const subject = await averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: 3_600_000 })
  await averba.settle()
  const person = { destinatarioTipo: 'CPF', destinatarioId: samples.cpf } as const
  await world.portal.notify({ evento: 'e', ...person, body: { n: 1 } })
  let calls = 0
  averba.notifications.handle('e', 'h', async () => {
    calls += 1
    throw new Error('not yet')
  })
  await averba.settle()
  expect(calls).toBe(1)
  await averba.subjects.erase({ subject }, asked)
  const before = [...world.consentService.requests]
  await passTime({ averba, clock }, 24 * 3_600_000)
  expect(calls).toBe(1)
  expect([...world.consentService.requests]).toEqual(before)
  const states = await Array.fromAsync(averba.notifications.list(), ({ state }) => state)
  expect(states).toEqual(['parked'])
  const pending = await Array.fromAsync(averba.effects.list({ state: 'pending' }))
  expect(pending).toMatchObject([{ type: 'keys.destroyEpochs', waiting: { for: 'time', actions: [] } }])
  // Released by a person, it would destroy the keys of backups that are still kept.
  await expect(averba.effects.park(pending[0]?.id ?? '')).rejects.toMatchObject({ code: 'REFUSED' })
})
