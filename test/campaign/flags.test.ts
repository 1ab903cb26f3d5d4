import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readFlags, usage } from './flags.ts'

/** Runs the command itself. */
function run(...args: readonly string[]) {
  const main = join(import.meta.dirname, 'main.ts')
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('a campaign runs twenty seeds for thirty days by default, and flags change that', () => {
  const many = { days: 30, first: 1, seeds: 20, until: undefined, json: false }
  expect(readFlags([])).toEqual(many)
  expect(readFlags(['--seeds', '300', '--days=60', '--first', '0', '--until', 'paid-once', '--json'])).toEqual({
    days: 60,
    first: 0,
    seeds: 300,
    until: 'paid-once',
    json: true,
  })
  // Seconds since 1970, as CI does.
  expect(readFlags(['--first', '1795302184'])).toEqual({ ...many, first: 1_795_302_184 })
  expect(readFlags(['--seed', '47'])).toEqual({ days: 30, seed: 47, shrink: false, json: false })
  expect(readFlags(['--shrink', '--json', '--seed', '47', '--days', '2'])).toEqual({
    days: 2,
    seed: 47,
    shrink: true,
    json: true,
  })
  expect(readFlags(['--help'])).toBe('help')
})

test.each([
  [['--seed', 'x', '--days', '2'], '--seed takes a whole number of up to twelve digits, 0 or more, not "x"'],
  [['--seed', '-1'], '--seed takes a whole number of up to twelve digits, 0 or more, not "-1"'],
  [['--seed=-1'], '--seed takes a whole number of up to twelve digits, 0 or more, not "-1"'],
  [['--seed', '1.5'], '--seed takes a whole number of up to twelve digits, 0 or more, not "1.5"'],
  [['--seed', ''], '--seed takes a whole number of up to twelve digits, 0 or more, not ""'],
  [['--seed'], '--seed takes a whole number of up to twelve digits, 0 or more, but has none'],
  [['--seed', '--days', '2'], '--seed takes a whole number of up to twelve digits, 0 or more, not "--days"'],
  [['--seeds', 'abc'], '--seeds takes a whole number of up to twelve digits, 1 or more, not "abc"'],
  [['--seeds', '0'], '--seeds takes a whole number of up to twelve digits, 1 or more, not "0"'],
  [['--days', '0'], '--days takes a whole number of up to twelve digits, 1 or more, not "0"'],
  [['--first', '1e3'], '--first takes a whole number of up to twelve digits, 0 or more, not "1e3"'],
  [['--seed', '3', '--seeds', '4'], 'Cannot use --seeds with --seed: --seeds is for many seeds, --seed runs one'],
  [['--seed', '3', '--seed', '4'], '--seed is given twice'],
  [['--shrink'], '--shrink needs --seed <number>, the seed with the failure'],
  [['--shrink=no', '--seed', '3'], '--shrink takes no value, not "no"'],
  [['--sed', '3'], 'Unknown flag "--sed". --help lists all flags'],
  [['-s', '3'], 'Unknown flag "-s". --help lists all flags'],
  [['3'], 'Unknown flag "3". --help lists all flags'],
  [['--constructor'], 'Unknown flag "--constructor". --help lists all flags'],
  [['--until', '3'], '--until takes the name of a check, such as paid-once, not "3"'],
] as const)('%j are rejected with the flag and the value that it takes', (args, message) => {
  expect(() => readFlags(args)).toThrow(expect.objectContaining({ name: 'FlagError', message }))
})

test('the command prints one line, runs nothing and exits with 2', () => {
  const { status, stdout, stderr } = run('--sed', '3')
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toBe('Unknown flag "--sed". --help lists all flags\n')
})

test('--help prints every flag', () => {
  const { status, stdout, stderr } = run('--help')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toBe(`${usage()}\n`)
  for (const flag of ['seeds', 'first', 'days', 'seed', 'shrink', 'until', 'json', 'help'])
    expect(stdout).toContain(`  --${flag} `)
})
