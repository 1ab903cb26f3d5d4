import { pieceBytes } from '../../src/store/database/search-file.ts'
import type { Sqlite } from '../support/sqlite.ts'
import { useDatabase } from '../support/use-database.ts'

const selectEndings = `select position, position || '/' || name as place, substr(sealed, -?) as ending from part
  where position > ? order by position`

/** The last bytes of all sealed parts that were ever in a log, by `<position>/<name>`. */
export class SealedParts {
  readonly #endings = new Map<string, Buffer>()
  #position = 0

  /** Adds the parts since the last call, and returns all. */
  readNew(path: string): ReadonlyMap<string, Buffer> {
    const select = (database: Sqlite) =>
      database.rows<{ position: number; place: string; ending: Buffer }>(selectEndings, pieceBytes, this.#position)
    for (const { position, place, ending } of useDatabase(path, select, { readOnly: true })) {
      this.#endings.set(place, ending)
      this.#position = position
    }
    return this.#endings
  }

  reset(): void {
    this.#endings.clear()
    this.#position = 0
  }
}
