import { readFileSync } from 'node:fs'
import { format } from 'node:util'
import { Command, CommanderError } from 'commander'
import { AverbaError } from '../index.ts'
import { asFileError, isFileError } from '../vocabulary/file-errors.ts'
import { exitCodes, type StartWork } from './command.ts'
import { backupCommand, restoreCommand, resumeCommand } from './commands/backups.ts'
import { chartsCommand, grantsCommand, migrationsCommand } from './commands/built-in.ts'
import { changeRootKeyCommand } from './commands/change-root-key.ts'
import { copyCommand } from './commands/copy.ts'
import { demoCommand } from './commands/demo.ts'
import { devCommand, triggerCommand } from './commands/dev.ts'
import { doctorCommand } from './commands/doctor.ts'
import { eraseCommand } from './commands/erase.ts'
import { exportCommand, proveCommand } from './commands/evidence.ts'
import { initCommand } from './commands/init.ts'
import { rebuildCommand } from './commands/rebuild.ts'
import { replayCommand } from './commands/replay.ts'
import { reportCommand } from './commands/report.ts'
import { runCommand } from './commands/run.ts'
import { simulateCommand } from './commands/simulate.ts'
import { applyCommand, failuresCommand, planCommand } from './commands/subscriptions.ts'
import { verifyCommand } from './commands/verify.ts'
import { printError, WatchedOutput } from './output.ts'
import type { Terminal } from './terminal.ts'

/** In the order of the help. */
const commands = [
  ...[initCommand, demoCommand, simulateCommand, devCommand, triggerCommand],
  ...[backupCommand, restoreCommand, resumeCommand, copyCommand, doctorCommand, rebuildCommand, changeRootKeyCommand],
  ...[migrationsCommand, grantsCommand, chartsCommand],
  ...[verifyCommand, exportCommand, proveCommand, replayCommand, eraseCommand],
  ...[runCommand, planCommand, applyCommand, failuresCommand, reportCommand],
]

/** Runs the command that the arguments name, and resolves with its exit code after all output is written. */
export async function runProgram(args: readonly string[], terminal: Terminal): Promise<number> {
  const output = new WatchedOutput(terminal)
  let code: number = exitCodes.done
  const program = createProgram(terminal, async (work, continuesWithoutOutput) => {
    output.isOptional = continuesWithoutOutput
    code = await work(terminal)
  })
  const parsing = program.parseAsync(args, { from: 'user' }).catch(cause => {
    code = reportError(cause, terminal)
  })
  await Promise.race([parsing.then(() => output.written()), output.closed])
  return output.hasFailed && code !== exitCodes.bug ? exitCodes.error : code
}

function createProgram(terminal: Terminal, start: StartWork): Command {
  const program = new Command()
    .name('averba')
    .description('Consents, identity validations and customs webhooks, kept in an append-only log.')
    .version(readVersion(), '--version', 'print the version of averba')
    .showHelpAfterError('averba --help shows every command.')
    .exitOverride()
    .configureOutput({
      writeOut: text => terminal.stdout.write(text),
      writeErr: text => terminal.stderr.write(text),
    })
  for (const create of commands) program.addCommand(create(start).copyInheritedSettings(program))
  return program
}

/** Reads the version of the package. Its path is the same relative to this source file and to its built form. */
function readVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return version
}

/** Prints why a command has ended, and returns the exit code. */
function reportError(cause: unknown, terminal: Terminal): number {
  // Commander has printed the help, or what is wrong with the arguments.
  if (cause instanceof CommanderError) return cause.exitCode
  const error = isFileError(cause) ? asFileError('use', cause.path ?? 'a file', cause) : cause
  if (!(error instanceof AverbaError)) {
    terminal.stderr.write(`${format('This is a bug in averba, or in your code that averba called:', error)}\n`)
    return exitCodes.bug
  }
  printError(terminal, `${error.code}: ${error.message}`)
  if (error.hint !== undefined) printError(terminal, error.hint)
  return exitCodes.error
}
