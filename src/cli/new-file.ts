import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { AverbaError } from '../index.ts'

/** A new file that a command writes. It never overwrites a file, and leaves no incomplete one. */
export class NewFile {
  readonly #path: string
  readonly #descriptor: number

  /** @throws {AverbaError} `INVALID_INPUT` when the file exists, or cannot be created */
  constructor(path: string, mode: number) {
    this.#path = path
    this.#descriptor = explainWriteErrors(path, () => openSync(path, 'wx', mode))
  }

  /** Writes the whole content, and closes the file. */
  write(text: string): void {
    try {
      explainWriteErrors(this.#path, () => writeFileSync(this.#descriptor, text))
    } catch (error) {
      this.discard()
      throw error
    }
    closeSync(this.#descriptor)
  }

  /** Deletes the file. */
  discard(): void {
    closeSync(this.#descriptor)
    rmSync(this.#path, { force: true })
  }
}

function explainWriteErrors<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    const reason = code === 'EEXIST' ? 'it exists already' : code
    const hint = 'Name a new file in an existing folder, on a disk with free space'
    throw new AverbaError('INVALID_INPUT', `Cannot write "${path}": ${reason}`, { cause, hint })
  }
}
