import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { planOf } from './plan.ts'
import { runSeeds } from './run-seeds.ts'
import { runSteps } from './run-steps.ts'

const days = 7
const root = resolve(import.meta.dirname, '../..')

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

test('the same seed gives the same log on Deno', async () => {
  const main = join(import.meta.dirname, 'main.ts')
  const flags = ['--seed', '8', '--days', '6']
  const [ofNode, ofDeno] = await Promise.all(
    [['node'], ['deno', 'run', '--allow-all', '--no-check', '--no-lock', '--node-modules-dir=manual']].map(
      async ([name = '', ...run]) => {
        const command = join(root, 'node_modules/.bin', name)
        const { stdout } = await promisify(execFile)(command, [...run, main, ...flags], { cwd: root })
        return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
      },
    ),
  )
  expect(ofNode).toMatchObject({ failures: 0 })
  expect(ofDeno).toEqual(ofNode)
}, 60_000)

test('a campaign that is told to go no further says what came of the seeds that were run', async () => {
  const seen: number[] = []
  const campaign = await runSeeds({ first: 1, seeds: 20, days: 1 }, ({ seed }) => {
    seen.push(seed)
    return false
  })
  expect(seen.length).toBeLessThan(20)
  expect(campaign.seeds).toBe(seen.length)
})
