import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { nodeErrorCode } from './connection-errors.ts'

/** Makes a folder and those above it that are missing. In /proc, what Node does with `recursive` never ends. */
export function makeFolder(folder: string, mode = 0o777): void {
  if (isMade(folder, mode)) return
  makeFolder(dirname(folder), mode)
  if (!isMade(folder, mode)) mkdirSync(folder, mode)
}

/** Makes a folder, unless it is there; false when those above it are missing. Another process may make it too. */
function isMade(folder: string, mode: number): boolean {
  try {
    mkdirSync(folder, mode)
    return true
  } catch (error) {
    const code = nodeErrorCode(error)
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return true
    if (code !== 'ENOENT') throw error
    return false
  }
}
