import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Averba, AverbaError, type AverbaOptions, openAverba } from '../index.ts'
import { isFileError } from '../vocabulary/file-errors.ts'
import { printable } from '../vocabulary/printable.ts'
import { requiredVariables } from './config-template.ts'

/** Where a configuration is looked for by default. */
export const defaultConfig = 'averba.config.ts'

/**
 * Loads the options that a configuration exports by default, as `averba init` writes them.
 *
 * @throws {AverbaError} `NOT_FOUND` when there is none, `MISCONFIGURED` when it fails or exports no options
 */
export async function loadConfig(file: string = defaultConfig): Promise<AverbaOptions> {
  const path = resolve(file)
  if (!existsSync(path)) {
    const hint = 'Write one with averba init, or name it with --config'
    throw new AverbaError('NOT_FOUND', `Cannot load "${path}": it is not there`, { hint })
  }
  const { default: options } = (await import(pathToFileURL(path).href).catch((cause: unknown) => {
    throw new AverbaError('MISCONFIGURED', `Cannot load "${path}": ${loadErrorReason(cause, path)}`, {
      cause,
      hint: loadErrorHint(cause, path),
    })
  })) as { default?: unknown } // What a module exports is checked below, and by openAverba.
  if (typeof options === 'object' && options !== null) return options as AverbaOptions // Checked by openAverba.
  const hint = 'End it with: export default defineConfig({ ... })'
  throw new AverbaError('MISCONFIGURED', `Cannot load "${path}": it exports no options by default`, { hint })
}

/** The error of a configuration that `averba init` wrote, for a missing variable. */
const missingVariable = /^The environment variable (\w+) is not set$/

function loadErrorHint(cause: unknown, path: string): string {
  if (cause instanceof Error && missingVariable.test(cause.message))
    return 'Set what is missing, or delete what you do not use from the configuration'
  const module = cause instanceof SyntaxError ? 'Its package.json has to say "type": "module". ' : ''
  return `${module}To see where and why, run it alone: node "${path}"`
}

/** An error's message may quote a secret; a variable's name does not. */
function loadErrorReason(cause: unknown, path: string): string {
  if (!(cause instanceof Error)) return 'it fails'
  const [, missing] = missingVariable.exec(cause.message) ?? []
  if (missing === undefined) return `it ends with ${cause.name}${isFileError(cause) ? ` ${cause.code}` : ''}`
  // It fails at the first variable: others that it requires in the same way are named too.
  const others = requiredVariables(readFileSync(path, 'utf8')).filter(name => !process.env[name])
  const names = [...new Set([missing, ...others])]
  if (names.length === 1) return cause.message
  return `The environment variables ${names.join(', ')} are not set`
}

/**
 * Opens the log of a configuration that is there. A new one would answer every question with nothing.
 *
 * @throws {AverbaError} `NOT_FOUND` when there is none
 */
export async function withExisting<T>(
  file: string | undefined,
  work: (averba: Averba) => Promise<T>,
): Promise<T> {
  const { store } = await loadConfig(file)
  if (typeof store === 'string' && store !== ':memory:' && !existsSync(store)) {
    const hint = 'Run it in the folder of the log, or name the store with its whole path in the configuration'
    throw new AverbaError('NOT_FOUND', `Cannot open "${resolve(store)}": it is not there`, { hint })
  }
  return withConfigured(file, work)
}

/** Opens the log of a configuration for one task. What it logs goes to standard error. */
export async function withConfigured<T>(
  file: string | undefined,
  work: (averba: Averba) => Promise<T>,
): Promise<T> {
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
