import { Command, Option } from 'commander'
import type { Say } from './language.ts'
import { type Line, printResult } from './output.ts'
import type { Terminal } from './terminal.ts'

/** The exit codes of every command: 1 an error that the message explains, 2 something to act on, 70 a bug. */
export const exitCodes = { done: 0, error: 1, attention: 2, bug: 70 } as const

/** Runs the work of a command, and keeps its exit code for the end of the program. */
export type StartWork = (
  work: (terminal: Terminal) => Promise<number>,
  continuesWithoutOutput: boolean,
) => Promise<void>

export type CreateCommand = (start: StartWork, say: Say) => Command

/** An option: its help, or what else holds of it. Its flags are its name. */
type OptionDefinition =
  | string
  | {
      readonly text: string
      readonly isRequired?: true
      /** The environment variable that is used in its place. */
      readonly variable?: string
      readonly fallback?: unknown
      /** The values that it may have. */
      readonly choices?: readonly string[]
      /** Reads a value; `before` is the value so far, or the fallback. */
      readonly read?: (text: string, before: never) => unknown
    }

const jsonOption = { '--json': 'print one JSON object' }

type OptionDefinitions = Readonly<Record<`--${string}`, OptionDefinition>>

type CamelCase<S extends string> = S extends `${infer A}-${infer B}` ? `${A}${Capitalize<CamelCase<B>>}` : S

/** The name of an option in the code: `--take-over` is `takeOver`. */
type OptionName<Flags> = Flags extends `--${infer Name} ${string}`
  ? CamelCase<Name>
  : Flags extends `--${infer Name}`
    ? CamelCase<Name>
    : never

/** The value of an option. One without a parameter is false when it is not given. */
type OptionValue<Flags, D> = Flags extends `${string} <${infer Parameter}>`
  ?
      | (D extends { read: (...given: never) => infer T } | { choices: readonly (infer T)[] }
          ? T
          : Parameter extends `${string}...`
            ? readonly string[]
            : string)
      | (D extends { isRequired: true } | { fallback: unknown } ? never : undefined)
  : boolean

/** The values of options, by their names in the code. */
export type OptionValues<O> = { readonly [Flags in keyof O as OptionName<Flags>]: OptionValue<Flags, O[Flags]> }

type ArgumentValue<A> = A extends `[${string}...]` | `<${string}...>`
  ? string[]
  : A extends `[${string}`
    ? string | undefined
    : string

type ArgumentValues<U extends string> = U extends `${string} ${infer A} ${infer More}`
  ? [ArgumentValue<A>, ...ArgumentValues<`- ${More}`>]
  : U extends `${string} ${infer A}`
    ? [ArgumentValue<A>]
    : []

/** How a command ends: its exit code, and what it prints, which is one JSON object with `--json`, and lines without. */
export type CommandEnd =
  | number
  | { readonly result: object; readonly lines: Iterable<string | Line>; readonly code?: number | undefined }

interface CommandDefinition<U extends string, O> {
  /** The name and the arguments, such as `backup <store> <file>`. */
  readonly usage: U
  readonly description: string
  /** The help of the arguments, in their order. */
  readonly arguments?: readonly string[]
  /** `--json` is added when absent. */
  readonly options?: O
  /** A whole command line. */
  readonly example: string
  /** The text after the options. */
  readonly notes?: string
  /** Whether it goes on when its output fails. */
  readonly continuesWithoutOutput?: boolean
  run(
    terminal: Terminal,
    options: OptionValues<O & typeof jsonOption>,
    ...values: ArgumentValues<U>
  ): CommandEnd | Promise<CommandEnd>
}

/** Defines a command. The types of its options and arguments follow from their flags. */
export function defineCommand<const U extends string, const O extends OptionDefinitions>(
  definition: CommandDefinition<U, O>,
): CreateCommand {
  const {
    usage,
    description,
    arguments: texts = [],
    options = {},
    example,
    notes,
    continuesWithoutOutput = false,
  } = definition
  const [name = '', ...placeholders] = usage.split(' ')
  const all: OptionDefinitions = { ...options, ...('--json' in options ? {} : jsonOption) }
  return (start, say) => {
    const command = new Command(name).description(say.text(description))
    for (const [i, each] of placeholders.entries()) command.argument(each, texts[i] && say.text(texts[i]))
    for (const [flags, each] of Object.entries(all)) command.addOption(createOption(flags, each, say))
    command.addHelpText('after', `\n${say.text('Example:')} ${example}`)
    const after = notes === undefined ? '' : say.text(notes)
    const width = () => command.configureOutput().getOutHelpWidth?.() ?? 80
    command.addHelpText('after', () => command.createHelp().boxWrap(after, width()))
    const off = command.options.filter(each => each.isBoolean()).map(each => [each.attributeName(), false])
    return command.action(() =>
      start(async terminal => {
        const given = { ...Object.fromEntries(off), ...command.optsWithGlobals() }
        // Commander reads both by the flags and the placeholders that the types are made of.
        const [values, args] = [
          given as OptionValues<O & typeof jsonOption>,
          command.processedArgs as ArgumentValues<U>,
        ]
        const end = await definition.run(terminal, values, ...args)
        if (typeof end === 'number') return end
        printResult(terminal, given.json === true, end.result, end.lines)
        return end.code ?? exitCodes.done
      }, continuesWithoutOutput),
    )
  }
}

export function defineGroup(name: string, description: string, commands: readonly CreateCommand[]): CreateCommand {
  return (start, say) => {
    const group = new Command(name).description(say.text(description))
    for (const create of commands) group.addCommand(create(start, say))
    return group
  }
}

function createOption(flags: string, definition: OptionDefinition, say: Say): Option {
  if (typeof definition === 'string') return new Option(flags, say.text(definition))
  const { text, isRequired = false, fallback, variable, choices, read } = definition
  const option = new Option(flags, say.text(text)).default(fallback).makeOptionMandatory(isRequired)
  if (variable !== undefined) option.env(variable)
  if (choices) option.choices(choices)
  // It gets what it returned before.
  return read ? option.argParser(read as (text: string, before: unknown) => unknown) : option
}
