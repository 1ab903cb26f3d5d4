import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Entropy } from '../../runtime/entropy.ts'
import { syncToDisk } from '../../vault/durable-file.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { asFileError, isFileError } from '../../vocabulary/file-errors.ts'

/**
 * Creates a file atomically, without overwriting: it is written under a temporary name, synced to disk, then renamed.
 *
 * @throws {AverbaError} `INVALID_INPUT` when the path exists, `STORE_UNSAFE` when it cannot be written
 */
export async function writeNewFile<T>(
  path: string,
  entropy: Entropy,
  write: (temporary: string) => Promise<T>,
): Promise<T> {
  checkAbsent(path)
  const temporary = `${path}.${Buffer.from(entropy.bytes(8)).toString('hex')}`
  try {
    closeSync(openSync(temporary, 'wx', 0o600))
    const written = await write(temporary)
    syncToDisk(temporary, 'file')
    moveWithoutOverwrite(temporary, path)
    syncToDisk(dirname(path), 'folder')
    return written
  } catch (cause) {
    throw asFileError('write', path, cause)
  } finally {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(`${temporary}${end}`, { force: true })
  }
}

export function checkAbsent(path: string): void {
  if (!existsSync(path)) return
  throw new AverbaError('INVALID_INPUT', `Cannot write "${path}": it exists already`, {
    hint: 'Choose another name: nothing is overwritten',
  })
}

/** Creating a link fails when the path exists. On a disk without links, the path is only checked before the rename. */
function moveWithoutOverwrite(temporary: string, path: string): void {
  try {
    linkSync(temporary, path)
  } catch (error) {
    checkAbsent(path)
    if (!isFileError(error)) throw error
    renameSync(temporary, path)
  }
}
