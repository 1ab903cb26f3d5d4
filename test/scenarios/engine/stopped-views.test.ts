import { expect, test } from 'vitest'
import { type Averba, diagnoseStore, type LogLine } from '../../../src/index.ts'
import { samples, VirtualClock } from '../../../src/simulation/index.ts'
import { views } from '../../../src/views/views.ts'
import { answering } from '../../support/answers.ts'
import { checkOf } from '../../support/check-of.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { validate } from '../../support/open-validating.ts'
import { dayMs, hourMs, passTime } from '../../support/pass-time.ts'
import { startRun } from '../../support/start-run.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine, openWorld } from '../../support/world.ts'

/** Makes a view fail; calling the result fixes it. */
function breakView(store: string, view: string): () => void {
  const sql = `create trigger broken_${view} before insert on ${view} begin select raise(abort, 'no'); end`
  useDatabase(store, database => database.exec(sql))
  return () => useDatabase(store, database => database.exec(`drop trigger broken_${view}`))
}

const isRunning = async (averba: Averba, view: string) =>
  (await averba.figures()).views.find(each => each.view === view)?.isRunning

/** A log whose view of data subjects can be made to fail. */
async function given() {
  const store = temporaryStore()
  const clock = new VirtualClock()
  const lines: LogLine[] = []
  const averba = await openEngine({ store, clock, logger: line => lines.push(line) })
  return {
    ...{ store, clock, averba },
    enrol: (n: number) => averba.consents.enrol({ cpf: cpfOf(n) }),
    breakIt: () => breakView(store, 'subjects'),
    logged: () => lines.filter(line => line.view === 'subjects').map(line => line.message),
    isRunning: () => isRunning(averba, 'subjects'),
    count: async () => (await averba.views.selectFrom('subjects').select('subject').execute()).length,
  }
}

const stopped = 'a view failed and is stopped; it is tried again'

test('a stopped view restarts during run once it is fixed, and is reported as stopped until then', async () => {
  const { averba, clock, store, ...view } = await given()
  startRun({ averba, clock })
  await view.enrol(1)
  const mend = view.breakIt()
  for (const n of [2, 3]) await view.enrol(n)
  await expect(view.count()).rejects.toMatchObject({ code: 'VIEW_STOPPED' })
  await clock.advance(60_000)
  // It stopped, was tried at the next look, and 1, 2, 4, 8, 16 seconds later.
  expect(view.logged().length).toBeGreaterThan(5)
  expect(view.logged().length).toBeLessThan(9)
  expect(new Set(view.logged())).toEqual(new Set([stopped]))
  const said = /^views: subjects has stopped: ERR_SQLITE_ERROR at position \d+: run or rebuild recovers/
  expect(await averba.health()).toMatchObject({ ready: false, reasons: [expect.stringMatching(said)] })
  expect(await view.isRunning()).toBe(false)
  const { problems } = await diagnoseStore({ store })
  expect(problems).toEqual([expect.stringMatching(/^views: subjects is stopped: ERR_SQLITE_ERROR at position/)])
  mend()
  await clock.advance(64_000)
  expect(view.logged().at(-1)).toBe('a stopped view has caught up and is running again')
  expect(await averba.health()).toMatchObject({ ready: true })
  expect(await view.isRunning()).toBe(true)
  expect(await view.count()).toBe(3)
  expect((await averba.rebuild()).every(each => each.differences === 0)).toBe(true)
  // One that stopped while the clock was ahead is tried soon after that is corrected.
  const mendLast = view.breakIt()
  await view.enrol(4)
  clock.jump(-10 * dayMs)
  mendLast()
  await clock.advance(60_000)
  expect(await view.isRunning()).toBe(true)
})

test('a vanished awareness record is noticed while its view is stopped', async () => {
  const store = temporaryStore()
  let isHidden = false
  const isOne = ({ url }: Request) => isHidden && /ciencias\/\d+$/.test(url)
  const { averba, clock } = await openWorld({ averba: { store }, intercept: answering(isOne, () => Response.json([])) })
  breakView(store, 'awareness')
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const recorded: string[] = []
  averba.on('recorded', ({ type }) => void recorded.push(type))
  for (isHidden of [false, true, true, false]) {
    await clock.advance(1_000)
    expect((await averba.awareness.list({ subject, ageMaxMs: 0 })).length > 0).toBe(!isHidden)
  }
  const changes = recorded.filter(type => /Appeared|Vanished/.test(type))
  expect(changes).toEqual(['Appeared', 'Vanished', 'Appeared'].map(change => `subject.awareness${change}`))
  expect(await isRunning(averba, 'awareness')).toBe(false)
})

