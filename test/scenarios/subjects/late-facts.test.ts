import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Averba, valueOf, verifyLog } from '../../../src/index.ts'
import { busy, holdingAnswer } from '../../support/answers.ts'
import { isChange, isList } from '../../support/consent-requests.ts'
import { readConsent } from '../../support/given-consent.ts'
import { isValidation } from '../../support/open-validating.ts'
import { dayMs, hourMs, passTime } from '../../support/pass-time.ts'
import { applyPlan, inboxOf } from '../../support/portal.ts'
import { refuses } from '../../support/refuses.ts'
import { expectSound } from '../../support/sound-log.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

/** A world that holds back the first answer to such a request, and whose log is verified at the end of the test. */
async function holding(isOne: (request: Request) => boolean) {
  const { intercept, given, release } = holdingAnswer(isOne)
  const store = temporaryStore()
  const world = await openWorld({ averba: { store }, intercept })
  onTestFinished(async () => {
    await world.close()
    await expectSound(store)
  })
  return { ...world, given, release, store, world }
}

const eventsOf = ({ log }: Averba, after = 0) => Array.fromAsync(log.read({ after }))

test('a list under way during an erasure is recorded as unexpected and brings back no personal data', async () => {
  const { averba, samples, given, release } = await holding(isList)
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const syncing = averba.consents.sync({ subject })
  await given
  const { destroyed } = await averba.subjects.erase({ subject }, asked)
  expect(destroyed.calls).toEqual([`subject-${subject}/2/0`])
  const before = (await eventsOf(averba)).length
  release()
  expect(await syncing).toMatchObject({ status: 'declined', problem: { code: 'SUBJECT_ERASED' } })
  const late = await eventsOf(averba, before)
  expect(late).toMatchObject([{ type: 'subject.unexpected', anomaly: 'its data subject was erased' }])
  expect(late[0]?.data).toEqual({ fact: 'consentService.consentsListed', event: 'subject.synced' })
  expect(late[0]).not.toHaveProperty('parts')
  expect(await averba.views.selectFrom('consents').selectAll().execute()).toEqual([])
  expect(await averba.effects.get(`subject-${subject}/2/0`)).toMatchObject({ state: 'cancelled' })
})

test('a late answer to a validation leaves no claims and no result', async () => {
  const { averba, samples, given, release } = await holding(isValidation)
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const validating = averba.validations.validate({ id: 'p1', cpf: samples.cpf, claims: { nome: 'X' } })
  await given
  await averba.subjects.erase({ subject }, asked)
  release()
  // It was paid.
  expect(await validating).toMatchObject({ status: 'unknown', next: 'person' })
  const answered = (await eventsOf(averba)).find(event => event.type === 'validation.answered')
  expect(answered).toMatchObject({ anomaly: 'it had ended before' })
  expect(answered).not.toHaveProperty('parts')
  await refuses('PART_DESTROYED', averba.validations.get('p1'))
  for await (const listed of averba.validations.list())
    expect(listed).toMatchObject({ id: 'p1', state: 'answered', fields: {}, isDestroyed: true })
})

test('of the calls that an erasure ends, sent ones are in doubt and unsent ones are declined', async () => {
  const { intercept, given, release } = holdingAnswer(isValidation)
  const answers = [busy(3_600), busy(3_600, 503)]
  const { averba, samples } = await openWorld({
    intercept: async (...asked) => (isValidation(asked[0]) ? answers.shift() : undefined) ?? intercept(...asked),
  })
  const ask = (id: string, more = {}) =>
    averba.validations.validate({ id, cpf: samples.cpf, claims: { nome: 'X' } }, more)
  for (const id of ['put off', 'put off too']) expect(await ask(id)).toMatchObject({ status: 'deferred' })
  const away = ask('away')
  await given
  await averba.subjects.erase({ cpf: samples.cpf }, asked)
  const isRefused = (asking: Promise<unknown>, became: string) =>
    refuses('SUBJECT_ERASED', asking, {
      message: expect.stringMatching(`again: its data subject was erased. ${became}$`),
    })
  // Also while the call is under way.
  await isRefused(ask('away', { waitMs: 0 }), 'Its call was perhaps made')
  for (const id of ['put off', 'put off too']) await isRefused(ask(id), 'Its call had no effect')
  release()
  expect(await away).toMatchObject({ status: 'unknown', next: 'person' })
  await isRefused(ask('away'), 'Its call was perhaps made')
})

