import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { AverbaError } from '../index.ts'
import type { Fault, Policies } from '../simulation/index.ts'
import { asFileError, isFileError } from '../vocabulary/file-errors.ts'
import { printable } from '../vocabulary/printable.ts'
import { applyCommand } from './commands/apply.ts'
import { backupCommand } from './commands/backup.ts'
import type { DevOptions } from './commands/dev.ts'
import { doctorCommand } from './commands/doctor.ts'
import { eraseCommand } from './commands/erase.ts'
import { exportCommand } from './commands/export.ts'
import { failuresCommand } from './commands/failures.ts'
import { migrationsCommand } from './commands/migrations.ts'
import { planCommand } from './commands/plan.ts'
import { proveCommand } from './commands/prove.ts'
import { rebuildCommand } from './commands/rebuild.ts'
import { replayCommand } from './commands/replay.ts'
import { reportCommand } from './commands/report.ts'
import { restoreCommand } from './commands/restore.ts'
import { runCommand } from './commands/run.ts'
import type { SimulateOptions } from './commands/simulate.ts'
import { verifyCommand } from './commands/verify.ts'
import { printLine } from './output.ts'

/** Exit codes besides 0: 1 for an error that the message explains, 70 for a bug. */
const exitCodes = { error: 1, bug: 70 } as const

/** Parses the arguments and runs the command that they name. */
export async function runProgram(): Promise<void> {
  try {
    await createProgram().parseAsync()
  } catch (cause) {
    const error = isFileError(cause) ? asFileError('use', cause.path ?? 'a file', cause) : cause
    if (!(error instanceof AverbaError)) {
      console.error('This is a bug in averba, or in your code that averba called:', error)
      process.exit(exitCodes.bug)
    }
    console.error(printable(`${error.code}: ${error.message}`))
    if (error.hint !== undefined) console.error(printable(error.hint))
    process.exit(exitCodes.error)
  }
}

function createProgram(): Command {
  const program = new Command()
    .name('averba')
    .description('Consents, identity validations and customs webhooks, kept in an append-only log.')
    .version(readVersion(), '--version', 'print the version of averba')
    .showHelpAfterError('averba --help shows every command.')
  program
    .command('init')
    .description('Write averba.config.ts with every option, its meaning and the source of its value.')
    .option('--json', 'print one JSON object on the last line')
    .option('--dir <folder>', 'the folder to write it to', '.')
    .option('--force', 'overwrite an existing configuration')
    .action(runInit)
  addSimulationCommands(program)
  for (const create of [
    backupCommand,
    restoreCommand,
    doctorCommand,
    rebuildCommand,
    migrationsCommand,
    verifyCommand,
    exportCommand,
    proveCommand,
    replayCommand,
    eraseCommand,
    runCommand,
    planCommand,
    applyCommand,
    failuresCommand,
    reportCommand,
  ])
    program.addCommand(create())
  return program
}

function addSimulationCommands(program: Command): void {
  program
    .command('demo')
    .description('Demonstrate every lifecycle against simulated services over real TLS, on a SQLite file.')
    .option('--json', 'print one JSON object on the last line')
    .option('--dir <folder>', 'the folder for the log; by default a new temporary folder')
    .action(runDemoCommand)
  program
    .command('simulate')
    .description('Serve the simulated services over TLS on loopback, until stopped.')
    .option('--json', 'print their addresses as one JSON object on the first line')
    .option('--dir <folder>', 'a new folder for the certificates; by default a temporary folder')
    .option('--seed <number>', 'make ids, tokens and random faults repeatable', readSeed)
    .option('--fault <json>', 'a fault from the start; may be repeated', addFault, [])
    .option('--policies <json>', 'the behaviour that the contracts leave open', readPolicies)
    .option('--deliver-from <address>', 'the address in 127.0.0.0/8 that notifications come from')
    .action(runSimulateCommand)
  program
    .command('dev')
    .description('Let the simulated portal notify a receiver on this machine, without root and without port 443.')
    .option('--evento <evento...>', 'the events to subscribe to', ['dimp-situacao-import'])
    .option('--to <host:port>', 'your receiver; by default a receiver of averba')
    .option('--path <path>', "the path of your receiver's address", '/averba')
    .option('--secret <text>', 'a made-up chaveSecreta for the subscription of your receiver')
    .action(async (options: DevOptions) => {
      const { runDev } = await import('./commands/dev.ts')
      await runDev(options, printLine)
      process.exit()
    })
  program
    .command('trigger <evento>')
    .description('Let the portal of averba dev send one notification.')
    .option('--body <json>', 'its body', '{"numero":"26BR0000000001"}')
    .action(runTrigger)
}

