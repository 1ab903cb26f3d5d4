import { parseArgs } from 'node:util'

/** The flags of a campaign: for many seeds, or for one. */
export type Flags = Exclude<ReturnType<typeof readFlags>, 'help'>

/** A flag is invalid: the message names it. */
export class FlagError extends Error {
  override readonly name = 'FlagError'
}

const [text, mark] = [{ type: 'string' }, { type: 'boolean' }] as const
const options = { seeds: text, first: text, days: text, seed: text, shrink: mark, until: text, json: mark, help: mark }

/** The help. */
export const usage = `npm run campaign -- <flags>
  --seeds <number>  the number of seeds, 20 by default
  --first <number>  the first seed, 1 by default
  --days <number>   the days of virtual time, 30 by default
  --seed <number>   runs only this seed, and prints its steps
  --shrink          with --seed: finds the shortest steps to its failure
  --until <check>   ends at the first seed that fails this check, and shrinks no failure
  --json            prints only failures, and one JSON object on the last line
  --help            prints this help`

/**
 * Reads the flags.
 *
 * @throws {FlagError} for an unknown, repeated or invalid flag, and for two flags that exclude each other
 */
export function readFlags(args: readonly string[]) {
  const { values, tokens } = parse(args)
  const names = tokens.flatMap(each => (each.kind === 'option' ? [each.name] : []))
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw new FlagError(`--${twice} is given twice`)
  const { help, shrink = false, json = false, until } = values
  if (help) return 'help'
  const days = toNumber('days', values.days, 1) ?? 30
  const seed = toNumber('seed', values.seed, 0)
  const other = (['seeds', 'first', 'until'] as const).find(name => values[name] !== undefined)
  if (seed !== undefined && other !== undefined)
    throw new FlagError(`Cannot use --${other} with --seed: --${other} is for many seeds, --seed runs one`)
  if (seed !== undefined) return { days, seed, shrink, json }
  if (shrink) throw new FlagError('--shrink needs --seed <number>, the seed with the failure')
  if (until !== undefined && !/^[a-z]+(-[a-z]+)*$/.test(until))
    throw new FlagError(`--until takes the name of a check, such as paid-once, not "${until}"`)
  const [first = 1, seeds = 20] = [toNumber('first', values.first, 0), toNumber('seeds', values.seeds, 1)]
  return { days, first, seeds, until, json }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, tokens: true })
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause
    throw new FlagError(`${cause.message}. --help lists all flags`, { cause })
  }
}

function toNumber(name: string, text: string | undefined, min: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,12}$/.test(text) && Number(text) >= min) return Number(text)
  throw new FlagError(`--${name} takes a whole number of up to twelve digits, ${min} or more, not "${text}"`)
}
