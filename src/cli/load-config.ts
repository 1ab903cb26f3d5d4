import { existsSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Averba, AverbaError, type AverbaOptions, type LogLine, openAverba } from '../index.ts'
import { isFileError } from '../vocabulary/file-errors.ts'
import { isOnPostgres, markPath } from '../vocabulary/names.ts'
import { commandToAdd, commandToRun, isDeno } from '../vocabulary/runtime-commands.ts'
import type { Say } from './language.ts'
import { type LogOptions, type LogOptionValues, logOptions, readLogOptions, rejectOptions } from './options.ts'
import { printError } from './output.ts'
import type { Terminal } from './terminal.ts'

export const defaultConfig = 'averba.config.ts'

export const configOption = { '--config <file>': { text: 'the configuration', fallback: defaultConfig } } as const

/**
 * Loads the options that a configuration file exports by default.
 *
 * @throws {AverbaError} `NOT_FOUND` when the file is missing, `MISCONFIGURED` when it fails or exports no options
 */
export async function loadConfig(file: string): Promise<AverbaOptions> {
  const path = resolve(file)
  if (!existsSync(path)) {
    const hint = 'Write one with averba init, or name it with --config, or a log alone with --store'
    throw new AverbaError('NOT_FOUND', `Cannot load "${path}": the file is missing`, { hint })
  }
  const { default: options }: { default?: unknown } = await import(pathToFileURL(path).href).catch((cause: unknown) => {
    throw loadError(cause, path)
  })
  if (typeof options === 'object' && options !== null) return options as AverbaOptions // Checked by openAverba.
  const reason = 'it exports no options by default'
  const hint = 'End it with: export default defineConfig({ ... })'
  throw new AverbaError('MISCONFIGURED', `Cannot load "${path}": ${reason}`, { hint })
}

const missingVariable = /^The environment variable (\w+) is not set$/

/** Quotes no message of another error, since it may contain a secret. The name of a variable is not secret. */
function loadError(cause: unknown, path: string): AverbaError {
  const make = (reason: string, hint: string) =>
    new AverbaError('MISCONFIGURED', `Cannot load "${path}": ${reason}`, { cause, hint })
  const hint =
    cause instanceof SyntaxError && !isDeno
      ? `Its package.json needs the type module (npm pkg set type=module). If it has it, run the file alone: ${commandToRun(path)}`
      : `Run it alone to see where and why: ${commandToRun(path)}`
  // Our own texts hold no secret.
  if (cause instanceof AverbaError) return make(cause.message, cause.hint ?? hint)
  if (!(cause instanceof Error)) return make('it throws something that is not an Error', hint)
  if ('code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND') {
    const reason = 'a package or file that it imports is missing'
    const [, name = 'averba'] = /(?:^Cannot find package '|Import ")([^'"]+)/.exec(cause.message) ?? []
    return make(reason, `Install what it imports in its folder: ${commandToAdd(name)}`)
  }
  const [, missing] = missingVariable.exec(cause.message) ?? []
  if (missing === undefined) {
    const what = `${cause.name}${isFileError(cause) ? ` ${cause.code}` : ''}`
    const line = lineIn(path, cause)
    return make(line === undefined ? `it throws ${what}` : `it throws ${what} at line ${line}`, hint)
  }
  // The configuration fails at the first missing variable: name the other missing ones too.
  const others = requiredVariables(readFileSync(path, 'utf8')).filter(name => !process.env[name])
  const names = [...new Set([missing, ...others])]
  const reason =
    names.length === 1
      ? `The environment variable ${missing} is not set`
      : `The environment variables ${names.join(', ')} are not set`
  return make(reason, 'Set what is missing, or delete the services that you do not use from the configuration')
}

/** The line of a file at which an error was thrown, from its stack. */
function lineIn(path: string, { stack = '' }: Error): string | undefined {
  const names = [pathToFileURL(path).href, path]
  const at = stack.split('\n').find(line => names.some(name => line.includes(`${name}:`))) ?? ''
  return /:(\d+):\d+\)?$/.exec(at)?.[1]
}

