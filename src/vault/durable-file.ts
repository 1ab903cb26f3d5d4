import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
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

/** Creates a new file of mode 0600, complete and durable when it returns. Throws when the file exists. */
export function writeDurably(path: string, text: string): void {
  const descriptor = openSync(path, 'wx', 0o600)
  try {
    writeWhole(descriptor, Buffer.from(text))
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  if (readFileSync(path, 'utf8') !== text) throw new Error('The file does not contain what was written')
}

/**
 * Replaces or creates a file of mode 0600 atomically, durable when it returns. For a link, the target is replaced.
 * Removes a leftover of a crash under the temporary name, so two writers must not use the same `suffix` at a time.
 *
 * @param discard what is done with the former file once it is replaced; it is only forgotten when absent
 */
export function replaceDurably(path: string, text: string, suffix: string, discard?: (former: string) => void): void {
  const target = resolveLinks(path)
  const temporary = `${target}.${suffix}`
  const former = `${target}.former`
  rmSync(temporary, { force: true })
  try {
    writeDurably(temporary, text)
    if (discard) keepFormer(target, former, discard)
    renameSync(temporary, target)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncToDisk(dirname(target), 'folder')
  if (discard && existsSync(former)) discardFormer(former, discard)
}

/** Gives a file a second name, under which it can be discarded once another one has taken its first. */
function keepFormer(target: string, former: string, discard: (former: string) => void): void {
  // Left by a process that died here.
  if (existsSync(former)) discardFormer(former, discard)
  if (existsSync(target)) linkSync(target, former)
}

/** If a process died before it replaced the file, that has both names: only the second one is removed. */
function discardFormer(former: string, discard: (former: string) => void): void {
  if (lstatSync(former).nlink === 1) discard(former)
  rmSync(former)
}

/** Overwrites what a file holds. A file system that copies on write, or a snapshot, may still have it. */
export function overwrite(path: string): void {
  const descriptor = openSync(path, 'r+')
  try {
    writeWhole(descriptor, Buffer.alloc(fstatSync(descriptor).size))
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Writes all bytes: on a nearly full disk one write call may write only the first part. */
function writeWhole(descriptor: number, bytes: Uint8Array): void {
  for (let from = 0; from < bytes.length; ) from += writeSync(descriptor, bytes, from)
}

/** Makes the content of a file durable, or the names in a folder. */
export function syncToDisk(path: string, what: 'file' | 'folder'): void {
  const descriptor = openSync(path, what === 'file' ? 'r+' : 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Resolves all links of a path. The file at the end need not exist. */
export function resolveLinks(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
    return isLink ? resolveLinks(resolve(dirname(path), readlinkSync(path))) : path
  }
}
