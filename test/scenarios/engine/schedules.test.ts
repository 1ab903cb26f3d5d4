import { expect, test } from 'vitest'
import type { LogLine } from '../../../src/index.ts'
import { samples, VirtualClock, type World } from '../../../src/simulation/index.ts'
import { createAuthority } from '../../../src/simulation/served/authority.ts'
import { eventsOf } from '../../support/events-of.ts'
import { dayMs, hourMs, passTime, settleHourly } from '../../support/pass-time.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openEngine, openWorld } from '../../support/world.ts'

const readings = (world: World) => world.requests.filter(each => /consentimentos\/\d+$/.test(each.path))

test('the consents of a person are read repeatedly at the requested interval, give or take a tenth', async () => {
  const world = await openWorld()
  await world.averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: dayMs })
  await settleHourly(world, 10 * 24)
  const at = readings(world).map(each => Date.parse(each.at))
  expect(at.length).toBeGreaterThanOrEqual(9)
  expect(at.length).toBeLessThanOrEqual(12)
  const waits = at.slice(1).map((each, i) => each - (at[i] ?? 0))
  for (const wait of waits) {
    expect(wait).toBeGreaterThanOrEqual(0.9 * dayMs)
    expect(wait).toBeLessThanOrEqual(1.1 * dayMs + hourMs)
  }
  expect(new Set(waits).size).toBeGreaterThan(1)
  // A reading that changes nothing is one event, which requests the next.
  expect(await eventsOf(world, 'subject.synced')).toHaveLength(at.length)
  expect(await eventsOf(world, 'subject.syncRequested')).toEqual([])
})

test('consents are read at the newest interval, on a single schedule, whatever else reads them', async () => {
  const world = await openWorld({ averba: { consentService: consentServiceWith({ syncEveryMs: hourMs }) } })
  const { averba } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.settle()
  for (let n = 0; n < 2; n++) await averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: 10 * dayMs })
  await averba.consents.sync({ subject })
  await settleHourly(world, 48)
  // The first, the first at the new interval, and the host’s own: the pending one at the old interval is cancelled.
  expect(readings(world)).toHaveLength(3)
})

const days = (world: World) => world.requests.flatMap(each => /falhas\?data=(\d{8})/.exec(each.path)?.[1] ?? [])

const november = (...days: number[]) => days.map(day => `${day}112026`)
const scheduled = () => openWorld({ averba: { schedules: true } })

test('the portal’s failures of yesterday and today are read every day, after the nightly stop, with the list', async () => {
  const world = await scheduled()
  await settleHourly(world, 3 * 24)
  expect(days(world)).toEqual(november(19, 20, 20, 21, 21, 22, 22, 23))
  const hours = world.requests.slice(3).map(each => new Date(each.at).getUTCHours() - 3)
  for (const hour of hours) expect([4, 5]).toContain(hour)
  expect(world.requests.filter(each => /webhook\/?(\?|$|assinaturas)/.test(each.path)).length).toBeGreaterThan(0)
})

test('failures of days on which no process ran are read once when one does', async () => {
  const world = await scheduled()
  await world.averba.settle()
  await passTime(world, 5 * dayMs)
  expect(days(world).slice(2)).toEqual(november(20, 21, 22, 23, 24, 25))
  await passTime(world, 60 * dayMs)
  // The portal keeps thirty days.
  expect(days(world).slice(8)).toHaveLength(31)
  // The first time, those since the log began are read, however late that is.
  const late = await scheduled()
  await late.clock.advance(5 * dayMs)
  startRun(late)
  await late.clock.advance(1_000)
  expect(days(late)).toEqual(november(20, 21, 22, 23, 24, 25))
})

test('failures are read once, by however many processes', async () => {
  const store = temporaryStore()
  const first = await openWorld({ averba: { store, schedules: true } })
  const second = await openWorld({ seed: 2, averba: { store, schedules: true, clock: first.clock } })
  await Promise.all([first.averba.settle(), second.averba.settle()])
  await first.averba.settle()
  expect(days(first).length + days(second).length).toBe(2)
})

test('an expiring client certificate is reported once per warning', async () => {
  const clock = new VirtualClock()
  const reported: unknown[] = []
  const authority = await createAuthority(clock.now() - (365 - 40) * dayMs)
  const consentService = consentServiceWith({ certificate: await authority.issueClient('gestora') })
  const logger = (line: LogLine) => reported.push(line.error)
  const averba = await openEngine({ store: ':memory:', clock, logger, consentService })
  const left: number[] = []
  averba.on('certificate.expiring', event => left.push(event.data.daysLeft))
  for (let day = 0; day < 42; day++) {
    await averba.settle()
    await clock.advance(dayMs)
  }
  expect(left).toEqual([30, 14, 7, 3, 1])
  // An expired certificate does not stop other work.
  expect(reported).toContain('MISCONFIGURED')
})
