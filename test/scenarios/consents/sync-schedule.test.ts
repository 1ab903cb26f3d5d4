import { expect, test } from 'vitest'
import { samples, type World } from '../../../src/simulation/index.ts'
import { eventsOf } from '../../support/events-of.ts'
import { dayMs, hourMs } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { openWorld } from '../../support/world.ts'

const readings = (world: World) => world.requests.filter(each => /consentimentos\/\d+$/.test(each.path)).length

async function settleHourly({ averba, clock }: World, hours: number): Promise<void> {
  for (let hour = 0; hour < hours; hour++) {
    await averba.settle()
    await clock.advance(hourMs)
  }
}

const schedulesOf = async (world: World) =>
  (await eventsOf(world, 'subject.scheduled', 'subject.unscheduled')).map(event => [
    event.type,
    event.data,
    event.actor?.ref,
  ])

test('the interval of a subject can be changed, ended and begun again at any time', async () => {
  const world = await openWorld()
  const { averba } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const clerk = { kind: 'person', ref: 'clerk-7' } as const
  await settleHourly(world, 5)
  expect(readings(world)).toBe(0)
  await averba.consents.schedule({ subject }, { syncEveryMs: 2 * hourMs, actor: clerk })
  await settleHourly(world, 12)
  const often = readings(world)
  expect(often).toBeGreaterThanOrEqual(5)

  await averba.consents.schedule({ cpf: samples.cpf }, { syncEveryMs: null, actor: clerk })
  expect(await averba.consents.syncPlan()).toMatchObject({ subjects: 0 })
  await settleHourly(world, 48)
  expect(readings(world)).toBe(often)
  expect(await averba.effects.list({ state: 'cancelled' })).toMatchObject([
    { type: 'consentService.listConsents', reason: 'cancelled by subject.unscheduled' },
  ])
  expect(await averba.effects.list({ state: 'pending' })).toEqual([])

  await averba.consents.schedule({ subject }, { syncEveryMs: dayMs, actor: clerk })
  await settleHourly(world, 2)
  expect(readings(world)).toBe(often + 1)
  await averba.consents.schedule({ subject }, { syncEveryMs: 2 * hourMs, actor: clerk })
  await averba.settle()
  expect(readings(world)).toBe(often + 2)
  // No reading of the former schedule is left.
  expect(await averba.effects.list({ state: 'pending' })).toHaveLength(1)

  expect(await schedulesOf(world)).toEqual([
    ['subject.scheduled', { everyMs: 2 * hourMs }, 'clerk-7'],
    ['subject.unscheduled', {}, 'clerk-7'],
    ['subject.scheduled', { everyMs: dayMs }, 'clerk-7'],
    ['subject.scheduled', { everyMs: 2 * hourMs }, 'clerk-7'],
  ])
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('an unchanged schedule records no event; a wrong one, or one of no subject, is refused', async () => {
  const world = await openWorld()
  const { consents } = world.averba
  const subject = await consents.enrol({ cpf: samples.cpf }, { syncEveryMs: dayMs })
  const ended: unknown[] = []
  world.averba.on('subject.unscheduled', event => ended.push(event.data))
  await consents.schedule({ subject }, { syncEveryMs: dayMs })
  for (let times = 0; times < 2; times++) await consents.schedule({ subject }, { syncEveryMs: null })
  expect(ended).toEqual([{}])
  expect(await schedulesOf(world)).toHaveLength(2)
  await refuses('INVALID_INPUT', consents.schedule({ subject }, { syncEveryMs: 59_999 }))
  await refuses('NOT_FOUND', consents.schedule({ cpf: '11144477735' }, { syncEveryMs: null }))
})

test('a reading under way when its schedule ends is recorded and schedules no other', async () => {
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const world = await openWorld({
    async intercept(request, forward) {
      asked.resolve()
      await answered.promise
      return forward(request)
    },
  })
  const { consents, effects, settle } = world.averba
  const subject = await consents.enrol({ cpf: samples.cpf }, { syncEveryMs: dayMs })
  const settling = settle()
  await asked.promise
  await consents.schedule({ subject }, { syncEveryMs: null })
  answered.resolve()
  await settling
  expect(await consents.list({ subject })).not.toEqual([])
  for (const state of ['pending', 'cancelled'] as const) expect(await effects.list({ state })).toEqual([])
})