/** A world whose portal sends notifications about the sample person. */
async function notifying() {
  const world = await openWorld({ averba: { subscriptions: [{ evento: 'e', chaveSecreta: 'x'.repeat(20) }] } })
  await applyPlan(world.averba)
  const person = { destinatarioTipo: 'CPF', destinatarioId: world.samples.cpf } as const
  return { ...world, world, notify: () => world.portal.notify({ evento: 'e', ...person, body: { n: 1 } }) }
}

test('a notification about an erased person gets 2xx and belongs to a new subject', async () => {
  const { averba, notify, samples } = await notifying()
  expect(await notify()).toMatchObject([{ isDelivered: true }])
  await averba.subjects.erase({ cpf: samples.cpf }, asked)
  const bodies = async () => (await inboxOf(averba)).map(({ body, recipient }) => [body, recipient?.id])
  expect(await bodies()).toEqual([[null, undefined]])
  // The same content is new, because no record of the first is left.
  expect(await notify()).toMatchObject([{ isDelivered: true }])
  expect(await bodies()).toEqual([
    [null, undefined],
    [{ n: 1 }, samples.cpf],
  ])
  const subjects = await averba.views.selectFrom('subjects').selectAll().orderBy('subject').execute()
  expect(subjects.map(row => row.erased_at !== null)).toEqual([true, false])
})

test('scheduled readings end with the person, and handlers are not called without content', async () => {
  const { averba, consentService, notify, samples, world } = await notifying()
  const subject = await averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: hourMs })
  await averba.settle()
  await notify()
  let calls = 0
  averba.notifications.handle('e', 'h', async () => {
    calls += 1
    throw new Error('not yet')
  })
  await averba.settle()
  expect(calls).toBe(1)
  await averba.subjects.erase({ subject }, asked)
  const before = [...consentService.requests]
  await passTime(world, 24 * hourMs)
  expect(calls).toBe(1)
  expect([...consentService.requests]).toEqual(before)
  expect(await inboxOf(averba)).toMatchObject([{ state: 'parked' }])
  const pending = await averba.effects.list({ state: 'pending' })
  expect(pending).toMatchObject([{ type: 'keys.destroyEpochs', waiting: { for: 'time', actions: [] } }])
  // Released by a person, it would destroy the keys of backups that are still kept.
  await refuses('REFUSED', averba.effects.park(pending[0]?.id ?? ''))
})

test('a late answer to a change requests no call, and the log stays verifiable after it, kept parts and a second erasure', async () => {
  const { averba, given, release, samples, store, world } = await holding(isChange)
  const { subject, which } = await readConsent(world, 'PENDENTE')
  valueOf(await averba.validations.validate({ id: 'p1', cpf: samples.cpf, claims: { nome: 'X' } }))
  const approving = averba.consents.approve(which)
  await given
  const first = await averba.subjects.erase({ subject }, { ...asked, keep: ['validation.result'] })
  const before = (await eventsOf(averba)).length
  release()
  // The service made the change.
  expect(await approving).toMatchObject({ status: 'unknown', next: 'person' })
  const late = await eventsOf(averba, before)
  expect(late).toMatchObject([{ type: 'consent.unexpected', anomaly: 'its data subject was erased' }])
  expect(late[0]).not.toHaveProperty('parts')
  const [row] = await averba.views.selectFrom('consents').selectAll().where('status', '=', 'PENDENTE').execute()
  expect(row?.knowledge).toBe('erased')

  // The same person is enrolled again, and the log continues.
  const again = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject: again }))
  await world.clock.advance(60_000)
  const second = await averba.subjects.erase({ subject }, asked)
  expect(second.keeps).toEqual([])
  expect(first.keeps).toEqual(['validation.result'])
  await averba.subjects.erase({ subject: again }, asked)
  await passTime(world, 40 * dayMs)
  const last = await averba.consents.enrol({ cpf: samples.cpf })
  expect(new Set([subject, again, last]).size).toBe(3)

  const types = await Array.fromAsync(averba.log.read({ stream: `subject-${subject}` }), ({ type }) => type)
  expect(types.filter(type => type === 'subject.erased')).toHaveLength(2)
  const bundle = join(store, '..', 'bundle')
  await averba.audit.export(bundle)
  const [whole, exported] = [await verifyLog({ store }), await verifyLog({ store: bundle })]
  expect([whole.faults, exported.faults]).toEqual([[], []])
  expect(exported.erasedParts).toBeGreaterThan(6)
  expect(exported.erasedParts).toBe(whole.erasedParts)
})
