import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Makes a folder and those above it. In /proc, what Node does with `recursive` never ends. */
export function makeFolder(folder: string, mode = 0o777): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
  makeFolder(dirname(folder), mode)
  mkdirSync(folder, mode)
}
