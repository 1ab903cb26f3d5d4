import { toBytes } from './encoding.ts'

/** Longer texts are few, and not read from their bytes: their form would not occur again. */
const textMax = 4_096
/** How far beyond a text words are read: it ends within the first of them. */
const wordBytes = 4
const encoder = new TextEncoder()

/**
 * The bytes of one leaf at a time, to be hashed and read: a zero byte, which marks a leaf, and its text in UTF-8. They
 * are written to the same place again and again, so that a leaf takes no memory of its own.
 */
export class Leaf {
  readonly #room = new Uint8Array(1 + 3 * textMax + wordBytes)
  readonly #roomOfText = this.#room.subarray(1, -wordBytes)
  /** The bytes of a plain text, from 1 on; a zero byte follows them. */
  readonly words: DataView = new DataView(this.#room.buffer)
  #text = ''
  #bytes = this.#room.subarray(0, 1)
  #isPlain = false

  get text(): string {
    return this.#text
  }

  /** The input of the hash. */
  get bytes(): Uint8Array {
    return this.#bytes
  }

  /** Whether the text stands in `words`, each of its characters as one byte. */
  get isPlain(): boolean {
    return this.#isPlain
  }

  /** Takes a text in place of the former one. */
  hold(text: string): void {
    this.#text = text
    this.#isPlain = false
    if (text.length > textMax) {
      this.#bytes = toBytes(`\0${text}`)
      return
    }
    // No character of a text takes more than three bytes.
    const { written } = encoder.encodeInto(text, this.#roomOfText)
    this.#room[1 + written] = 0
    this.#isPlain = written === text.length
    // Leaves in a row are often of the same length.
    if (this.#bytes.length !== 1 + written || this.#bytes.buffer !== this.#room.buffer)
      this.#bytes = this.#room.subarray(0, 1 + written)
  }
}
