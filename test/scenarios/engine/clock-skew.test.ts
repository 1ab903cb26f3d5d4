import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { parseCheckpoint } from '../../../src/proof/note.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import type { World } from '../../../src/simulation/index.ts'
import { busy } from '../../support/answers.ts'
import { dayMs, hourMs, minuteMs } from '../../support/pass-time.ts'
import { applyPlan, deliver } from '../../support/portal.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openEngine, openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const start = Date.parse('2026-11-20T12:00:00.000Z')
const instant = (ms: number) => new Date(start + ms).toISOString()

/** Checks that our times never go back and are never ahead of our clock, and that the views match the log. */
async function expectOursIsRight({ averba, clock }: World): Promise<void> {
  await averba.settle()
  const times = await Array.fromAsync(averba.log.read(), ({ at }) => at)
  expect(times).toEqual([...times].sort())
  expect(times[0]).toBe(instant(0))
  expect(Date.parse(times.at(-1) ?? '')).toBeLessThanOrEqual(clock.now())
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  for (const { state } of await averba.effects.list()) expect(state).toBe('settled')
}

test.each([2 * hourMs, -dayMs, dayMs])(
  'a portal whose clock is %i ms off dates its failures by its own day',
  async ms => {
    const subscriptions = [{ evento, chaveSecreta: 'um' }]
    const world = await openWorld({ averba: { subscriptions }, faults: [{ kind: 'clockSkew', service: 'portal', ms }] })
    const { averba, clock } = world
    await applyPlan(averba)
    await world.faults.add({ kind: 'wrongSecret', times: 1 })
    expect(await deliver(world, {})).toMatchObject([{ isDelivered: false }])
    // Without a day, the portal uses its own today, and its answer is returned each time.
    for (const filter of [{}, {}, { day: instant(ms).slice(0, 10) }])
      expect(await averba.subscriptions.failures(filter)).toMatchObject([{ evento, data: instant(ms) }])
    expect(await averba.subscriptions.list()).toMatchObject([{ health: 'failing', failures: 1 }])
    // A later success is later by the same clock.
    await clock.advance(1_000)
    expect(await deliver(world, {})).toMatchObject([{ isDelivered: true }])
    await averba.subscriptions.plan()
    expect(await averba.subscriptions.list()).toMatchObject([{ health: 'healthy' }])
    await expectOursIsRight(world)
  },
)

test('checkpoints are still signed after the clock was set back', async () => {
  const store = temporaryStore()
  const { averba, clock, samples } = await openWorld({ store })
  const held = () => parseCheckpoint(readFileSync(`${store}.mark`, 'utf8'))?.size
  await averba.consents.enrol({ cpf: samples.cpf })
  await averba.audit.checkpoint()
  const before = held()
  clock.jump(-10 * dayMs)
  await averba.consents.enrol({ cpf: '52998224725' })
  await expect.poll(held).not.toBe(before)
})

test.each([
  [undefined, 20],
  [3_600, 2],
])('two engines with clocks two hours apart wait between tries while a service is down (%s)', async (afterS, most) => {
  const down = vi.fn(async () => busy(afterS, 503))
  const store = temporaryStore()
  const { averba, clock, samples } = await openWorld({ averba: { store }, intercept: down })
  const ahead: Clock = { now: () => clock.now() + 2 * hourMs, sleep: (...args) => clock.sleep(...args) }
  const consentService = consentServiceWith({})
  const other = await openEngine({ store, clock: ahead, fetch: down, schedules: false, consentService })
  for (const each of [averba, other]) startRun({ averba: each, clock })
  await averba.consents.sync({ subject: await averba.consents.enrol({ cpf: samples.cpf }) }, { waitMs: 0 })
  await clock.advance(5 * minuteMs)
  expect(down.mock.calls.length).toBeGreaterThan(0)
  expect(down.mock.calls.length).toBeLessThanOrEqual(most)
  expect(await averba.effects.list()).toMatchObject([{ state: 'deferred' }])
})
