import { parseArgs } from 'node:util'

/** What a campaign is told: many seeds, or one alone. */
export type Flags = Many | One

interface Many {
  readonly days: number
  readonly first: number
  readonly seeds: number
  readonly until: string | undefined
  readonly json: boolean
}

interface One {
  readonly days: number
  readonly seed: number
  readonly shrink: boolean
  readonly json: boolean
}

/** The flags cannot be read: the message names the one, and what it takes. */
export class WrongFlags extends Error {
  override readonly name = 'WrongFlags'
}

type Name = keyof typeof flags

/** Every flag: what it takes, and what for. A number has so many digits at most that sums of them stay whole. */
const flags = {
  seeds: { takes: 'number', min: 1, does: 'how many seeds: 20 unless said otherwise' },
  first: { takes: 'number', min: 0, does: 'from which seed on: 1 unless said otherwise' },
  days: { takes: 'number', min: 1, does: 'for how many days of virtual time: 30 unless said otherwise' },
  seed: { takes: 'number', min: 0, does: 'runs this seed alone, and tells what is done in it' },
  shrink: { takes: 'nothing', does: 'with --seed: makes its failure as short as it gets' },
  until: { takes: 'check', does: 'ends at the first seed that breaks this check, and shrinks nothing' },
  json: { takes: 'nothing', does: 'prints nothing but failures, and one JSON object on the last line' },
  help: { takes: 'nothing', does: 'prints this' },
} as const

/** What only a run of many seeds knows. */
const ofMany: readonly Name[] = ['seeds', 'first', 'until']

/** All flags, a line each. */
export function usage(): string {
  const lines = Object.entries(flags).map(([name, { takes, does }]) => {
    const shown = takes === 'nothing' ? `--${name}` : `--${name} <${takes}>`
    return `  ${shown.padEnd(18)}${does}`
  })
  return `npm run campaign -- <flags>\n${lines.join('\n')}`
}

/**
 * Reads the flags, or that help is asked for.
 *
 * @throws {WrongFlags} for the first that is unknown, given twice, or not what it takes, and for two that exclude each other
 */
export function readFlags(args: readonly string[]): Flags | 'help' {
  const given = takeApart(args)
  if (given.has('help')) return 'help'
  const days = numberOf(given, 'days') ?? 30
  const seed = numberOf(given, 'seed')
  if (seed !== undefined) {
    const other = ofMany.find(name => given.has(name))
    if (other !== undefined)
      throw new WrongFlags(
        `--${other} is for a run of many seeds, and --seed runs one alone: give one of them`,
      )
    return { days, seed, shrink: given.has('shrink'), json: given.has('json') }
  }
  if (given.has('shrink'))
    throw new WrongFlags('--shrink needs --seed <number>: the seed whose failure is made short')
  return {
    days,
    first: numberOf(given, 'first') ?? 1,
    seeds: numberOf(given, 'seeds') ?? 20,
    until: given.get('until'),
    json: given.has('json'),
  }
}

/** The texts that flags were given; a flag that takes nothing has none. */
function takeApart(args: readonly string[]): ReadonlyMap<Name, string | undefined> {
  const given = new Map<Name, string | undefined>()
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { takes }]) => [
      name,
      { type: takes === 'nothing' ? ('boolean' as const) : ('string' as const) },
    ]),
  )
  // Not strict: its errors speak of parseArgs, and not of what a flag takes.
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
      throw new WrongFlags(`There is no flag "${shown}": --help names every one`)
    const { name, value } = token
    if (given.has(name)) throw new WrongFlags(`--${name} is given twice: give it once`)
    const misfit = misfitOf(name, value)
    if (misfit !== undefined) throw new WrongFlags(`--${name} ${misfit}`)
    given.set(name, value)
  }
  return given
}

function isFlag(name: string): name is Name {
  return Object.hasOwn(flags, name)
}

function numberOf(given: ReadonlyMap<Name, string | undefined>, name: Name): number | undefined {
  const text = given.get(name)
  return text === undefined ? undefined : Number(text)
}

/** Says what is wrong with what a flag was given. */
function misfitOf(name: Name, text: string | undefined): string | undefined {
  const flag = flags[name]
  const instead = text === undefined ? 'and was given none' : `not "${text}"`
  if (flag.takes === 'nothing') return text === undefined ? undefined : `takes nothing, ${instead}`
  if (flag.takes === 'check') {
    const isName = /^[a-z]+(-[a-z]+)*$/.test(text ?? '')
    return isName ? undefined : `takes the name of a check, such as paid-once, ${instead}`
  }
  const isNumber = /^\d{1,12}$/.test(text ?? '') && Number(text) >= flag.min
  return isNumber ? undefined : `takes a whole number of up to twelve digits, ${flag.min} or more, ${instead}`
}
