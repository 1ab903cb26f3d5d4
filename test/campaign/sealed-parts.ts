import { pieceBytes } from '../../src/store/database/search-file.ts'
import type { Sqlite } from '../support/sqlite.ts'
import { useDatabase } from '../support/use-database.ts'

/** The last bytes of all sealed parts that were ever in a log, by `<position>/<name>`. */
export class SealedParts {
  readonly #endings = new Map<string, Buffer>()
  #position = 0

  /** Adds the parts since the last call, and returns all. */
  readNew(path: string): ReadonlyMap<string, Buffer> {
    const select = (database: Sqlite) => database.rows<SealedEnding>(selectEndings, pieceBytes, this.#position)
    const found = useDatabase(path, select, { readOnly: true })
    for (const { position, name, ending } of found) this.#endings.set(`${position}/${name}`, ending)
    this.#position = found.at(-1)?.position ?? this.#position
    return this.#endings
  }

  /** Starts over with another log. */
  reset(): void {
    this.#endings.clear()
    this.#position = 0
  }
}

/** The selected columns. */
interface SealedEnding {
  readonly position: number
  readonly name: string
  readonly ending: Buffer
}

const selectEndings = `select position, name, substr(sealed, -?) as ending from part
  where position > ? order by position`
