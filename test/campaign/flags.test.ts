import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readFlags, usage } from './flags.ts'

test('a campaign runs twenty seeds for thirty days by default, and flags change that', () => {
  const many = { days: 30, first: 1, seeds: 20, until: undefined, json: false }
  expect(readFlags([])).toEqual(many)
  const flags = readFlags(['--seeds', '300', '--days=60', '--first', '0', '--until', 'paid-once', '--json'])
  expect(flags).toEqual({ days: 60, first: 0, seeds: 300, until: 'paid-once', json: true })
  // Seconds since 1970, as CI does.
  expect(readFlags(['--first', '1795302184'])).toEqual({ ...many, first: 1_795_302_184 })
  const one = { days: 30, seed: 47, shrink: false, json: false }
  expect(readFlags(['--seed', '47'])).toEqual(one)
  const shrunk = readFlags(['--shrink', '--json', '--seed', '47', '--days', '2'])
  expect(shrunk).toEqual({ ...one, days: 2, shrink: true, json: true })
  expect(readFlags(['--help'])).toBe('help')
})

const number = 'takes a whole number of up to twelve digits'

test.each([
  [['--seed', 'x', '--days', '2'], `--seed ${number}, 0 or more, not "x"`],
  [['--seed=-1'], `--seed ${number}, 0 or more, not "-1"`],
  [['--seed', ''], `--seed ${number}, 0 or more, not ""`],
  [['--seeds', '0'], `--seeds ${number}, 1 or more, not "0"`],
  [['--days', '1.5'], `--days ${number}, 1 or more, not "1.5"`],
  [['--first', '1e3'], `--first ${number}, 0 or more, not "1e3"`],
  [['--seed', '3', '--seeds', '4'], 'Cannot use --seeds with --seed: --seeds is for many seeds, --seed runs one'],
  [['--seed', '3', '--seed', '4'], '--seed is given twice'],
  [['--shrink'], '--shrink needs --seed <number>, the seed with the failure'],
  [['--until', '3'], '--until takes the name of a check, such as paid-once, not "3"'],
  [['--seed', '--days', '2'], /argument is ambiguous/],
  [['--shrink=no', '--seed', '3'], /'--shrink' does not take an argument\. --help lists all flags$/],
  [['--sed', '3'], /^Unknown option '--sed'.*--help lists all flags$/],
  [['3'], /^Unexpected argument '3'.*--help lists all flags$/],
] as const)('%j are rejected with the flag and the reason', (args, message) => {
  const told = typeof message === 'string' ? message : expect.stringMatching(message)
  expect(() => readFlags(args)).toThrow(expect.objectContaining({ name: 'FlagError', message: told }))
})

test.each([
  ['the command reports it, runs nothing and exits with 2', ['--sed', '3'], 2, '', /^Unknown option '--sed'/],
  ['--help prints every flag', ['--help'], 0, `${usage}\n`, /^$/],
] as const)('%s', (_, args, status, stdout, stderr) => {
  const main = join(import.meta.dirname, 'main.ts')
  // Node 22 warns of its SQLite.
  const env = { ...process.env, NODE_NO_WARNINGS: '1' }
  const ended = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', env })
  expect(ended).toMatchObject({ status, stdout, stderr: expect.stringMatching(stderr) })
})