/** Reads the version of the package. Its path is the same relative to this source file and to its built form. */
function readVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return version
}

async function runInit({ json = false, ...options }: { json?: boolean; dir: string; force?: boolean }) {
  const { writeConfig } = await import('./commands/init.ts')
  const result = writeConfig(options)
  if (json) return console.log(JSON.stringify(result))
  console.log(`Wrote ${result.file}. Next steps:`)
  console.log('1. Delete the services in it that you do not use.')
  console.log(`2. Set the remaining environment variables: ${result.variables.join(', ')}.`)
  console.log(
    `3. Set "type": "module" in package.json, and open the log: import config from './averba.config.ts', then await openAverba(config).`,
  )
  console.log('To try it without any account, start averba simulate: it writes a file with these variables.')
}

async function runTrigger(evento: string, { body }: { body: string }): Promise<void> {
  const { adviceFor, trigger } = await import('./commands/dev.ts')
  const deliveries = await trigger(evento, body)
  for (const delivery of deliveries) {
    printLine(delivery.isDelivered ? 'delivered' : `not delivered: ${delivery.description}`)
    const advice = adviceFor(delivery)
    if (advice !== undefined) printLine(advice)
  }
  if (deliveries.length === 0) {
    throw new AverbaError('NOT_FOUND', `Cannot trigger "${evento.slice(0, 40)}": it has no subscription`, {
      hint: `Start averba dev with --evento ${evento.slice(0, 40)}`,
    })
  }
  if (deliveries.some(each => !each.isDelivered)) process.exitCode = exitCodes.error
}

function readSeed(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new AverbaError('INVALID_INPUT', 'Cannot use the seed: it has to be a number of up to nine digits')
}

/** Parses a fault and appends it; the simulation checks its members. */
function addFault(text: string, before: readonly Fault[]): readonly Fault[] {
  try {
    return [...before, JSON.parse(text)]
  } catch (cause) {
    const hint = `Give an object, such as --fault '{"kind":"lose","times":1}'`
    throw new AverbaError('INVALID_INPUT', 'Cannot add the fault: it is not JSON', { cause, hint })
  }
}

/** Parses policies; the simulation checks their members. */
function readPolicies(text: string): Policies {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const hint = `Give an object, such as --policies '{"consentService":{"missingRecord":"badRequest"}}'`
    throw new AverbaError('INVALID_INPUT', 'Cannot set the policies: they are not JSON', { cause, hint })
  }
}

async function runSimulateCommand({
  json = false,
  fault: faults = [],
  ...options
}: Omit<SimulateOptions, 'faults'> & { json?: boolean; fault?: readonly Fault[] }): Promise<void> {
  const { runSimulation } = await import('./commands/simulate.ts')
  await runSimulation(
    addresses => {
      if (json) return console.log(JSON.stringify(addresses))
      const { consentService, tokenService, validationService, portal, control, env, samples } = addresses
      console.log(`consent service     ${consentService.baseUrl}/consentimento/v1`)
      console.log(`token service       ${tokenService.url}`)
      console.log(`validation service  ${validationService.baseUrl}/${validationService.service}/v2/validate/pf`)
      console.log(`portal              ${portal.baseUrl}/portal/api/ext/webhook`)
      console.log(`control             ${control.baseUrl}`)
      console.log(`certificates        ${consentService.ca}, and others in its folder`)
      console.log(`environment         ${env}, for the configuration of averba init`)
      console.log(`samples             CPF ${samples.cpf}, CNPJ ${samples.cnpj}: made up, and known to all services`)
      console.log('Stop with Ctrl-C. --json prints all of this for programs.')
    },
    { ...options, faults },
  )
  process.exit()
}

async function runDemoCommand({ json = false, dir }: { json?: boolean; dir?: string }): Promise<void> {
  const { runDemo } = await import('./commands/demo.ts')
  const started = performance.now()
  const result = await runDemo(line => console.log(line), dir)
  if (result.views !== 'equal') process.exitCode = exitCodes.bug
  if (json) {
    console.log(JSON.stringify(result))
    return
  }
  const seconds = ((performance.now() - started) / 1_000).toFixed(1)
  console.log('')
  console.log(`${result.events} events, ${result.notifications} notifications, ${result.tokenRequests} token requests,`)
  console.log(
    `${result.deliveries} deliveries of which ${result.failures} failed, ${result.deletedByPortal} subscription`,
  )
  console.log(`deleted by the portal, ${result.pending} calls pending; views ${result.views}; ${seconds} s.`)
  console.log(`The log is at ${result.store}`)
}
