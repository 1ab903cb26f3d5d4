import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createPlan } from './plan.ts'
import { runSeeds } from './run-seeds.ts'
import { runSteps } from './run-steps.ts'
import type { Step } from './step.ts'

const days = 7
const root = resolve(import.meta.dirname, '../..')

test('every check holds in worlds with faults and crashes', async () => {
  const found: unknown[] = []
  const campaign = await runSeeds({ first: 1, seeds: 8, days }, ({ seed, failures }) => {
    found.push(...failures.map(failure => ({ seed, ...failure })))
    return true
  })
  expect(found).toEqual([])
  expect(campaign).toMatchObject({ seeds: 8, failures: 0, refuted: [] })
  expect(campaign.events).toBeGreaterThan(1_000)
})

test('the same seed gives the same log byte for byte, and another seed a different one', async () => {
  const [first, second, other] = [
    await runSteps(7, createPlan(7, 3)),
    await runSteps(7, createPlan(7, 3)),
    await runSteps(8, createPlan(8, 3)),
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

/** What the command prints. */
async function print(...flags: readonly string[]): Promise<readonly string[]> {
  const main = join(import.meta.dirname, 'main.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...flags], { cwd: root })
  return stdout.trim().split('\n')
}

test('a seed has the same digest alone and among others, and the total covers them', async () => {
  const [many, alone] = await Promise.all([
    print('--first', '3', '--seeds', '2', '--days', '2'),
    print('--seed', '4', '--days', '2', '--json'),
  ])
  const lines = many.flatMap(line => /^seed (\d+): \d+ events, 0 failures, digest (\w{64})$/.exec(line)?.slice(1) ?? [])
  const digests = new Map([lines.slice(0, 2), lines.slice(2)] as [string, string][])
  // Only the object.
  expect(alone.map(line => JSON.parse(line))).toEqual([
    { seed: 4, failures: 0, events: expect.any(Number), digest: digests.get('4') },
  ])
  const all = `3 ${digests.get('3')}\n4 ${digests.get('4')}\n`
  expect(JSON.parse(many.at(-1) ?? '')).toMatchObject({ seeds: 2, digest: hash('sha256', all) })
}, 60_000)

test('a refusal is traced with the deed and the id of its step', async () => {
  const lines: string[] = []
  const steps: Step[] = [
    { do: 'sync', person: 5, id: 7, at: 0 },
    { do: 'enrol', person: 5, everyHours: 0, id: 8, at: 1 },
    { do: 'look', person: 6, id: 9, at: 2 },
    { do: 'offer', person: 7, company: 0, hours: 400, isActive: false, id: 10, at: 3 },
  ]
  await runSteps(1, steps, line => lines.push(line))
  const untilQuiet = lines.slice(0, lines.indexOf('quiet'))
  expect(untilQuiet.map(line => line.replace(/^\d.* {/, '{'))).toEqual([
    JSON.stringify(steps[0]),
    '  sync 7: NOT_FOUND',
    JSON.stringify(steps[1]),
    JSON.stringify(steps[2]),
    ...Array.from({ length: 3 }, () => '  look 9: NOT_FOUND'),
    JSON.stringify(steps[3]),
  ])
  const after = lines.slice(untilQuiet.length)
  // The final readings, and then the calls of the checks.
  expect(after).toContain('  sync 1000002: NOT_FOUND')
  expect(after.at(-1)).toBe('  views-equal-services: NOT_FOUND')
})

test('a stopped campaign reports the seeds that were run', async () => {
  const seen: number[] = []
  const campaign = await runSeeds({ first: 1, seeds: 20, days: 1 }, ({ seed }) => {
    seen.push(seed)
    return false
  })
  expect(seen.length).toBeLessThan(20)
  expect(campaign.seeds).toBe(seen.length)
})

test('a seed that does not end fails without blocking others', async () => {
  const failures: unknown[] = []
  const campaign = await runSeeds({ first: 1, seeds: 4, days: 1, seedMaxMs: 1 }, result => {
    failures.push(...result.failures)
    return true
  })
  expect(campaign).toMatchObject({ seeds: 4, failures: 4 })
  expect(failures).toHaveLength(4)
  expect(failures[0]).toEqual({ check: 'comes-to-an-end', what: 'it did not end within 1 ms' })
})
