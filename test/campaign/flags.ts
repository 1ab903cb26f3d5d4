import { parseArgs } from 'node:util'

/** The flags of a campaign: for many seeds, or for one. */
export type Flags = ManySeedsFlags | OneSeedFlags

interface ManySeedsFlags {
  readonly days: number
  readonly first: number
  readonly seeds: number
  readonly until: string | undefined
  readonly json: boolean
}

interface OneSeedFlags {
  readonly days: number
  readonly seed: number
  readonly shrink: boolean
  readonly json: boolean
}

/** A flag is invalid: the message names it and the value that it takes. */
export class FlagError extends Error {
  override readonly name = 'FlagError'
}

type FlagName = keyof typeof flags

/** Every flag: the value that it takes, and its effect. */
const flags = {
  seeds: { takes: 'number', min: 1, does: 'the number of seeds, 20 by default' },
  first: { takes: 'number', min: 0, does: 'the first seed, 1 by default' },
  days: { takes: 'number', min: 1, does: 'the days of virtual time, 30 by default' },
  seed: { takes: 'number', min: 0, does: 'runs only this seed, and prints its steps' },
  shrink: { takes: 'nothing', does: 'with --seed: finds the shortest steps to its failure' },
  until: { takes: 'check', does: 'ends at the first seed that fails this check, and shrinks no failure' },
  json: { takes: 'nothing', does: 'prints only failures, and one JSON object on the last line' },
  help: { takes: 'nothing', does: 'prints this help' },
} as const

/** The flags that only a run of many seeds has. */
const manySeedsOnly: readonly FlagName[] = ['seeds', 'first', 'until']

/** The help: one line for each flag. */
export function usage(): string {
  const lines = Object.entries(flags).map(([name, { takes, does }]) => {
    const shown = takes === 'nothing' ? `--${name}` : `--${name} <${takes}>`
    return `  ${shown.padEnd(18)}${does}`
  })
  return `npm run campaign -- <flags>\n${lines.join('\n')}`
}

/**
 * Reads the flags.
 *
 * @throws {FlagError} for an unknown, repeated or invalid flag, and for two flags that exclude each other
 */
export function readFlags(args: readonly string[]): Flags | 'help' {
  const given = parseTokens(args)
  if (given.has('help')) return 'help'
  const days = numberFlag(given, 'days') ?? 30
  const seed = numberFlag(given, 'seed')
  if (seed !== undefined) {
    const other = manySeedsOnly.find(name => given.has(name))
    if (other !== undefined)
      throw new FlagError(`Cannot use --${other} with --seed: --${other} is for many seeds, --seed runs one`)
    return { days, seed, shrink: given.has('shrink'), json: given.has('json') }
  }
  if (given.has('shrink')) throw new FlagError('--shrink needs --seed <number>, the seed with the failure')
  return {
    days,
    first: numberFlag(given, 'first') ?? 1,
    seeds: numberFlag(given, 'seeds') ?? 20,
    until: given.get('until'),
    json: given.has('json'),
  }
}

/** The values of the given flags; `undefined` for a flag without a value. */
function parseTokens(args: readonly string[]): ReadonlyMap<FlagName, string | undefined> {
  const given = new Map<FlagName, string | undefined>()
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { takes }]) => [
      name,
      { type: takes === 'nothing' ? ('boolean' as const) : ('string' as const) },
    ]),
  )
  // Not strict, because the errors of parseArgs do not say which value a flag takes.
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue
    const shown = token.kind === 'option' ? token.rawName : token.value
    if (token.kind !== 'option' || !token.rawName.startsWith('--') || !isFlag(token.name))
      throw new FlagError(`Unknown flag "${shown}". --help lists all flags`)
    const { name, value } = token
    if (given.has(name)) throw new FlagError(`--${name} is given twice`)
    const problem = findProblem(name, value)
    if (problem !== undefined) throw new FlagError(`--${name} ${problem}`)
    given.set(name, value)
  }
  return given
}

function isFlag(name: string): name is FlagName {
  return Object.hasOwn(flags, name)
}

function numberFlag(given: ReadonlyMap<FlagName, string | undefined>, name: FlagName): number | undefined {
  const text = given.get(name)
  return text === undefined ? undefined : Number(text)
}

/** Describes what is wrong with the value of a flag; `undefined` when it is valid. */
function findProblem(name: FlagName, text: string | undefined): string | undefined {
  const flag = flags[name]
  const instead = text === undefined ? 'but has none' : `not "${text}"`
  if (flag.takes === 'nothing') return text === undefined ? undefined : `takes no value, ${instead}`
  if (flag.takes === 'check') {
    const isName = /^[a-z]+(-[a-z]+)*$/.test(text ?? '')
    return isName ? undefined : `takes the name of a check, such as paid-once, ${instead}`
  }
  const isNumber = /^\d{1,12}$/.test(text ?? '') && Number(text) >= flag.min
  return isNumber ? undefined : `takes a whole number of up to twelve digits, ${flag.min} or more, ${instead}`
}
