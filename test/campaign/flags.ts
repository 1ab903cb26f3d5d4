import { Command, InvalidArgumentError, Option } from 'commander'

export interface Flags {
  readonly seeds: number
  readonly first: number
  readonly days: number
  readonly seed?: number
  readonly shrink?: true
  readonly until?: string
  readonly json?: true
}

const wholeFrom = (min: number) => (text: string) => {
  if (/^\d{1,12}$/.test(text) && Number(text) >= min) return Number(text)
  throw new InvalidArgumentError(`Give a whole number of up to twelve digits, ${min} or more.`)
}

/**
 * Reads the flags.
 *
 * @throws {CommanderError} for an invalid flag, which it has printed, and for `--help`
 */
export function readFlags(args: readonly string[]): Flags {
  const option = (flags: string, text: string, min: number) => new Option(flags, text).argParser(wholeFrom(min))
  const program = new Command('npm run campaign --')
    .addOption(option('--seeds <number>', 'the number of seeds', 1).default(20))
    .addOption(option('--first <number>', 'the first seed', 0).default(1))
    .addOption(option('--days <number>', 'the days of virtual time', 1).default(30))
    .addOption(option('--seed <number>', 'runs only this seed', 0).conflicts(['seeds', 'first', 'until']))
    .option('--shrink', 'with --seed: finds the shortest steps to its failure')
    .option('--until <check>', 'ends at the first seed that fails this check, and shrinks no failure')
    .option('--json', 'prints only failures, and one JSON object on the last line')
    .exitOverride()
    .parse(args, { from: 'user' })
  const flags = program.opts<Flags>()
  if (flags.shrink && flags.seed === undefined) program.error('error: --shrink needs --seed, the seed with the failure')
  return flags
}
