/**
 * Keeps the keyring of a log. It has the key to all personal data: keep it apart from the data, and from the copies of
 * the data, since what it no longer holds is erased.
 */
export interface KeyringStore {
  /** How errors name the place, such as a path. */
  readonly name: string
  /** Reads the keyring; `undefined` before the first. `tag` changes with every change, such as an ETag. */
  read(): Promise<KeyringText | undefined>
  /**
   * Stores a keyring in place of the one with the tag, or the first one without it: durable, and the former one gone,
   * when it resolves. False when another process was faster: then nothing is changed.
   */
  replace(text: string, ifTag: string | undefined): Promise<boolean>
}

/** A keyring as text, with its tag. */
export interface KeyringText {
  readonly text: string
  readonly tag: string
}

/** Keeps a keyring in memory, for a log in memory. */
export class KeyringInMemory implements KeyringStore {
  readonly name = ':memory:'
  #text: string | undefined

  constructor(text?: string) {
    this.#text = text
  }

  async read(): Promise<KeyringText | undefined> {
    return this.#text === undefined ? undefined : { text: this.#text, tag: this.#text }
  }

  async replace(text: string, ifTag: string | undefined): Promise<boolean> {
    if (this.#text !== ifTag) return false
    this.#text = text
    return true
  }
}
