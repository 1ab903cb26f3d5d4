import { rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { AverbaError } from '../index.ts'

/**
 * Writes a new file and returns its text. The file is created before its text is made, so that nothing is made in vain;
 * when anything fails, it is removed.
 *
 * @throws {AverbaError} `INVALID_INPUT` when the file exists, or cannot be written
 */
export async function writeNewFile(path: string, mode: number, makeText: () => Promise<string>): Promise<string> {
  const rejectFile = (cause: NodeJS.ErrnoException) => {
    const reason = cause.code === 'EEXIST' ? 'it exists already' : cause.code
    const hint = 'Name a new file in an existing folder, on a disk with free space'
    throw new AverbaError('INVALID_INPUT', `Cannot write "${path}": ${reason}`, { cause, hint })
  }
  const file = await open(path, 'wx', mode).catch(rejectFile)
  try {
    const text = await makeText()
    await file.writeFile(text).catch(rejectFile)
    return text
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  } finally {
    await file.close()
  }
}
