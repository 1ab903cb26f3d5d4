import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AverbaOptions } from '../../src/index.ts'
import { temporaryFolder } from './temporary-folder.ts'

/**
 * The options of each configuration file, which imports them from here.
 *
 * @public
 */
export const configurations = new Map<string, AverbaOptions>()

/** Writes a configuration file with the given options, functions included. Returns its path, which is always new. */
export function configFile(options: AverbaOptions, name = 'averba'): string {
  const file = join(temporaryFolder(), `${name}.config.ts`)
  configurations.set(file, options)
  const text = `import { configurations } from '${import.meta.filename}'\nexport default configurations.get('${file}')\n`
  writeFileSync(file, text)
  return file
}
