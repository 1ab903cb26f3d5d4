import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Averba, AverbaError, type AverbaOptions, openAverba } from '../index.ts'
import { isFileError } from '../vocabulary/file-errors.ts'
import { printable } from '../vocabulary/printable.ts'
import { requiredVariables } from './config-template.ts'

/** The default file of the configuration. */
export const defaultConfig = 'averba.config.ts'

/**
 * Loads the options that a configuration file exports by default.
 *
 * @throws {AverbaError} `NOT_FOUND` when the file is missing, `MISCONFIGURED` when it fails or exports no options
 */
export async function loadConfig(file: string = defaultConfig): Promise<AverbaOptions> {
  const path = resolve(file)
  if (!existsSync(path)) {
    const hint = 'Write one with averba init, or name it with --config'
    throw new AverbaError('NOT_FOUND', `Cannot load "${path}": the file is missing`, { hint })
  }
  const { default: options } = (await import(pathToFileURL(path).href).catch((cause: unknown) => {
    throw new AverbaError('MISCONFIGURED', `Cannot load "${path}": ${loadErrorReason(cause, path)}`, {
      cause,
      hint: loadErrorHint(cause, path),
    })
  })) as { default?: unknown } // The options are checked below, and by openAverba.
  if (typeof options === 'object' && options !== null) return options as AverbaOptions // Checked by openAverba.
  const hint = 'End it with: export default defineConfig({ ... })'
  throw new AverbaError('MISCONFIGURED', `Cannot load "${path}": it exports no options by default`, { hint })
}

/** The error that the function `env` of the template throws for a missing variable. */
const missingVariable = /^The environment variable (\w+) is not set$/

function loadErrorHint(cause: unknown, path: string): string {
  if (cause instanceof Error && missingVariable.test(cause.message))
    return 'Set what is missing, or delete the services that you do not use from the configuration'
  if (isModuleMissing(cause)) return 'Install averba, and what else it imports, in its folder: npm install averba'
  const module = cause instanceof SyntaxError ? 'Its package.json has to say "type": "module". ' : ''
  return `${module}To see where and why, run it alone: node "${path}"`
}

function isModuleMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
}

/** Quotes no message of another error, since it may contain a secret. The name of a variable is not secret. */
function loadErrorReason(cause: unknown, path: string): string {
  if (!(cause instanceof Error)) return 'it throws something that is not an Error'
  if (isModuleMissing(cause)) return 'a package or file that it imports is missing'
  const [, missing] = missingVariable.exec(cause.message) ?? []
  if (missing === undefined) return `it throws ${cause.name}${isFileError(cause) ? ` ${cause.code}` : ''}`
  // The configuration fails at the first missing variable: name the other missing ones too.
  const others = requiredVariables(readFileSync(path, 'utf8')).filter(name => !process.env[name])
  const names = [...new Set([missing, ...others])]
  if (names.length === 1) return cause.message
  return `The environment variables ${names.join(', ')} are not set`
}

/**
 * Opens the existing log of a configuration for one task, and never creates a new one.
 *
 * @throws {AverbaError} `NOT_FOUND` when the log does not exist
 */
export async function withExisting<T>(file: string | undefined, work: (averba: Averba) => Promise<T>): Promise<T> {
  const { store } = await loadConfig(file)
  if (typeof store === 'string' && store !== ':memory:' && !existsSync(store)) {
    const hint = 'Run it in the folder of the log, or give the store an absolute path in the configuration'
    throw new AverbaError('NOT_FOUND', `Cannot open "${resolve(store)}": the file is missing`, { hint })
  }
  return withConfigured(file, work)
}

/** Opens the log of a configuration for one task. Log lines go to standard error. */
export async function withConfigured<T>(file: string | undefined, work: (averba: Averba) => Promise<T>): Promise<T> {
  const options = await loadConfig(file)
  const averba = await openAverba({
    ...options,
    logger: line => console.error(printable(JSON.stringify(line))),
  })
  try {
    return await work(averba)
  } finally {
    await averba.close()
  }
}
