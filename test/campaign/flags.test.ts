import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readFlags } from './flags.ts'

test('a campaign runs twenty seeds for thirty days by default, and flags change that', () => {
  expect(readFlags([])).toEqual({ days: 30, first: 1, seeds: 20 })
  const flags = readFlags(['--seeds', '300', '--days=60', '--first', '1795302184', '--until', 'paid-once', '--json'])
  expect(flags).toEqual({ days: 60, first: 1_795_302_184, seeds: 300, until: 'paid-once', json: true })
  expect(readFlags(['--shrink', '--seed', '0'])).toMatchObject({ seed: 0, shrink: true, days: 30 })
})

test.each([
  ['--seed=-1', /--seed.*0 or more/],
  ['--seeds=0', /--seeds.*1 or more/],
  ['--seed=3 --seeds=4', /'--seed <number>' cannot be used with option '--seeds <number>'/],
  ['--shrink', /--shrink needs --seed/],
])('%s is refused with the reason', (args, reason) => {
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => said.mockRestore())
  expect(() => readFlags(args.split(' '))).toThrow(reason)
  expect(said).toHaveBeenCalledWith(expect.stringMatching(reason))
})

test('the command reports an invalid flag, runs nothing and exits with 2', () => {
  const main = join(import.meta.dirname, 'main.ts')
  // Node 22 warns of its SQLite.
  const options = { encoding: 'utf8', env: { ...process.env, NODE_NO_WARNINGS: '1' } } as const
  const ended = spawnSync(process.execPath, [main, '--sed', '3'], options)
  expect(ended).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringMatching(/^error: unknown option '--sed'/),
  })
})
