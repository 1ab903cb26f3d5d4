import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'

const made: string[] = []

/** Where code can import the package by its name: a folder in the package, for the temporary folder of this run. */
const scratchInPackage = resolve(import.meta.dirname, '../../.averba', basename(tmpdir()))

/** Creates an empty folder in a parent folder. It is removed when the process or the run of tests ends. */
export function temporaryFolder(parent: string = tmpdir()): string {
  mkdirSync(parent, { recursive: true })
  const folder = realpathSync(mkdtempSync(join(parent, 'averba-')))
  if (made.push(folder) === 1) process.once('exit', removeAll)
  return folder
}

/** Makes the path of a store that does not exist yet, in a folder of its own. */
export function temporaryStore(): string {
  return join(temporaryFolder(), 'log.sqlite')
}

/** Creates a temporary folder whose code can import the package by its name. */
export function folderInPackage(): string {
  return temporaryFolder(scratchInPackage)
}

function removeAll(): void {
  for (const folder of made) rmSync(folder, { recursive: true, force: true })
}
