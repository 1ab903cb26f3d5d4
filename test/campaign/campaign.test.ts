import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { root, run } from '../support/run-script.ts'
import { runSeeds } from './run-seeds.ts'

test('every check holds in worlds with faults and crashes, and the command gives a seed the same digest', async () => {
  const print = async (...flags: readonly string[]) => {
    const args = ['test/campaign/main.ts', ...flags, '--days', '2']
    const { stdout } = await run(process.execPath, args, { cwd: root })
    return stdout.trim().split('\n')
  }
  const [printed, asJson] = await Promise.all([print('--first', '1', '--seeds', '2'), print('--seed', '2', '--json')])
  const campaign = JSON.parse(printed.at(-1) ?? '')
  expect(campaign).toMatchObject({ seeds: 2, failures: 0, refuted: [] })
  expect(campaign.events).toBeGreaterThan(200)
  const ofSeed = /^seed (\d): (\d+) events, 0 failures, digest (\w+)$/
  const results = printed.sort().flatMap(line => {
    const [, seed, events, digest] = ofSeed.exec(line) ?? []
    return digest === undefined ? [] : [{ seed: Number(seed), failures: 0, events: Number(events), digest }]
  })
  expect(results.map(({ seed }) => seed)).toEqual([1, 2])
  expect(campaign.digest).toBe(hash('sha256', results.map(({ seed, digest }) => `${seed} ${digest}\n`).join('')))
  expect(results[0]?.digest).not.toBe(results[1]?.digest)
  // Only the object.
  expect(asJson.map(line => JSON.parse(line))).toEqual([results[1]])
})

test('a seed that does not end fails without blocking others', async () => {
  const failures: unknown[] = []
  const campaign = await runSeeds({ first: 1, seeds: 4, days: 1, seedMaxMs: 1 }, result => {
    failures.push(...result.failures)
    return true
  })
  expect(campaign).toMatchObject({ seeds: 4, failures: 4 })
  expect(failures).toEqual(Array(4).fill({ check: 'comes-to-an-end', what: 'it did not end within 1 ms' }))
})
