import { expect, test } from 'vitest'
import { type Averba, backupStore, restoreStore } from '../../../src/index.ts'
import type { WorldOptions } from '../../../src/simulation/index.ts'
import { answering, busy, holdingAnswer } from '../../support/answers.ts'
import { eventsOf } from '../../support/events-of.ts'
import { readConsent } from '../../support/given-consent.ts'
import { isToken, isValidation, openValidating, validate } from '../../support/open-validating.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const operator = { actor: { kind: 'person', ref: 'operadora-7' } } as const

/** A world whose services postpone every call by an hour while they are down. */
async function givenServicesThatGoDown(options: WorldOptions = {}) {
  const service = { isDown: false }
  const isCut = (request: Request) => service.isDown && !isToken(request)
  const world = await openWorld({ ...options, intercept: answering(isCut, () => busy(3_600)) })
  return { world, service }
}

const waitingOf = async ({ effects }: Averba, id: string) => (await effects.get(id))?.waiting

test('a validation that was not sent can be given up: it is never sent, and its id stays declined', async () => {
  const { world, service } = await givenServicesThatGoDown()
  const { averba, requests } = world
  service.isDown = true
  const { effect } = await validate(averba, 'p-1')
  expect(await waitingOf(averba, effect)).toMatchObject({ for: 'time', actions: ['retry', 'park', 'withdraw'] })
  const before = requests.length
  await averba.effects.withdraw(effect, operator)
  service.isDown = false
  await passTime(world, hourMs, 3)
  expect(requests).toHaveLength(before)
  const declined = { status: 'declined', problem: { status: 0, code: 'WITHDRAWN' }, replayed: true }
  expect(await validate(averba, 'p-1')).toMatchObject(declined)
  expect(await averba.validations.get('p-1')).toMatchObject({ state: 'declined' })
  expect(await waitingOf(averba, effect)).toBeUndefined()
  expect(await eventsOf(world, 'effect.withdrawn', 'validation.withheld')).toMatchObject([
    { type: 'effect.withdrawn', cancels: [effect], ...operator },
    { type: 'validation.withheld', data: { by: 'operator', sentBefore: true }, ...operator },
  ])
  for (const act of ['withdraw', 'retry', 'park'] as const)
    await expect(averba.effects[act](effect), act).rejects.toMatchObject({ code: 'REFUSED' })
})

test('an approval can be given up and asked for again; a revocation only by withdrawEnd, a reading never', async () => {
  const { world, service } = await givenServicesThatGoDown()
  const { averba } = world
  const { consents, effects } = averba
  const pending = await readConsent(world, 'PENDENTE')
  const active = await readConsent(world, 'ATIVO')
  service.isDown = true
  const approval = await consents.approve(pending.which)
  const revocation = await consents.revoke(active.which)
  const reading = await consents.sync({ subject: pending.subject })
  await effects.park(approval.effect)
  const actions = ['retry', 'withdraw']
  expect(await waitingOf(averba, approval.effect)).toEqual({ for: 'release', until: null, actions })
  await effects.withdraw(approval.effect)
  for (const { effect } of [revocation, reading]) {
    expect((await waitingOf(averba, effect))?.actions).toEqual(['retry', 'park'])
    await expect(effects.withdraw(effect)).rejects.toMatchObject({ code: 'REFUSED' })
  }
  await expect(effects.withdraw('consent-x/1/0')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  service.isDown = false
  await passTime(world, hourMs, 2)
  expect(await consents.get(pending.which)).toMatchObject({ status: 'PENDENTE', knowledge: 'known' })
  expect(await consents.get(active.which)).toMatchObject({ status: 'REVOGADO' })
  expect(await consents.approve(pending.which)).toMatchObject({ status: 'settled', value: { status: 'ATIVO' } })
})

test('a new subscription can be given up, and the next plan has it again', async () => {
  const declared = [{ evento: 'dimp-situacao-import', chaveSecreta: 'chave-secreta-um' }]
  const world = await openWorld({
    averba: { subscriptions: declared },
    faults: [{ kind: 'status', status: 429, retryAfterS: 3_600, method: 'POST' }],
  })
  const { subscriptions, effects } = world.averba
  const plan = await subscriptions.plan()
  const [applied] = await subscriptions.apply(plan)
  expect(applied).toMatchObject({ status: 'deferred' })
  await effects.withdraw(applied?.effect ?? '', operator)
  world.faults.clear()
  await passTime(world, hourMs, 3)
  expect(await subscriptions.list()).toMatchObject([{ state: 'declared' }])
  const next = await subscriptions.plan()
  expect(next.changes).toMatchObject([{ action: 'create', evento: 'dimp-situacao-import' }])
  expect(await subscriptions.apply(next)).toMatchObject([{ status: 'settled', value: { state: 'active' } }])
})

test('what a call waits for is said of each one that has not ended, and nothing of those that have', async () => {
  const { world, service } = await givenServicesThatGoDown()
  const { averba } = world
  const subject = await averba.consents.enrol({ cpf: world.samples.cpf })
  await averba.consents.sync({ subject })
  service.isDown = true
  const { effect } = await averba.consents.sync({ subject })
  const open = await averba.effects.list({ state: 'open' })
  expect(open).toMatchObject([{ id: effect, waiting: { for: 'time', actions: ['retry', 'park'] } }])
  await averba.effects.retry(effect)
  const waiting = { for: 'time', until: '2026-11-20T12:01:00.000Z', actions: ['park'] }
  expect(await averba.effects.get(effect)).toMatchObject({ reason: 'its service asked for a pause', waiting })
  world.clock.jump(60_000)
  expect(await waitingOf(averba, effect)).toEqual({ for: 'process', until: null, actions: ['park'] })
  for (const each of await averba.effects.list({ state: 'settled' })) expect(each).not.toHaveProperty('waiting')
})

test('a call that is under way is not given up, and its answer counts', async () => {
  const { intercept, given, release } = holdingAnswer(isValidation)
  const { averba } = await openWorld({ intercept })
  const validating = validate(averba, 'p-1')
  await given
  const [call] = await averba.effects.list({ state: 'started' })
  await expect(averba.effects.withdraw(call?.id ?? '')).rejects.toMatchObject({ code: 'REFUSED' })
  release()
  expect(await validating).toMatchObject({ status: 'settled' })
})

test('a call from before a restore is not given up as not done: the log cannot know', async () => {
  const store = temporaryStore()
  const { world, service } = await givenServicesThatGoDown({ averba: { store } })
  service.isDown = true
  const { effect } = await validate(world.averba, 'p-1')
  await world.averba.effects.park(effect)
  const [backup, restored] = [`${store}.backup`, temporaryStore()]
  await backupStore({ store, to: backup })
  await restoreStore({ backup, store: restored, keys: `${store}.keys`, acceptRollback: true })
  const again = await openValidating({ store: restored, clock: world.clock })
  expect(await waitingOf(again, effect)).toMatchObject({ for: 'release', actions: ['retry'] })
  const message = expect.stringContaining('the log was restored since')
  await expect(again.effects.withdraw(effect)).rejects.toMatchObject({ code: 'REFUSED', message })
})
