import Sqlite from 'better-sqlite3'

/** How many bytes of the end of a sealed part are searched for. */
const endingBytes = 24

/** The last bytes of all sealed parts that were ever in a log, by `<position>/<name>`. */
export class SealedParts {
  readonly #endings = new Map<string, Buffer>()
  #position = 0

  /** Adds the parts since the last call, and returns all. */
  readNew(path: string): ReadonlyMap<string, Buffer> {
    const database = new Sqlite(path, { readonly: true })
    try {
      const found = database.prepare(selectEndings).all(endingBytes, this.#position) as {
        position: number
        name: string
        ending: Buffer
      }[] // The selected columns.
      for (const { position, name, ending } of found) this.#endings.set(`${position}/${name}`, ending)
      this.#position = found.at(-1)?.position ?? this.#position
    } finally {
      database.close()
    }
    return this.#endings
  }

  /** Starts over with another log. */
  reset(): void {
    this.#endings.clear()
    this.#position = 0
  }
}

const selectEndings = `select position, name, substr(sealed, -?) as ending from part
  where position > ? order by position`
