import {
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Makes a file of mode 0600 that is not there yet, whole and durable before it returns, and throws otherwise. */
export function writeDurably(path: string, text: string): void {
  const descriptor = openSync(path, 'wx', 0o600)
  try {
    writeWhole(descriptor, Buffer.from(text))
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  if (readFileSync(path, 'utf8') !== text) throw new Error('What was written does not read the same')
}

/**
 * Puts a file of mode 0600 in the place of the one that is there, if any, durable before it returns: either is there at
 * any time. Of a link, the target is replaced. A leftover of a crash under the new file's name is removed first: no two
 * writers may use the same `suffix` at a time.
 */
export function replaceDurably(path: string, text: string, suffix: string): void {
  const target = endOfLinks(path)
  const temporary = `${target}.${suffix}`
  rmSync(temporary, { force: true })
  try {
    writeDurably(temporary, text)
    renameSync(temporary, target)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncFolder(dirname(target))
}

/** Writes all of it: a nearly full disk accepts the beginning, and fails only at the rest. */
function writeWhole(descriptor: number, bytes: Uint8Array): void {
  for (let from = 0; from < bytes.length; ) from += writeSync(descriptor, bytes, from)
}

/** Makes the names in a folder durable. */
export function syncFolder(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** The target of a name, through all links, even to a file that does not exist yet. */
export function endOfLinks(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
    return isLink ? endOfLinks(resolve(dirname(path), readlinkSync(path))) : path
  }
}
