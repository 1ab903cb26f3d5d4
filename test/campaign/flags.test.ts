import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readFlags, usage } from './flags.ts'

/** Runs the command itself, as whoever gives the flags does. */
function run(...args: readonly string[]) {
  const main = join(import.meta.dirname, 'main.ts')
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('a campaign without flags takes twenty seeds for thirty days, and flags say otherwise', () => {
  const many = { days: 30, first: 1, seeds: 20, until: undefined, json: false }
  expect(readFlags([])).toEqual(many)
  expect(
    readFlags(['--seeds', '300', '--days=60', '--first', '0', '--until', 'paid-once', '--json']),
  ).toEqual({
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
  [['--seed'], '--seed takes a whole number of up to twelve digits, 0 or more, and was given none'],
  [['--seed', '--days', '2'], '--seed takes a whole number of up to twelve digits, 0 or more, not "--days"'],
  [['--seeds', 'abc'], '--seeds takes a whole number of up to twelve digits, 1 or more, not "abc"'],
  [['--seeds', '0'], '--seeds takes a whole number of up to twelve digits, 1 or more, not "0"'],
  [['--days', '0'], '--days takes a whole number of up to twelve digits, 1 or more, not "0"'],
  [['--first', '1e3'], '--first takes a whole number of up to twelve digits, 0 or more, not "1e3"'],
  [
    ['--seed', '3', '--seeds', '4'],
    '--seeds is for a run of many seeds, and --seed runs one alone: give one of them',
  ],
  [['--seed', '3', '--seed', '4'], '--seed is given twice: give it once'],
  [['--shrink'], '--shrink needs --seed <number>: the seed whose failure is made short'],
  [['--shrink=no', '--seed', '3'], '--shrink takes nothing, not "no"'],
  [['--sed', '3'], 'There is no flag "--sed": --help names every one'],
  [['-s', '3'], 'There is no flag "-s": --help names every one'],
  [['3'], 'There is no flag "3": --help names every one'],
  [['--constructor'], 'There is no flag "--constructor": --help names every one'],
  [['--until', '3'], '--until takes the name of a check, such as paid-once, not "3"'],
] as const)('%j are wrong, and it says which and what they take', (args, message) => {
  expect(() => readFlags(args)).toThrow(expect.objectContaining({ name: 'WrongFlags', message }))
})

test('the command says it in one line, runs nothing, and ends with 2', () => {
  const { status, stdout, stderr } = run('--sed', '3')
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toBe('There is no flag "--sed": --help names every one\n')
})

test('the command prints every flag when it is asked for help', () => {
  const { status, stdout, stderr } = run('--help')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toBe(`${usage()}\n`)
  for (const flag of ['seeds', 'first', 'days', 'seed', 'shrink', 'until', 'json', 'help'])
    expect(stdout).toContain(`  --${flag} `)
})