/** Lists the environment variables that a configuration from the template of `averba init` requires. */
export function requiredVariables(config: string): string[] {
  const active = config.split('\n').filter(line => !/^\s*\/\//.test(line) && !line.startsWith('const '))
  return [...active.join('\n').matchAll(/(?:env|textOf)\('(\w+)'\)/g)].map(([, name = '']) => name)
}

/**
 * Opens the log of a configuration for one task; with `mustExist`, never creates one. Log lines go to standard error.
 *
 * @throws {AverbaError} `NOT_FOUND` when the log must exist and does not
 */
export async function withConfigured<T>(
  terminal: Terminal,
  file: string,
  work: (averba: Averba) => Promise<T>,
  { mustExist = false, onlyLooks = false } = {},
): Promise<T> {
  const options = await loadConfig(file)
  const { store } = options
  if (mustExist) {
    const hint =
      'Run it in the folder of the log, or give the store an absolute path in the configuration. A new log is made by averba run, averba apply or openAverba'
    requireLog(options, hint)
  }
  // Who only looks asks no third party for a signature.
  const { anchor, ...others } = options
  const looking = { ...others, ...(typeof store === 'string' && markToRead(options)) }
  return withOpen({ ...(onlyLooks ? looking : options), logger: toErrors(terminal) }, work)
}

/** Which log: the same for every command that works on one. */
export const placeOptions = {
  '--config <file>': `the configuration: ${defaultConfig} by default`,
  '--store <log>': 'only this log, a file or the address of its schema on PostgreSQL, without a configuration',
} as const

/** Which log, and what opens it. */
export const sourceOptions = { ...placeOptions, ...logOptions } as const

/** The same for a command that changes a whole log, which is never the one that happens to be here. */
export const namedOptions = {
  ...sourceOptions,
  '--config <file>': 'the configuration that names the log: this or --store is needed',
} as const

export interface SourceValues extends LogOptionValues {
  readonly config: string | undefined
  readonly store: string | undefined
}

/** Rejects options that exclude each other: the options of a log alone, and the configuration. */
export function checkSource({ config, store, keys, rootKeyFrom }: SourceValues): void {
  const unused = store === undefined ? { '--keys': keys, '--root-key-from': rootKeyFrom } : { '--config': config }
  const hint = 'Give the configuration, or the log with its keyring'
  const describe = (option: string) =>
    store === undefined ? `Cannot use ${option} without --store` : `Cannot use ${option} with --store`
  rejectOptions(unused, describe, hint)
}

/**
 * Opens the log that the options name: it must exist, and may be in use. Without a configuration no service is known.
 *
 * @throws {AverbaError} `INVALID_INPUT` for options that exclude each other; as `withConfigured` and `withStore` do
 */
export async function withLog<T>(
  terminal: Terminal,
  source: SourceValues,
  work: (averba: Averba) => Promise<T>,
  { onlyLooks = false, ...ofStore }: Pick<AverbaOptions, 'backupRetentionDays'> & { onlyLooks?: boolean } = {},
): Promise<T> {
  checkSource(source)
  const { config = defaultConfig, store } = source
  if (store === undefined) return withConfigured(terminal, config, work, { mustExist: true, onlyLooks })
  const keys = isOnPostgres(store) ? undefined : source.keys
  const hint =
    'To look into a backup whose keyring is elsewhere: doctor, verify and export take --keys, and restore makes a log of both'
  rejectOptions({ '--keys': keys }, each => `Cannot use ${each} here: an open file has its keyring beside it`, hint)
  const log = { ...readLogOptions(store, source), ...(onlyLooks && markToRead({ store })) }
  return withStore(log, work, { ...ofStore, logger: toErrors(terminal) })
}

/** Opens a log as `withLog` does, for a command that only looks. */
export const lookInto: typeof withLog = (terminal, source, work) => withLog(terminal, source, work, { onlyLooks: true })

/** A mark that is compared with the log and never written: who only looks shall not hide that it was missing. */
function markToRead({ store, highWaterMark }: Pick<AverbaOptions, 'store' | 'highWaterMark'>) {
  const path = isOnPostgres(store) ? undefined : markPath(store)
  const readFile = async () => (path !== undefined && existsSync(path) ? readFileSync(path, 'utf8') : undefined)
  const read = highWaterMark ? () => highWaterMark.read() : readFile
  return (highWaterMark || path !== undefined) && { highWaterMark: { read, write: async () => undefined } }
}

/** Requires that the log is named, by an option of `namedOptions`. */
export function requireNamed({ config, store }: SourceValues, cannot: string): void {
  if (config !== undefined || store !== undefined) return
  throw new AverbaError('INVALID_INPUT', cannot, { hint: 'Name it with --store, or with --config' })
}

/**
 * Finds the log that the options name, for work on it that opens no engine.
 *
 * @throws {AverbaError} `INVALID_INPUT` for options that exclude each other; as `loadConfig` does
 */
export async function findLog(source: SourceValues): Promise<LogOptions> {
  checkSource(source)
  if (source.store !== undefined) return readLogOptions(source.store, source)
  const options = await loadConfig(source.config ?? defaultConfig)
  const { store, pool, keyring, keys, highWaterMark } = options
  if (typeof store !== 'string')
    throw new AverbaError('MISCONFIGURED', 'Cannot use the configuration: it names no store')
  return {
    ...{ store, ...(pool && { pool }), ...(keyring && { keyring }) },
    ...{ ...(keys && { rootKey: keys }), ...(highWaterMark && { highWaterMark }) },
  }
}

/**
 * Opens an existing store for one task. `openAverba` alone would create a new log.
 *
 * @throws {AverbaError} `NOT_FOUND` when the file is missing
 */
async function withStore<T>(
  { rootKey, ...log }: LogOptions,
  work: (averba: Averba) => Promise<T>,
  more: Pick<AverbaOptions, 'backupRetentionDays' | 'logger'> = {},
): Promise<T> {
  requireLog(log, 'Name the file of a log, or a backup of one')
  return withOpen({ ...log, ...(rootKey && { keys: rootKey }), schedules: false, ...more }, work)
}

/** A log on a server whose keyring exists is not created either: a missing one is refused. */
function requireLog({ store, keyring }: Pick<AverbaOptions, 'store' | 'keyring'>, hint: string): void {
  const file = isOnPostgres(store) ? keyring : store
  // SQLite takes an empty file for a database.
  if (typeof file !== 'string' || file === ':memory:' || statSync(file, { throwIfNoEntry: false })?.size) return
  throw new AverbaError('NOT_FOUND', `Cannot open "${resolve(file)}": the file is missing or empty`, { hint })
}

function toErrors(terminal: Terminal): NonNullable<AverbaOptions['logger']> {
  return line => printError(terminal, terminal.isJson ? JSON.stringify(line) : formatLogLine(terminal.say, line))
}

export function formatLogLine(say: Say, { level, message, ...fields }: LogLine): string {
  const mark = { info: '', warn: say`WARNING: `, error: say`ERROR: ` }[level]
  const details = Object.entries(fields).map(([name, value]) =>
    typeof value === 'number' ? `${name} ${value}` : say.message(String(value)),
  )
  return `${mark}${say.message(message)}${details.length > 0 ? ` (${details.join(', ')})` : ''}`
}

async function withOpen<T>(options: AverbaOptions, work: (averba: Averba) => Promise<T>): Promise<T> {
  const averba = await openAverba(options)
  return work(averba).finally(() => averba.close())
}
