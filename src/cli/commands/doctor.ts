import { Command } from 'commander'
import { AverbaError, type Diagnosis, diagnoseStore, type Examination, examine } from '../../index.ts'
import { defaultConfig, loadConfig } from '../load-config.ts'
import { formatBytes, formatCount, formatPendingEffects, printLine } from '../output.ts'
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
    .description('Check a configuration and everything it needs, or a store alone, and say what to do.')
    .argument('[store]', 'the file of a log, or a backup: then only this file is checked')
    .option('--config <file>', 'the configuration', defaultConfig)
    .option('--keys <file>', 'with a store: its keyring, such as that of a backup; by default the one beside it')
    .option('--deep', 'also read the whole file, and compare all its parts with each other')
    .option('--token', 'also request one token from the gateway')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nThe log is only read, and may be in use. Each service receives only a HEAD / request: no paid call,\n' +
        'and no token request without --token. The clock may differ from those of the services by 60 s.\n' +
        'Exit codes: 0 no problem, 1 a problem was found, or the store cannot be opened.',
    )
    .action(doctor)
}

async function doctor(store: string | undefined, options: Options): Promise<void> {
  const { json = false, deep = false, keys } = options
  if (store === undefined) {
    if (keys === undefined) return examineConfig(options)
    throw new AverbaError('INVALID_INPUT', 'Cannot use --keys without a store', {
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
  if (json) printLine(JSON.stringify(found))
  else for (const line of formatDiagnosis(found)) printLine(line)
}

async function examineConfig({ config, token = false, deep = false, json = false }: Options): Promise<void> {
  const { ok, checks, store } = await loadConfig(config).then(
    options => examine(options, { token, isDeep: deep }),
    toFailedExamination,
  )
  if (!ok) process.exitCode = 1
  if (json) return printLine(JSON.stringify({ ok, checks, ...(store && { store }) }))
  for (const { name, ok: isOk, detail } of checks)
    printLine(`${isOk ? 'ok   ' : 'WRONG'}  ${name.padEnd(19)}  ${detail}`)
  const problems = checks.filter(each => !each.ok).length
  printLine(ok ? 'No problems.' : `${formatCount(problems, 'problem')}.`)
}

/** Reports a configuration that cannot be loaded as a failed check. */
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
  yield `event    ${bytesPerEvent} bytes on average, with everything that belongs to it`
  for (const { month, events, bytes } of found.months)
    yield `growth   ${month}: ${formatCount(events, 'event')}, about ${formatBytes(bytes)}`
  const epochs = `${keys.epochs?.join(', ') ?? 'unknown'}; needed: ${found.epochs.join(', ') || 'none yet'}`
  yield keys.isPresent
    ? `keyring  ${keys.path}: ${keys.id ?? 'unreadable'}, mode ${keys.mode}, epochs ${epochs}`
    : `keyring  ${keys.path} is missing`
  for (const { view, version, position: at, isRunning } of found.views)
    yield `view     ${view}, version ${version}, ${isRunning ? 'at' : 'stopped at'} ${at}`
  yield found.pending.length === 0 ? 'pending  none' : 'pending'
  yield* formatPendingEffects(found.pending)
  const pragmas = Object.entries(found.pragmas).map(([name, value]) => `${name} ${value}`)
  yield `pragmas  ${pragmas.join(', ')}`
  if (checked) yield `checked  ${formatCount(checked.events, 'event')}, ${formatCount(checked.parts, 'part')}`
  yield found.problems.length === 0 ? 'No problems.' : 'WRONG:'
  for (const problem of found.problems) yield `  ${problem}`
}
