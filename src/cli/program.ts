import { readFileSync } from 'node:fs'
import { format } from 'node:util'
import { Command, CommanderError, Option } from 'commander'
import { AverbaError, type Language } from '../index.ts'
import { asDenied } from '../vocabulary/connection-errors.ts'
import { asFileError, isFileError } from '../vocabulary/file-errors.ts'
import { type CreateCommand, exitCodes, type StartWork } from './command.ts'
import { backupCommand, restoreCommand, resumeCommand } from './commands/backups.ts'
import { chartsCommand, grantsCommand, migrationsCommand } from './commands/built-in.ts'
import { changeRootKeyCommand } from './commands/change-root-key.ts'
import { consentsCommands } from './commands/consents.ts'
import { consoleCommand } from './commands/console.ts'
import { copyCommand } from './commands/copy.ts'
import { demoCommand } from './commands/demo.ts'
import { devCommand, triggerCommand } from './commands/dev.ts'
import { doctorCommand } from './commands/doctor.ts'
import { effectsCommands } from './commands/effects.ts'
import { eraseCommand } from './commands/erase.ts'
import { exportCommand, proveCommand } from './commands/evidence.ts'
import { followersCommands } from './commands/followers.ts'
import { initCommand } from './commands/init.ts'
import { logCommand, showCommand } from './commands/log.ts'
import { notificationsCommands } from './commands/notifications.ts'
import { rebuildCommand } from './commands/rebuild.ts'
import { replayCommand } from './commands/replay.ts'
import { reportCommand } from './commands/report.ts'
import { runCommand } from './commands/run.ts'
import { simulateCommand } from './commands/simulate.ts'
import { statusCommand } from './commands/status.ts'
import { applyCommand, failuresCommand, planCommand, subscriptionsCommands } from './commands/subscriptions.ts'
import { validationsCommands } from './commands/validations.ts'
import { verifyCommand } from './commands/verify.ts'
import { completionCommand } from './completion.ts'
import { languages, readLanguage, type Say, toLanguage } from './language.ts'
import { printError, WatchedOutput } from './output.ts'
import { PrintedCommands, takes } from './printed-commands.ts'
import { type HostTerminal, type Terminal, withLanguage } from './terminal.ts'
import { asUsageError, checkValues } from './usage-error.ts'

/** In the order of the help, under its headings. */
const commands: Readonly<Record<string, readonly CreateCommand[]>> = {
  'To begin:': [initCommand, demoCommand, simulateCommand, devCommand, triggerCommand, completionCommand],
  'To run and to look:': [runCommand, statusCommand, consoleCommand, logCommand, showCommand, doctorCommand],
  'To act:': [
    ...[effectsCommands, consentsCommands, validationsCommands, notificationsCommands, followersCommands],
    ...[subscriptionsCommands, planCommand, applyCommand, failuresCommand, eraseCommand],
  ],
  'To prove and to report:': [reportCommand, verifyCommand, exportCommand, proveCommand, replayCommand],
  'To keep:': [
    ...[backupCommand, restoreCommand, resumeCommand, copyCommand, rebuildCommand, changeRootKeyCommand],
    ...[migrationsCommand, grantsCommand, chartsCommand],
  ],
}

/** Runs the command that the arguments name, and resolves with its exit code after all output is written. */
export async function runProgram(args: readonly string[], host: HostTerminal): Promise<number> {
  const output = new WatchedOutput(host)
  let code: number = exitCodes.done
  const isJson = args.includes('--json')
  const run = async () => {
    const printed = new PrintedCommands()
    const terminal = withLanguage(host, findLanguage(args), isJson, text => printed.complete(text))
    const program = createProgram(terminal, async (work, continuesWithoutOutput) => {
      output.isOptional = continuesWithoutOutput
      code = await work(terminal)
    })
    printed.watch(program)
    const [first, ...others] = args
    await program.parseAsync(first === 'help' ? [...others, '--help'] : args, { from: 'user' }).catch(cause => {
      code = reportError(cause, terminal)
    })
  }
  const parsing = run().catch(cause => {
    code = reportError(cause, withLanguage(host, undefined, isJson))
  })
  await Promise.race([parsing.then(() => output.written()), output.closed])
  return output.hasFailed && code !== exitCodes.bug ? exitCodes.error : code
}

