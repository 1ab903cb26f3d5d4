import { Command } from 'commander'
import { AverbaError, type Diagnosis, diagnoseStore, type Examination, examine } from '../../index.ts'
import { defaultConfig, loadConfig } from '../load-config.ts'
import { formatBytes, formatCount, formatPendingEffects, printSafely } from '../output.ts'
import { createProgress } from '../progress.ts'

interface Options {
  readonly config: string
  readonly keys?: string
  readonly deep?: boolean
  readonly token?: boolean
  readonly json?: boolean
}

/** The command `averba doctor`. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Look at a configuration and all that it needs, or at a store alone, and say what to do.')
    .argument('[store]', 'the file of the log, or a backup of one: then nothing else is looked at')
    .option('--config <file>', 'the configuration', defaultConfig)
    .option(
      '--keys <file>',
      'with a store: its keyring, such as that of a backup; the one beside it otherwise',
    )
    .option('--deep', 'compare everything in the store with everything else: reads the whole file')
    .option('--token', 'ask the gateway for a token as well, once')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nNothing is written to the log, which may be in use. Each service is sent a HEAD / and none of its operations:\n' +
        "no paid call, and no token request but with --token. Our clock may be 60 s from the services'.\n" +
        'Exit codes: 0 all is well, 1 something is wrong or it cannot be opened.',
    )
    .action(doctor)
}

async function doctor(store: string | undefined, options: Options): Promise<void> {
  const { json = false, deep = false, keys } = options
  if (store === undefined) {
    if (keys === undefined) return examineConfig(options)
    throw new AverbaError('INVALID_INPUT', 'Cannot use --keys: it goes with a store', {
      hint: 'Give both: averba doctor <store> --keys <file>',
    })
  }
  const found = await diagnoseStore({
    store,
    ...(keys !== undefined && { keys }),
    isDeep: deep,
    onProgress: createProgress(),
  })
  if (found.problems.length > 0) process.exitCode = 1
  if (json) printSafely(JSON.stringify(found))
  else for (const line of formatDiagnosis(found)) printSafely(line)
}

async function examineConfig({ config, token = false, deep = false, json = false }: Options): Promise<void> {
  const { ok, checks, store } = await loadConfig(config).then(
    options => examine(options, { token, isDeep: deep }),
    toFailedExamination,
  )
  if (!ok) process.exitCode = 1
  if (json) return printSafely(JSON.stringify({ ok, checks, ...(store && { store }) }))
  for (const { name, ok: isWell, detail } of checks)
    printSafely(`${isWell ? 'well ' : 'WRONG'}  ${name.padEnd(19)}  ${detail}`)
  printSafely(ok ? 'Nothing is wrong.' : `${checks.filter(each => !each.ok).length} to look after.`)
}

/** The finding for a configuration that cannot even be loaded. */
function toFailedExamination(error: unknown): Examination {
  if (!(error instanceof AverbaError)) throw error
  const detail = [error.message, error.hint].filter(Boolean).join(': ')
  return { ok: false, checks: [{ name: 'configuration', ok: false, detail }] }
}

function* formatDiagnosis(found: Diagnosis): Iterable<string> {
  const { fileBytes, walBytes, freeBytes, position, since, at, bytesPerEvent, keys, checked } = found
  const size = [fileBytes, walBytes, freeBytes].map(formatBytes)
  yield `file     ${size[0]}, and ${size[1]} in its -wal; ${size[2]} of it free`
  yield `log      ${found.origin}: ${formatCount(position, 'event')} from ${since} to ${at}`
  yield `event    ${bytesPerEvent} bytes each, everything counted in`
  for (const { month, events, bytes } of found.months)
    yield `growth   ${month}: ${formatCount(events, 'event')}, about ${formatBytes(bytes)}`
  const epochs = `${keys.epochs?.join(', ') ?? 'unknown'}; needed: ${found.epochs.join(', ') || 'none yet'}`
  yield keys.isPresent
    ? `keyring  ${keys.path}: ${keys.id ?? 'unreadable'}, mode ${keys.mode}, epochs ${epochs}`
    : `keyring  ${keys.path} is not there`
  for (const { view, version, position: at, isRunning } of found.views)
    yield `view     ${view}, version ${version}, ${isRunning ? 'at' : 'stands still at'} ${at}`
  yield found.owed.length === 0 ? 'owed     nothing' : 'owed'
  yield* formatPendingEffects(found.owed)
  const pragmas = Object.entries(found.pragmas).map(([name, value]) => `${name} ${value}`)
  yield `pragmas  ${pragmas.join(', ')}`
  if (checked) yield `checked  ${formatCount(checked.events, 'event')}, ${formatCount(checked.parts, 'part')}`
  yield found.problems.length === 0 ? 'Nothing is wrong.' : 'WRONG:'
  for (const problem of found.problems) yield `  ${problem}`
}
