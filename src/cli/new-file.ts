import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { AverbaError } from '../index.ts'

/** A file that a command makes: it overwrites nothing, and leaves none that is cut off. */
export class NewFile {
  readonly #path: string
  readonly #descriptor: number

  /** @throws {AverbaError} `INVALID_INPUT` when something is there, or a file cannot be */
  constructor(path: string, mode: number) {
    this.#path = path
    this.#descriptor = explainWriteErrors(path, () => openSync(path, 'wx', mode))
  }

  /** Writes all that is to stand in it. */
  write(text: string): void {
    try {
      explainWriteErrors(this.#path, () => writeFileSync(this.#descriptor, text))
    } catch (error) {
      this.discard()
      throw error
    }
    closeSync(this.#descriptor)
  }

  /** Removes it again. */
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
    const why = code === 'EEXIST' ? 'something is there' : code
    const hint = 'Name a file that is not there, in a folder that is, on a disk with room'
    throw new AverbaError('INVALID_INPUT', `Cannot write "${path}": ${why}`, { cause, hint })
  }
}
