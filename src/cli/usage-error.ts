import { existsSync } from 'node:fs'
import type { Command, CommanderError } from 'commander'
import { AverbaError } from '../index.ts'
import { actorMissing } from './options.ts'
import { showValue, takes } from './printed-commands.ts'

/** What is wrong with the arguments of a command, as other errors are told. What only ends the help stays as it is. */
export function asUsageError(command: Command, cause: CommanderError): Error {
  const { exitCode, code, message } = cause
  if (exitCode === 0 || code === 'commander.help') return cause
  const [found = '', ...more] = message.replace(/^error: /, '').split('\n')
  const isOf = (option: string) => message.includes(`'${option}`)
  if (code === 'commander.missingMandatoryOptionValue' && isOf('--actor ')) return actorMissing()
  // The values are not repeated: an address may have a password.
  return usageError(found.replace(/( but got \d+): .*|\.$/, '$1'), more.join(' ') || hintFor(command, code, isOf))
}

function hintFor(command: Command, code: string, isOf: (option: string) => boolean): string {
  const path = pathOf(command)
  if (code === 'commander.excessArguments' && takes(command, '--store')) {
    const log = command.args.find(each => existsSync(each)) ?? command.args.at(-1) ?? ''
    return nameLog(path.slice('averba '.length), log)
  }
  const isPlaced = ['--store', '--keys', '--root-key-from'].some(isOf) && !takes(command, '--store')
  if (code === 'commander.unknownOption' && isPlaced && takes(command, '--config'))
    return `It needs a configuration, which names the log: ${path} --config <file>`
  return path === 'averba' ? 'averba --help shows every command' : `${path} --help shows what it takes`
}

/** The hint of every command that got a log as an argument. */
export function nameLog(command: string, log: string): string {
  return `The log is named by an option: averba ${command} --store ${showValue(log)}`
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
}

function usageError(found: string, hint: string): AverbaError {
  return new AverbaError('INVALID_INPUT', `Cannot use the command line: ${found}`, { hint })
}

/** Refuses an option in place of the value of another: `--actor --reason x` would name an actor for good. */
export function checkValues(command: Command): void {
  for (const option of command.options.filter(each => each.required))
    command.on(`option:${option.name()}`, (value: string) => {
      if (!/^--[a-z]/.test(value)) return
      const hint = `${value} was given in place of its value`
      throw usageError(`option '${option.flags}' argument missing`, hint)
    })
}
