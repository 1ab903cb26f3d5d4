import { expect, test } from 'vitest'
import { cpfOf } from '../../support/cpf-of.ts'
import { eventsOf } from '../../support/events-of.ts'
import { dayMs, hourMs } from '../../support/pass-time.ts'
import { applyPlan, inboxOf, openBeside } from '../../support/portal.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openWorld } from '../../support/world.ts'
import { notify, subscriptions } from './story.ts'

test('a starting process reads the failures since the last event, once per downtime', async () => {
  const store = temporaryStore()
  const world = await openWorld({ averba: { store, subscriptions } })
  await applyPlan(world.averba)
  await world.averba.close()
  await world.faults.add({ kind: 'refuse', service: 'receiver' })
  for (const day of [0, 1]) {
    await notify(world, { day })
    await world.clock.advance(dayMs)
  }
  const averba = await openBeside(world, { store, subscriptions })
  const daysRead = () => world.requests.flatMap(each => /falhas\?data=(\d{8})/.exec(each.path)?.[1] ?? [])
  /** Runs until the failures due in ten seconds are read, and half a minute longer. */
  const runForAWhile = async () => {
    const stop = startRun({ averba, clock: world.clock })
    for (let second = 0; second < 40; second++) {
      await world.clock.advance(1_000)
      // Answers are received and recorded in turns of the event loop.
      await new Promise(resolve => setImmediate(resolve))
    }
    await stop()
    await averba.settle()
  }
  await runForAWhile()
  expect(new Set(daysRead())).toEqual(new Set(['20112026', '21112026', '22112026']))
  const found = (await inboxOf(averba)).map(({ body, origin }) => [origin, body])
  expect(found).toHaveLength(2)
  for (const day of [0, 1]) expect(found).toContainEqual(['recovered', { day }])
  const hastened = await eventsOf({ averba }, 'portal.recoveryHastened')
  expect(hastened).toMatchObject([{ data: { reason: 'downtime', days: [{}, {}, {}] } }])
  const read = daysRead().length
  await runForAWhile()
  expect(daysRead()).toHaveLength(read)
})

test('consents that are less fresh than configured are logged once a day', async () => {
  const lines: unknown[] = []
  const world = await openWorld({
    averba: {
      schedules: true,
      consentService: consentServiceWith({ requestsPerSecond: 0.000_1 }),
      fetch: async () => new Response('', { status: 503 }),
      logger: line => void lines.push(line),
    },
  })
  await world.averba.consents.enrol({ cpf: cpfOf(1) }, { syncEveryMs: hourMs })
  const told = async () => {
    await world.averba.settle()
    return lines.filter(line => JSON.stringify(line).includes('cannot be read as often as configured')).length
  }
  expect(await told()).toBe(1)
  expect(await told()).toBe(1)
  await world.clock.advance(dayMs)
  expect(await told()).toBe(2)
})
