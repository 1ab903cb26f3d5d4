import { expect, test } from 'vitest'
import { diagnoseStore, type LogLine } from '../../../src/index.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { views } from '../../../src/views/views.ts'
import { dayMs, hourMs, passTime } from '../../support/pass-time.ts'
import { startRun } from '../../support/start-run.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine, openWorld } from '../../support/world.ts'

const cpfs = ['25774435016', '52998224725', '11144477735']

/** Makes a view fail; calling the result fixes it. */
function breakView(store: string, view: string): () => void {
  const sql = `create trigger broken before insert on ${view} begin select raise(abort, 'no'); end`
  useDatabase(store, database => database.exec(sql))
  return () => useDatabase(store, database => database.exec('drop trigger broken'))
}

/** A log whose view of data subjects can be made to fail. */
async function given() {
  const store = temporaryStore()
  const clock = new VirtualClock()
  const lines: LogLine[] = []
  const averba = await openEngine({ store, clock, logger: line => lines.push(line) })
  return {
    ...{ store, clock, averba },
    breakIt: () => breakView(store, 'subjects'),
    logged: () => lines.filter(line => line.view === 'subjects').map(line => line.message),
    health: async () => (await averba.health({ only: ['views'] })).checks[0],
    isRunning: async () => (await averba.figures()).views.find(each => each.view === 'subjects')?.isRunning,
    count: async () => (await averba.views.selectFrom('subjects').select('subject').execute()).length,
  }
}

const stopped = 'a view failed and is stopped; it is tried again'

test('a stopped view restarts during run once it is fixed, and is reported as stopped until then', async () => {
  const { averba, clock, store, ...view } = await given()
  startRun({ averba, clock })
  await averba.consents.enrol({ cpf: cpfs[0] ?? '' })
  const mend = view.breakIt()
  await averba.consents.enrol({ cpf: cpfs[1] ?? '' })
  await averba.consents.enrol({ cpf: cpfs[2] ?? '' })
  await expect(view.count()).rejects.toMatchObject({ code: 'VIEW_STOPPED' })
  await clock.advance(60_000)
  // It stopped, was tried at the next look, and 1, 2, 4, 8, 16 seconds later.
  expect(view.logged().length).toBeGreaterThan(5)
  expect(view.logged().length).toBeLessThan(9)
  expect(new Set(view.logged())).toEqual(new Set([stopped]))
  const reason = expect.stringMatching(
    /^subjects has stopped: ERR_SQLITE_ERROR at position \d+: run or rebuild recovers/,
  )
  expect(await view.health()).toMatchObject({ ok: false, detail: reason })
  expect(await view.isRunning()).toBe(false)
  const { problems } = await diagnoseStore({ store })
  expect(problems).toEqual([expect.stringMatching(/^views: subjects is stopped: ERR_SQLITE_ERROR at position/)])
  mend()
  await clock.advance(64_000)
  expect(view.logged().at(-1)).toBe('a stopped view has caught up and is running again')
  expect(await view.health()).toMatchObject({ ok: true })
  expect(await view.isRunning()).toBe(true)
  expect(await view.count()).toBe(3)
  expect((await averba.rebuild()).every(each => each.differences === 0)).toBe(true)
})

test('settle restarts a view too, and an operator’s rebuild does so at once', async () => {
  const { averba, ...view } = await given()
  const mend = view.breakIt()
  await averba.consents.enrol({ cpf: cpfs[0] ?? '' })
  await averba.settle()
  expect(await view.isRunning()).toBe(false)
  mend()
  // It was tried just now: settle leaves it until its retry is due.
  await averba.settle()
  expect(await view.isRunning()).toBe(false)
  await averba.rebuild({ views: ['subjects'] })
  expect(await view.isRunning()).toBe(true)
  await passTime({ averba, clock: view.clock }, 10_000)
  const mendAgain = view.breakIt()
  await averba.consents.enrol({ cpf: cpfs[1] ?? '' })
  mendAgain()
  await averba.settle()
  expect(await view.isRunning()).toBe(true)
  expect(await view.count()).toBe(2)
})

test('a vanished awareness record is noticed while its view is stopped', async () => {
  const store = temporaryStore()
  let isHidden = false
  const world = await openWorld({
    averba: { store },
    intercept: async (request, forward) =>
      isHidden && /ciencias\/\d+$/.test(request.url) ? Response.json([]) : forward(request),
  })
  const { averba, samples } = world
  breakView(store, 'awareness')
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const recorded: string[] = []
  averba.on('recorded', ({ type }) => void recorded.push(type))
  for (isHidden of [false, true, true, false]) {
    await world.clock.advance(1_000)
    const listed = await averba.awareness.list({ subject, ageMaxMs: 0 })
    expect(listed.length > 0).toBe(!isHidden)
  }
  expect(recorded.filter(type => /Appeared|Vanished/.test(type))).toEqual([
    'subject.awarenessAppeared',
    'subject.awarenessVanished',
    'subject.awarenessAppeared',
  ])
  expect((await averba.figures()).views.find(each => each.view === 'awareness')?.isRunning).toBe(false)
})

/** A store with an active consent, and the engine on it. */
async function givenActive(logger: (line: LogLine) => void = () => undefined) {
  const store = temporaryStore()
  const world = await openWorld({ averba: { store, logger } })
  const { averba, samples, clock } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.consents.sync({ subject })
  const { id = '' } = (await averba.consents.list({ subject })).find(each => each.status === 'ATIVO') ?? {}
  return { store, world, averba, samples, clock, subject, id }
}