/** A store with an active consent, and the engine on it. */
async function givenActive() {
  const store = temporaryStore()
  return { store, ...(await givenConsent('ATIVO', undefined, { averba: { store } })) }
}

test('a consent revoked while its view is stopped is nowhere shown as active', async () => {
  const { store, world, averba, subject, which } = await givenActive()
  const { consents } = averba
  const mend = breakView(store, 'consents')
  const revoked = { status: 'REVOGADO', knowledge: 'known' }
  expect(await consents.revoke(which)).toMatchObject({ status: 'settled', value: revoked })
  await passTime(world, 3 * hourMs)
  for (const age of [{}, { ageMaxMs: 0 }]) {
    const hint = expect.stringContaining('averba rebuild')
    await expect(consents.list({ subject, ...age })).rejects.toMatchObject({ code: 'VIEW_STOPPED', hint })
    expect(await consents.get({ ...which, ...age })).toMatchObject({ status: 'REVOGADO' })
  }
  expect((await consents.standing(which)).reason).toBe('revoked')
  expect(await isRunning(averba, 'consents')).toBe(false)
  mend()
  await passTime(world, 300_000)
  expect((await consents.list({ subject })).find(({ id }) => id === which.id)).toMatchObject(revoked)
})

test('a change at the service is read in full at once, even while the view of consents is stopped', async () => {
  const { store, world, averba, which } = await givenActive()
  breakView(store, 'consents')
  await averba.consents.get({ ...which, ageMaxMs: 0 })
  world.consentService.change(samples.cpf, which.id, 'REVOGADO')
  await world.clock.advance(60_000)
  expect(await averba.consents.standing({ ...which, ageMaxMs: 0 })).toMatchObject({ reason: 'revoked' })
  const pending = await averba.effects.list({ state: 'pending' })
  expect(pending.filter(each => each.type === 'consentService.readConsent')).toEqual([])
})

test('a process whose view another version has taken over reports it, and does not read the view', async () => {
  const { store, world, averba, subject, which, lines } = await givenActive()
  const newer = views.map(view => (view.name === 'consents' ? { ...view, version: view.version + 1 } : view))
  await openStore({ path: store, views: newer, clock: world.clock })
  const detail = expect.stringContaining('consents has stopped: another version of averba took it over')
  expect(await checkOf(averba, 'views')).toMatchObject({ ok: false, detail })
  expect((await averba.consents.revoke(which)).status).toBe('settled')
  await averba.settle()
  await averba.settle()
  const logged = lines.filter(line => line.view === 'consents')
  expect(logged).toMatchObject([{ message: expect.stringContaining('another process'), view: 'consents' }])
  await expect(averba.consents.list({ subject, ageMaxMs: 0 })).rejects.toMatchObject({ code: 'VIEW_STOPPED' })
  expect(await averba.consents.get(which)).toMatchObject({ status: 'REVOGADO' })
  expect(await isRunning(averba, 'consents')).toBe(false)
})

test('validations, subscriptions and logins are read from the log while their views are stopped', async () => {
  const store = temporaryStore()
  const evento = 'dimp-situacao-import'
  const { averba } = await openWorld({ averba: { store, subscriptions: [{ evento }] } })
  breakView(store, 'validations')
  const value = { id: 'v-1', state: 'answered' }
  for (const replayed of [false, true])
    expect(await validate(averba, 'v-1')).toMatchObject({ status: 'settled', replayed, value })
  expect(await averba.validations.get('v-1')).toMatchObject({ state: 'answered' })
  await expect(Array.fromAsync(averba.validations.list())).rejects.toMatchObject({ code: 'VIEW_STOPPED' })
  breakView(store, 'subscriptions')
  const applied = await averba.subscriptions.apply(await averba.subscriptions.plan())
  expect(applied).toMatchObject([{ status: 'settled', value: { evento, state: 'active' } }])
  expect(await averba.subscriptions.list()).toMatchObject([{ evento, state: 'active' }])
  expect((await averba.subscriptions.plan()).changes).toMatchObject([{ evento, action: 'leave' }])
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  breakView(store, 'logins')
  const read = await averba.logins.state({ subject })
  expect(await averba.logins.state({ subject, ageMaxMs: 60_000 })).toEqual(read)
})
