import { AverbaError, type Diagnosis, diagnoseStore, type Examination, examine } from '../../index.ts'
import { describeError } from '../../vocabulary/error-words.ts'
import { defineCommand, exitCodes } from '../command.ts'
import type { Say } from '../language.ts'
import { checkSource, defaultConfig, loadConfig, sourceOptions } from '../load-config.ts'
import { readLogOptions, rejectOptions } from '../options.ts'
import { formatBytes, formatPendingEffects } from '../output.ts'
import { createProgress } from '../progress.ts'

export const doctorCommand = defineCommand({
  usage: 'doctor',
  description:
    'Check a configuration and everything it needs, or with --store a log or a backup alone, and say what to do.',
  options: {
    ...sourceOptions,
    '--deep': 'also read the whole file, and compare all its parts with each other',
    '--token': 'also request one token from the gateway',
  },
  example: 'averba doctor --config averba.config.ts',
  notes:
    'The log is only read, and may be in use. Each service receives only a GET / request: no paid call, ' +
    'and no token request without --token. The clock may differ from those of the services by 60 s.\n' +
    'Exit codes: 0 no problem, 1 a problem was found, or the store cannot be opened.',
  async run(terminal, { deep: isDeep, token, ...source }) {
    checkSource(source)
    const { config, store } = source
    const onProgress = createProgress(terminal)
    if (store !== undefined) {
      const hint = 'It is for: averba doctor --config <file> --token'
      rejectOptions({ '--token': token || undefined }, option => `Cannot use ${option} with --store`, hint)
      const result = await diagnoseStore({ ...readLogOptions(store, source), isDeep, onProgress })
      return {
        result,
        lines: formatDiagnosis(terminal.say, result),
        code: result.problems.length > 0 ? exitCodes.error : exitCodes.done,
      }
    }
    const examining = loadConfig(config ?? defaultConfig).then(
      options => examine(options, { token, isDeep, onProgress }),
      toFailedExamination,
    )
    const { ok, checks, store: found } = await examining
    const result = { ok, checks, ...(found && { store: found }) }
    return { result, lines: formatExamination(terminal.say, result), code: ok ? exitCodes.done : exitCodes.error }
  },
})

function* formatExamination(say: Say, { ok, checks }: Examination): Iterable<string> {
  for (const { name, ok: isOk, detail } of checks)
    yield `${isOk ? 'ok   ' : say`WRONG`}  ${name.padEnd(19)}  ${say.message(detail)}`
  const problems = checks.filter(each => !each.ok).length
  yield ok ? say`No problems.` : `${say.count(problems, 'problem')}.`
}

function toFailedExamination(error: unknown): Examination {
  if (!(error instanceof AverbaError)) throw error
  return { ok: false, checks: [{ name: 'configuration', ok: false, detail: describeError(error) }] }
}

function* formatDiagnosis(say: Say, found: Diagnosis): Iterable<string> {
  const { fileBytes, walBytes, freeBytes, position, since, at, bytesPerEvent, keys, checked } = found
  const size = [fileBytes, walBytes, freeBytes].map(formatBytes)
  yield say`file     ${size[0]}, and ${size[1]} in its -wal; ${size[2]} of it free`
  yield say`log      ${found.origin}: ${say.count(position, 'event')} from ${since} to ${at}`
  yield say`event    ${bytesPerEvent} bytes on average, with everything that belongs to it`
  for (const { month, events, bytes } of found.months)
    yield say`growth   ${month}: ${say.count(events, 'event')}, about ${formatBytes(bytes)}`
  const [held, needed] = [keys.epochs?.join(', ') ?? say`unknown`, found.epochs.join(', ') || say`none yet`]
  yield keys.isPresent
    ? say`keyring  ${keys.path}: ${keys.id ?? say`unreadable`}, mode ${keys.mode}, epochs ${held}; needed: ${needed}`
    : say`keyring  ${keys.path} is missing`
  for (const { view, version, position: at, isRunning } of found.views)
    yield isRunning
      ? say`view     ${view}, version ${version}, at ${at}`
      : say`view     ${view}, version ${version}, stopped at ${at}`
  yield found.pending.length === 0 ? say`pending  none` : say`pending`
  yield* formatPendingEffects(say, found.pending)
  const settings = Object.entries(found.settings).map(([name, value]) => `${name} ${value}`)
  yield say`settings ${settings.join(', ')}`
  if (checked) yield say`checked  ${say.count(checked.events, 'event')}, ${say.count(checked.parts, 'part')}`
  yield found.problems.length === 0 ? say`No problems.` : say`WRONG:`
  for (const problem of found.problems) yield `  ${say.message(problem)}`
}
