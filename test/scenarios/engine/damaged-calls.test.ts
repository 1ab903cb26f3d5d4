import { expect, test, vi } from 'vitest'
import { answering } from '../../support/answers.ts'
import { eventsOf } from '../../support/events-of.ts'
import { validate } from '../../support/open-validating.ts'
import { dayMs, hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { applyPlan, deliver } from '../../support/portal.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase, withoutGuards } from '../../support/use-database.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const otherCpf = '11144477735'

function damage(store: string, sql: string): void {
  useDatabase(store, database => {
    const change = () => database.prepare(`update event set header = ${sql}`).run()
    expect(withoutGuards(database, change).changes).toBe(1)
  })
}

/** Two people who are read every hour, retention, a handler, and a damaged event that requests the first reading. */
async function given() {
  const store = temporaryStore()
  const world = await openWorld({
    averba: {
      store,
      schedules: true,
      retention: { 'consent.detail': { days: 30 }, 'validation.claims': { days: 30 } },
      subscriptions: [{ evento, chaveSecreta: 'chave-secreta-um' }],
    },
  })
  const { averba, clock, samples } = world
  await clock.finish(applyPlan(averba))
  const subject = await averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: hourMs })
  await averba.consents.enrol({ cpf: otherCpf }, { syncEveryMs: hourMs })
  await clock.finish(averba.settle())
  const pending = await averba.effects.list({ state: 'pending' })
  const { id = '', position = 0 } = pending.find(({ stream }) => stream === `subject-${subject}`) ?? {}
  damage(store, `substr(header, 1, length(header) - 1) where position = ${position}`)
  let handled = 0
  averba.notifications.handle(evento, 'erp', async () => void handled++)
  const before = world.requests.length
  /** How many notifications were handled, and how often the other person and the portal were read. */
  const done = () => {
    const since = world.requests.slice(before)
    const ofPortal = since.filter(({ service, method }) => service === 'portal' && method === 'GET')
    return { handled, readings: since.filter(({ path }) => path.includes(otherCpf)).length, ofPortal: ofPortal.length }
  }
  return { world, logged: world.lines, id, done, notify: () => clock.finish(deliver(world, { n: 1 })) }
}

test('run: a damaged event stops nothing else either, and is logged once a minute with its service', async () => {
  const { world, logged, notify, done } = await given()
  const { clock } = world
  startRun(world)
  await notify()
  await clock.advance(minuteMs)
  clock.jump(25 * hourMs)
  // The clock was set: each loop looks within ten minutes.
  await clock.advance(13 * minuteMs)
  const lines = logged.filter(({ message }) => message === 'part of run failed; it continues')
  for (const line of lines) expect(line).toMatchObject({ detail: 'calls of consentService', error: 'CORRUPT' })
  expect(lines.length).toBeLessThan(10)
  expect(lines.some(({ times = 1 }) => times > 30)).toBe(true)
  const { handled, readings, ofPortal } = done()
  expect(handled).toBe(1)
  expect(readings).toBeGreaterThan(0)
  expect(ofPortal).toBeGreaterThan(0)
})

test('a damaged event with a call delays retention only of the parts that its call may open', async () => {
  const { world, id } = await given()
  const { averba, clock, samples } = world
  const claims = { nome: 'Maria de Exemplo Souza' }
  for (const cpf of [samples.cpf, otherCpf])
    await clock.finish(averba.validations.validate({ id: `v-${cpf.slice(0, 3)}`, cpf, claims }))
  await averba.effects.park(id)
  await clock.advance(31 * dayMs)
  await clock.finish(averba.settle())
  const destroyed = new Set((await eventsOf(world, 'retention.applied')).flatMap(({ data }) => data.parts))
  const requested = await eventsOf(world, 'validation.requested')
  const left = requested.filter(({ position }) => !destroyed.has(`${position}/claims`))
  expect(left.map(({ data }) => `subject-${data.subject}`)).toEqual([id.split('/')[0]])
  expect(destroyed.size).toBe(1)
})

test('a retention rule that fails on a damaged event does not stop other rules', async () => {
  const store = temporaryStore()
  const rules = { 'notification.body': 'until-settled', 'validation.claims': { days: 30 } } as const
  const world = await openWorld({ averba: { store, schedules: true, retention: rules } })
  const { clock } = world
  await clock.finish(world.averba.settle())
  await clock.finish(validate(world.averba, 'v'))
  damage(store, "'' where type = 'portal.recoveryRequested'")
  // A new process knows only what the log says about the portal.
  await world.restart()
  await clock.advance(31 * dayMs)
  await expect(clock.finish(world.averba.settle())).rejects.toMatchObject({ code: 'CORRUPT' })
  expect(await eventsOf(world, 'retention.applied')).toMatchObject([{ data: { kind: 'validation.claims' } }])
})

test('a reading whose answer cannot be recorded under a damaged key is postponed like a failed one', async () => {
  const store = temporaryStore()
  let records = 1
  const record = { data: '20-11-2026 09:00:01', descricao: 'x', evento }
  const list = () => Array.from({ length: records }, (_, i) => ({ ...record, id: i + 1, conteudo: `{"aviso":${i}}` }))
  const answer = vi.fn(() => Response.json(list()))
  const intercept = answering(({ url }) => url.includes('/falhas'), answer)
  const options = { averba: { store, subscriptions: [{ evento, chaveSecreta: 'chave-um' }] }, intercept }
  const first = await openWorld(options)
  await applyPlan(first.averba)
  const filter = { day: '2026-11-20', recover: true }
  await first.clock.finish(first.averba.subscriptions.failures(filter))
  await first.close()
  const damage = "update owner_key set commitment = zeroblob(32) where owner like 'subscription-%'"
  expect(useDatabase(store, database => database.prepare(damage).run().changes)).toBe(1)
  const world = await openWorld({ ...options, seed: 2 })
  records = 3
  answer.mockClear()
  const asked = world.averba.subscriptions.failures(filter).catch(({ code }) => code)
  await passTime(world, minuteMs, 60)
  // If it began again whenever its lease expired, it would be made 60 times.
  expect(answer.mock.calls.length).toBeGreaterThan(3)
  expect(answer.mock.calls.length).toBeLessThan(20)
  expect(await world.averba.effects.list({ state: 'deferred' })).toContainEqual(
    expect.objectContaining({ reason: expect.stringContaining('it was replaced by another key') }),
  )
  await asked
})
