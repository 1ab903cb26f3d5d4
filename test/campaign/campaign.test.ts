import { expect, test } from 'vitest'
import { planOf } from './plan.ts'
import { runSeeds } from './run-seeds.ts'
import { runSteps } from './run-steps.ts'

const days = 7

test('in worlds with faults and crashes everything holds that was promised', async () => {
  const found: unknown[] = []
  const campaign = await runSeeds({ first: 1, seeds: 8, days }, ({ seed, wrongs }) => {
    found.push(...wrongs.map(wrong => ({ seed, ...wrong })))
    return true
  })
  expect(found).toEqual([])
  expect(campaign).toMatchObject({ seeds: 8, failures: 0, refuted: [] })
  expect(campaign.events).toBeGreaterThan(1_000)
})

test('the same seed gives the same log, byte for byte, and another seed another', async () => {
  const [first, second, other] = [
    await runSteps(7, planOf(7, days)),
    await runSteps(7, planOf(7, days)),
    await runSteps(8, planOf(8, days)),
  ]
  expect(second.digest).toBe(first.digest)
  expect(other.digest).not.toBe(first.digest)
})