test('a consent revoked while its view is stopped is nowhere shown as active', async () => {
  const { store, averba, clock, subject, id } = await givenActive()
  const mend = breakView(store, 'consents')
  const revoked = await averba.consents.revoke({ subject, id })
  expect(revoked).toMatchObject({ status: 'settled', value: { status: 'REVOGADO', knowledge: 'known' } })
  await passTime({ averba, clock }, 3 * hourMs)
  for (const age of [{}, { ageMaxMs: 0 }]) {
    const listed = averba.consents.list({ subject, ...age })
    const hint = expect.stringContaining('averba rebuild')
    await expect(listed).rejects.toMatchObject({ code: 'VIEW_STOPPED', hint })
    expect(await averba.consents.get({ subject, id, ...age })).toMatchObject({ status: 'REVOGADO' })
  }
  expect((await averba.consents.standing({ subject, id })).reason).toBe('revoked')
  expect((await averba.figures()).views.find(each => each.view === 'consents')?.isRunning).toBe(false)
  mend()
  await passTime({ averba, clock }, 300_000)
  const after = await averba.consents.list({ subject })
  expect(after.find(each => each.id === id)).toMatchObject({ status: 'REVOGADO', knowledge: 'known' })
})

test('a change at the service is read in full at once, even while the view of consents is stopped', async () => {
  const { store, world, averba, samples, clock, subject, id } = await givenActive()
  breakView(store, 'consents')
  await averba.consents.get({ subject, id, ageMaxMs: 0 })
  world.consentService.change(samples.cpf, id, 'REVOGADO')
  await clock.advance(60_000)
  expect(await averba.consents.standing({ subject, id, ageMaxMs: 0 })).toMatchObject({ reason: 'revoked' })
  const pending = await averba.effects.list({ state: 'pending' })
  expect(pending.filter(each => each.type === 'consentService.readConsent')).toEqual([])
})

test('a process whose view another version has taken over reports it, and does not read the view', async () => {
  const lines: LogLine[] = []
  const { store, averba, clock, subject, id } = await givenActive(line => lines.push(line))
  const newer = views.map(view => (view.name === 'consents' ? { ...view, version: view.version + 1 } : view))
  await openStore({ path: store, views: newer, clock })
  expect((await averba.health({ only: ['views'] })).checks[0]).toMatchObject({
    ok: false,
    detail: expect.stringContaining('consents has stopped: another version of averba took it over'),
  })
  expect((await averba.consents.revoke({ subject, id })).status).toBe('settled')
  await averba.settle()
  await averba.settle()
  const logged = lines.filter(line => line.view === 'consents')
  expect(logged).toMatchObject([{ message: expect.stringContaining('another process'), view: 'consents' }])
  await expect(averba.consents.list({ subject, ageMaxMs: 0 })).rejects.toMatchObject({ code: 'VIEW_STOPPED' })
  expect(await averba.consents.get({ subject, id })).toMatchObject({ status: 'REVOGADO' })
  expect((await averba.figures()).views.find(each => each.view === 'consents')?.isRunning).toBe(false)
})

test('a paid validation stays readable while its view is stopped', async () => {
  const store = temporaryStore()
  const { averba, samples } = await openWorld({ averba: { store } })
  breakView(store, 'validations')
  const validation = { id: 'v-1', cpf: samples.cpf, claims: { nome: 'Maria da Silva' } }
  const first = await averba.validations.validate(validation)
  expect(first).toMatchObject({ status: 'settled', replayed: false, value: { id: 'v-1', state: 'answered' } })
  expect(await averba.validations.validate(validation)).toMatchObject({
    replayed: true,
    value: { id: 'v-1' },
  })
  expect(await averba.validations.get('v-1')).toMatchObject({ state: 'answered' })
  const listing = averba.validations.list()[Symbol.asyncIterator]()
  await expect(listing.next()).rejects.toMatchObject({ code: 'VIEW_STOPPED' })
})

test('subscriptions are planned, applied and listed from the log while their view is stopped', async () => {
  const store = temporaryStore()
  const evento = 'dimp-situacao-import'
  const { averba } = await openWorld({ averba: { store, subscriptions: [{ evento }] } })
  breakView(store, 'subscriptions')
  const applied = await averba.subscriptions.apply(await averba.subscriptions.plan())
  expect(applied).toMatchObject([{ status: 'settled', value: { evento, state: 'active' } }])
  expect(await averba.subscriptions.list()).toMatchObject([{ evento, state: 'active' }])
  expect((await averba.subscriptions.plan()).changes).toMatchObject([{ evento, action: 'leave' }])
})

test('a login state is read from the log while its view is stopped', async () => {
  const store = temporaryStore()
  const { averba, samples } = await openWorld({ averba: { store } })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  breakView(store, 'logins')
  const read = await averba.logins.state({ subject })
  expect(await averba.logins.state({ subject, ageMaxMs: 60_000 })).toEqual(read)
})

test('a view that stopped while the clock was ahead is retried soon after the clock is corrected', async () => {
  const { clock, averba, breakIt, isRunning } = await given()
  const mend = breakIt()
  await averba.consents.enrol({ cpf: cpfs[0] ?? '' })
  await averba.settle()
  clock.jump(-10 * dayMs)
  mend()
  await passTime({ averba, clock }, 1_000)
  expect(await isRunning()).toBe(true)
})