function describeOption({ description, defaultValue, mandatory, argChoices = [] }: Option, say: Say): string {
  const values = [defaultValue ?? []].flat().join(' ')
  const needed = mandatory ? say.text('required') : ''
  const more = [needed, argChoices.join(', '), values && `${say.text('default')}: ${values}`].filter(Boolean)
  return more.length === 0 ? description : `${description} (${more.join('; ')})`
}

export function createProgram(terminal: Terminal, start: StartWork): Command {
  const { say } = terminal
  const program = new Command()
    .name('averba')
    .description(say.text('Consents, identity validations and customs webhooks, kept in an append-only log.'))
    .version(readVersion(), '-V, --version', say.text('print the version of averba'))
    .addOption(languageOption(say))
    .configureHelp({
      styleTitle: title => say.text(title),
      optionDescription: option => describeOption(option, say),
      minWidthToWrap: 20,
    })
    .configureOutput({
      writeOut: text => terminal.stdout.write(text),
      writeErr: text => terminal.stderr.write(text),
      getOutHelpWidth: () => terminal.stdout.columns ?? 80,
      // Help has no colours: to find whether it may, variables would be read that Deno does not permit.
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      // `reportError` says what is wrong.
      outputError: () => undefined,
    })
  const adopt = (parent: Command) => {
    parent.helpOption('-h, --help', say.text('show what it does')).helpCommand(false)
    // Every command takes it, and only the first help names it, and that of a command for which it says more.
    if (!takes(parent, '--lang')) parent.addOption(languageOption(say).hideHelp())
    parent.exitOverride(cause => {
      throw asUsageError(parent, cause)
    })
    checkValues(parent)
    for (const each of parent.commands) {
      each.copyInheritedSettings(parent)
      adopt(each)
    }
  }
  for (const [heading, created] of Object.entries(commands))
    for (const create of created) program.addCommand(create(start, say).helpGroup(say.text(heading)))
  adopt(program)
  return program
}

function languageOption(say: Say): Option {
  const option = new Option('--lang <language>', say.text('the language, by default that of LANG'))
  return option.choices(languages).argParser(readLanguage)
}

/** Finds the language before commander reads the arguments: the help and errors of other arguments are in it. */
function findLanguage(args: readonly string[]): Language | undefined {
  const at = args.findIndex(each => each === '--lang' || each.startsWith('--lang='))
  const [, inline] = args[at]?.split('=') ?? []
  return toLanguage(at < 0 ? undefined : (inline ?? args[at + 1]))
}

/** Reads the version of the package. Its path is the same relative to this source file and to its built form. */
function readVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return version
}

function reportError(cause: unknown, terminal: Terminal): number {
  const { isJson } = terminal
  // Commander has printed the help.
  if (cause instanceof CommanderError) return cause.exitCode
  const error = isFileError(cause) ? asFileError('use', cause.path ?? 'a file', cause) : asDenied(cause)
  if (!(error instanceof AverbaError)) {
    const bug = terminal.say.text('This is a bug in averba, or in your code that averba called:')
    terminal.stderr.write(`${format(bug, error)}\n`)
    return exitCodes.bug
  }
  const { code, message, hint } = error
  if (isJson) {
    printError(terminal, JSON.stringify({ code, message, ...(hint !== undefined && { hint }) }))
    return exitCodes.error
  }
  const meaning = terminal.say.language === 'en' ? '' : ` (${terminal.say.text(code)})`
  printError(terminal, `${code}${meaning}: ${terminal.say.message(message)}`)
  if (hint !== undefined) printError(terminal, terminal.say.message(hint))
  return exitCodes.error
}
