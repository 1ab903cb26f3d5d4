import { expect, test } from 'vitest'
import type { LogLine } from '../../../src/index.ts'
import { dayMs, hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { applyPlan } from '../../support/portal.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase, withoutGuards } from '../../support/use-database.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const otherCpf = '11144477735'

/** Damages the header of one event. */
function damage(store: string, sql: string, ...values: (string | number)[]): void {
  useDatabase(store, database => {
    const change = () => database.prepare(`update event set header = ${sql}`).run(...values)
    expect(withoutGuards(database, change).changes).toBe(1)
  })
}

/**
 * Two people who are read every hour, a retention rule, a handler, and the event that requests a reading of the first.
 */
async function given() {
  const store = temporaryStore()
  const logged: LogLine[] = []
  const world = await openWorld({
    averba: {
      store,
      schedules: true,
      retention: { 'consent.detail': { days: 30 }, 'validation.claims': { days: 30 } },
      subscriptions: [{ evento, chaveSecreta: 'chave-secreta-um' }],
      logger: (line: LogLine) => void logged.push(line),
    },
  })
  const { averba, clock, portal, samples } = world
  await clock.finish(applyPlan(averba))
  const subject = await averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: hourMs })
  await averba.consents.enrol({ cpf: otherCpf }, { syncEveryMs: hourMs })
  await clock.finish(averba.settle())
  const [pending] = (await averba.effects.list({ state: 'pending' })).filter(
    ({ stream }) => stream === `subject-${subject}`,
  )
  damage(store, 'substr(header, 1, length(header) - 1) where position = ?', pending?.position ?? 0)
  let handled = 0
  averba.notifications.handle(evento, 'erp', async () => void handled++)
  const before = world.requests.length
  const to = { destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj } as const
  return {
    world,
    logged,
    id: pending?.id ?? '',
    notify: () => clock.finish(portal.notify({ evento, ...to, body: { n: 1 } })),
    handled: () => handled,
    readings: () => world.requests.slice(before).filter(({ path }) => path.includes(otherCpf)).length,
    portalReadings: () =>
      world.requests.slice(before).filter(({ service, method }) => service === 'portal' && method === 'GET').length,
  }
}

test('settle: a damaged event with a call stops no schedule, no other call and no handler', async () => {
  const { world, id, notify, handled, readings, portalReadings } = await given()
  const { averba, clock } = world
  await notify()
  const failed: unknown[] = []
  for (let hour = 0; hour < 26; hour++)
    await clock.finish(passTime(world, hourMs)).catch(({ code }) => failed.push(code))
  expect(failed.length).toBeGreaterThan(20)
  expect(new Set(failed)).toEqual(new Set(['CORRUPT']))
  expect(handled()).toBe(1)
  expect(readings()).toBeGreaterThan(12)
  expect(portalReadings()).toBeGreaterThanOrEqual(2)
  expect(await averba.effects.list()).toContainEqual(expect.objectContaining({ id, isDamaged: true, data: {} }))
  await averba.effects.park(id)
  expect(await averba.effects.get(id)).toMatchObject({ state: 'parked', isDamaged: true })
})

test('run: a damaged event stops nothing else either, and is logged once a minute with its service', async () => {
  const { world, logged, notify, handled, readings, portalReadings } = await given()
  const { clock } = world
  startRun(world)
  await notify()
  await clock.advance(minuteMs)
  clock.jump(25 * hourMs)
  // The clock was set: each loop looks within ten minutes.
  await clock.advance(13 * minuteMs)
  const lines = logged.filter(({ message }) => message === 'part of run failed; it continues')
  expect(new Set(lines.map(({ detail, error }) => `${detail} ${error}`))).toEqual(
    new Set(['calls of consentService CORRUPT']),
  )
  expect(lines.length).toBeLessThan(10)
  expect(lines.some(({ times = 1 }) => times > 30)).toBe(true)
  expect(handled()).toBe(1)
  expect(readings()).toBeGreaterThan(0)
  expect(portalReadings()).toBeGreaterThan(0)
})

test('a damaged event with a call delays retention only of the parts that its call may open', async () => {
  const { world, id } = await given()
  const { averba, clock, samples } = world
  const claims = { nome: 'Maria de Exemplo Souza' }
  const people = { v1: samples.cpf, v2: otherCpf }
  const validated = Object.entries(people).map(([id, cpf]) => averba.validations.validate({ id, cpf, claims }))
  await clock.finish(Promise.all(validated))
  await averba.effects.park(id)
  await clock.advance(31 * dayMs)
  await clock.finish(averba.settle())
  const destroyed = new Set<string>()
  for await (const { data } of averba.log.read({ types: ['retention.applied'] }))
    for (const part of data.parts) destroyed.add(part)
  const left: string[] = []
  for await (const { position, data } of averba.log.read({ types: ['validation.requested'] }))
    if (!destroyed.has(`${position}/claims`)) left.push(data.subject)
  expect(left).toEqual([id.slice('subject-'.length, id.indexOf('/'))])
  expect(destroyed.size).toBe(1)
})

test('a retention rule that fails on a damaged event does not stop other rules', async () => {
  const store = temporaryStore()
  const rules = { 'notification.body': 'until-settled', 'validation.claims': { days: 30 } } as const
  const world = await openWorld({ averba: { store, schedules: true, retention: rules } })
  const { clock, samples } = world
  await clock.finish(world.averba.settle())
  await clock.finish(world.averba.validations.validate({ id: 'v', cpf: samples.cpf, claims: { nome: 'Maria' } }))
  damage(store, "'' where type = 'portal.recoveryRequested'")
  // A new process knows only what the log says about the portal.
  await world.restart()
  const { averba } = world
  await clock.advance(31 * dayMs)
  await expect(clock.finish(averba.settle())).rejects.toMatchObject({ code: 'CORRUPT' })
  const applied = await Array.fromAsync(averba.log.read({ types: ['retention.applied'] }), ({ data }) => data)
  expect(applied).toMatchObject([{ kind: 'validation.claims' }])
})
