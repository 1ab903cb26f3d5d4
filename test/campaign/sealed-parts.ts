import Sqlite from 'better-sqlite3'

/** How much of the end of a sealed part is looked for in the file. */
const endingBytes = 24

/** The ends of all sealed parts that ever stood in a log, by `<position>/<name>`: a part never changes. */
export class SealedParts {
  readonly #endings = new Map<string, Buffer>()
  #position = 0

  /** Reads on from where the log was read up to. */
  readOn(path: string): ReadonlyMap<string, Buffer> {
    const database = new Sqlite(path, { readonly: true })
    try {
      const found = database.prepare(selectEndings).all(endingBytes, this.#position) as {
        position: number
        name: string
        ending: Buffer
      }[] // As asked.
      for (const { position, name, ending } of found) this.#endings.set(`${position}/${name}`, ending)
      this.#position = found.at(-1)?.position ?? this.#position
    } finally {
      database.close()
    }
    return this.#endings
  }

  /** Another log takes the place of this one. */
  forget(): void {
    this.#endings.clear()
    this.#position = 0
  }
}

const selectEndings = `select position, name, substr(sealed, -?) as ending from part
  where position > ? order by position`
