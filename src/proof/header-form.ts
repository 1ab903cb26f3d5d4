import { toBytes } from './encoding.ts'
import type { Leaf } from './leaf.ts'

/** A text or a number that differs between headers, and the text before it. */
export interface Hole {
  readonly before: string
  readonly isText: boolean
  /** Its place among the values taken; -1 for one that is only passed. */
  readonly slot: number
}

/** The bytes of a header except its holes. Matches exactly the JSON of this form. */
export class HeaderForm {
  /** Where each text taken of the last leaf begins and ends in that leaf, by slot. */
  readonly begins: Int32Array
  readonly ends: Int32Array
  /** Each number taken, by slot. */
  readonly numbers: Float64Array
  /** The bytes before the holes and after the last, one after the other, and the length of each. */
  readonly #fixed: DataView
  readonly #lengths: Int32Array
  readonly #areTexts: readonly boolean[]
  readonly #slots: Int32Array

  /** @param behind the text after the last hole; it and the texts before the holes are plain */
  constructor(holes: readonly Hole[], behind: string) {
    const fixed = [...holes.map(({ before }) => before), behind]
    const taken = 1 + Math.max(-1, ...holes.map(({ slot }) => slot))
    this.begins = new Int32Array(taken)
    this.ends = new Int32Array(taken)
    this.numbers = new Float64Array(taken)
    const bytes = toBytes(fixed.join(''))
    this.#fixed = new DataView(bytes.buffer, bytes.byteOffset)
    this.#lengths = Int32Array.from(fixed, text => text.length)
    this.#areTexts = holes.map(({ isText }) => isText)
    this.#slots = Int32Array.from(holes, ({ slot }) => slot)
  }

  /** Reports whether a plain leaf has this form; the values taken are then those of this leaf. */
  match({ words, bytes }: Leaf): boolean {
    const fixed = this.#fixed
    const holes = this.#areTexts.length
    let at = 1
    let from = 0
    for (let i = 0; ; i++) {
      const until = from + (this.#lengths[i] as number) // One more than holes.
      // Compares eight bytes at a time, as a number: plain text never makes NaN, which would differ from itself. Nor is
      // a plain byte zero like the one after the leaf, so that this ends there at the latest.
      for (; from + 8 <= until; from += 8, at += 8)
        if (words.getFloat64(at, true) !== fixed.getFloat64(from, true)) return false
      for (; from < until; from++, at++) if (words.getUint8(at) !== fixed.getUint8(from)) return false
      if (i === holes) return at === bytes.length
      const end = this.#areTexts[i] ? endOfText(words, at) : endOfNumber(words, at)
      if (end < 0) return false
      this.#take(words, i, at, end)
      at = end
    }
  }

  #take(words: DataView, hole: number, at: number, end: number): void {
    const slot = this.#slots[hole] as number // One for each hole.
    if (slot < 0) return
    // The text itself begins after the zero byte.
    this.begins[slot] = at - 1
    this.ends[slot] = end - 1
    if (!this.#areTexts[hole]) this.numbers[slot] = numberIn(words, at, end)
  }
}

/**
 * Where a text ends: at a quote, or at a byte that must be escaped (a backslash, or a control character). The highest
 * bit of each byte of a word, all of them plain, tells whether it is one; of several, the first is right.
 */
function endOfText(words: DataView, from: number): number {
  for (let at = from; ; at += 4) {
    const word = words.getInt32(at, true)
    const isControl = word - 0x20202020
    const isQuote = (word ^ 0x22222222) - 0x01010101
    const isBackslash = (word ^ 0x5c5c5c5c) - 0x01010101
    const found = (isControl | isQuote | isBackslash) & 0x80808080
    if (found !== 0) return at + ((31 - Math.clz32(found & -found)) >> 3)
  }
}

/** Where a whole number of at most 15 digits ends; -1 when there is none, or it is written differently. */
function endOfNumber(words: DataView, from: number): number {
  const isNegative = words.getUint8(from) === minus
  const first = isNegative ? from + 1 : from
  let at = first
  while (isDigit(words.getUint8(at))) at++
  if (at === first || at - first > 15) return -1
  const beginsWithZero = words.getUint8(first) === zero
  return beginsWithZero && (isNegative || at - first > 1) ? -1 : at
}

/** The number that ends there. */
function numberIn(words: DataView, from: number, end: number): number {
  const isNegative = words.getUint8(from) === minus
  let number = 0
  for (let at = isNegative ? from + 1 : from; at < end; at++) number = number * 10 + words.getUint8(at) - zero
  return isNegative ? -number : number
}

const minus = 45
const zero = 48

function isDigit(byte: number): boolean {
  return byte >= zero && byte <= zero + 9
}
