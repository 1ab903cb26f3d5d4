import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { AverbaError } from '../../index.ts'
import { asFileError, isFileError } from '../../vocabulary/file-errors.ts'
import { configTemplate, requiredVariables } from '../config-template.ts'

const fileName = 'averba.config.ts'

/** The result of `averba init`, as printed with `--json`. */
export interface InitResult {
  readonly file: string
  /** The environment variables that the configuration reads, without those in comments. */
  readonly variables: readonly string[]
}

/**
 * Writes a commented configuration into a folder, and makes the folder if it is missing.
 *
 * @throws {AverbaError} `REFUSED` when a configuration exists and `force` is not given, `INVALID_INPUT` when the folder
 * cannot be made, `STORE_UNSAFE` when the file cannot be written
 */
export function writeConfig({ dir = '.', force = false }: { dir?: string; force?: boolean }): InitResult {
  const folder = resolve(dir)
  const file = join(folder, fileName)
  try {
    mkdirSync(folder, { recursive: true })
  } catch (cause) {
    const reason = isFileError(cause) ? `: ${cause.code}` : ''
    throw new AverbaError('INVALID_INPUT', `Cannot make the folder "${folder}"${reason}`, {
      cause,
      hint: 'Name a folder that this user is allowed to make',
    })
  }
  try {
    // The flag lets the file system check: another process may create the file between a check and the write.
    writeFileSync(file, configTemplate, { flag: force ? 'w' : 'wx' })
  } catch (cause) {
    const code = isFileError(cause) ? cause.code : undefined
    // A partly written file would make the next run fail.
    if (code !== 'EEXIST' && !force) rmSync(file, { force: true })
    throw code === 'EEXIST'
      ? new AverbaError('REFUSED', `Cannot write "${file}": it exists already`, {
          cause,
          hint: 'To overwrite it: averba init --force',
        })
      : asFileError('write', file, cause)
  }
  return { file, variables: requiredVariables() }
}
