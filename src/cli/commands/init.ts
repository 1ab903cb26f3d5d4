import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { AverbaError } from '../../index.ts'
import { asFileError, isFileError } from '../../vocabulary/file-errors.ts'
import { configTemplate, requiredVariables } from '../config-template.ts'

const fileName = 'averba.config.ts'

/** What `averba init` wrote, for machines. */
export interface InitResult {
  readonly file: string
  /** The environment variables that it reads, but for those in comments. */
  readonly variables: readonly string[]
}

/**
 * Writes a commented configuration into a folder, which is made when it is not there.
 *
 * @throws {AverbaError} `REFUSED` when one is there already and `force` is not given, `INVALID_INPUT` when the
 * folder cannot be made, `STORE_UNSAFE` when it cannot
 * be written there
 */
export function writeConfig({ dir = '.', force = false }: { dir?: string; force?: boolean }): InitResult {
  const folder = resolve(dir)
  const file = join(folder, fileName)
  try {
    mkdirSync(folder, { recursive: true })
  } catch (cause) {
    const why = isFileError(cause) ? `: ${cause.code}` : ''
    throw new AverbaError('INVALID_INPUT', `Cannot make the folder "${folder}"${why}`, {
      cause,
      hint: 'Name a folder that this user may make',
    })
  }
  try {
    // The file system refuses: another file may appear between a check and the write.
    writeFileSync(file, configTemplate, { flag: force ? 'w' : 'wx' })
  } catch (cause) {
    const code = isFileError(cause) ? cause.code : undefined
    // An empty one would stand in the way of the next one.
    if (code !== 'EEXIST' && !force) rmSync(file, { force: true })
    throw code === 'EEXIST'
      ? new AverbaError('REFUSED', `Cannot write "${file}": it is there already`, {
          cause,
          hint: 'To write it anew, and lose what stands in it: averba init --force',
        })
      : asFileError('write', file, cause)
  }
  return { file, variables: requiredVariables() }
}
