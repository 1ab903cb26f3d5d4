import { rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { AverbaError, configTemplate } from '../../index.ts'
import { asFileError, isFileError } from '../../vocabulary/file-errors.ts'
import { makeFolder } from '../../vocabulary/make-folder.ts'
import { defineCommand } from '../command.ts'
import type { Say } from '../language.ts'
import { defaultConfig, requiredVariables } from '../load-config.ts'
import comments from '../portuguese-config.json' with { type: 'json' }

export const initCommand = defineCommand({
  usage: 'init',
  description: 'Write averba.config.ts with every option, its meaning and the source of its value.',
  options: {
    '--dir <folder>': { text: 'the folder to write it to', fallback: '.' },
    '--force': 'overwrite an existing configuration',
  },
  example: 'averba init --dir .',
  async run({ say }, { dir, force }) {
    const result = writeConfig(
      dir,
      force,
      await configTemplate(comment => (say.language === 'en' ? undefined : portuguese.get(comment)) ?? comment),
    )
    return { result, lines: formatNextSteps(say, result) }
  },
})

const portuguese = new Map(Object.entries(comments))

function* formatNextSteps(say: Say, { file, variables }: ReturnType<typeof writeConfig>): Iterable<string> {
  yield say`Wrote ${file}. Next steps:`
  yield say`1. Delete the services in it that you do not use.`
  yield say`2. Set the remaining environment variables: ${variables.join(', ')}.`
  yield say`3. Set "type": "module" in package.json, and open the log: import config from './averba.config.ts', then await openAverba(config).`
  yield say`To try it without any account, start averba simulate: it writes a file with these variables.`
}

/** Writes a commented configuration into a folder, made if it is missing. Returns the variables that it requires. */
function writeConfig(dir: string, force: boolean, config: string) {
  const folder = resolve(dir)
  const file = join(folder, defaultConfig)
  try {
    makeFolder(folder)
  } catch (cause) {
    const reason = isFileError(cause) ? `: ${cause.code}` : ''
    const hint = 'Name a folder that this user is allowed to make'
    throw new AverbaError('INVALID_INPUT', `Cannot make the folder "${folder}"${reason}`, { cause, hint })
  }
  try {
    // The flag lets the file system check: another process may create the file between a check and the write.
    writeFileSync(file, config, { flag: force ? 'w' : 'wx' })
  } catch (cause) {
    const code = isFileError(cause) ? cause.code : undefined
    // A partly written file would make the next run fail.
    if (code !== 'EEXIST' && !force) rmSync(file, { force: true })
    if (code !== 'EEXIST') throw asFileError('write', file, cause)
    const hint = 'To overwrite it: averba init --force'
    throw new AverbaError('REFUSED', `Cannot write "${file}": it exists already`, { cause, hint })
  }
  return { file, variables: requiredVariables(config) }
}
