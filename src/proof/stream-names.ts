import { toBytes } from './encoding.ts'

/**
 * Numbers the names of streams from 0 on, as they are met. It keeps copies of their bytes, in chains of names with
 * equal hashes: a map takes three times as long, and would keep the texts that the names are cut from. A log may be
 * made so that all its names share one chain: chains have a maximum, and further names go into a map.
 */
export class StreamNames {
  readonly #chainMax: number
  readonly #bytesMax: number
  /** The number that each chain begins with, and for each number the next one in its chain; -1 at the end. */
  #firsts = new Int32Array(1_024).fill(-1)
  #following = new Int32Array(1_024)
  #hashes = new Int32Array(1_024)
  /** Where each name begins in the bytes, and where the last one ends: by number. */
  #begins = new Int32Array(1_025)
  #bytes = new Uint8Array(32_768)
  #words = new DataView(this.#bytes.buffer)
  readonly #others = new Map<string, number>()
  #count = 0

  /**
   * @param chainMax how many names a chain may hold: names that nobody chose for it hardly ever reach that
   * @param bytesMax how many bytes of names are held
   */
  constructor(chainMax = 16, bytesMax: number = 2 ** 30) {
    this.#chainMax = chainMax
    this.#bytesMax = bytesMax
  }

  /**
   * The number of a name.
   *
   * @param words where its bytes are also found, from `at` on, one for each character
   */
  numberOf(name: string, words?: DataView, at = 0): number {
    const other = this.#others.size > 0 ? this.#others.get(name) : undefined
    if (other !== undefined) return other
    if (words) return this.#find(name, words, at, name.length)
    // Its bytes would be those of another name.
    if (!name.isWellFormed()) return this.#addOther(name)
    const bytes = toBytes(name)
    return this.#find(name, new DataView(bytes.buffer, bytes.byteOffset), 0, bytes.length)
  }

  #find(name: string, words: DataView, at: number, length: number): number {
    const hash = hashOf(words, at, length)
    let met = 0
    let number = this.#firsts[hash & (this.#firsts.length - 1)] as number // A power of two.
    // Numbers are within, here and below.
    for (; number >= 0; number = this.#following[number] as number) {
      const begin = this.#begins[number] as number
      const isSame =
        this.#hashes[number] === hash &&
        this.#begins[number + 1] === begin + length &&
        areSame(words, at, this.#words, begin, length)
      if (isSame) return number
      met += 1
    }
    const hasRoom = met < this.#chainMax && this.#end + length <= this.#bytesMax
    return hasRoom ? this.#add(hash, words, at, length) : this.#addOther(name)
  }

  /** How many bytes are kept. */
  get #end(): number {
    return this.#begins[this.#count] as number // One more than names.
  }

  #add(hash: number, words: DataView, at: number, length: number): number {
    const begin = this.#end
    if (begin + length > this.#bytes.length) {
      this.#bytes = grown(this.#bytes, 2 * (begin + length))
      this.#words = new DataView(this.#bytes.buffer)
    }
    for (let i = 0; i < length; i++) this.#bytes[begin + i] = words.getUint8(at + i)
    const number = this.#count
    this.#hashes[number] = hash
    this.#link(number)
    return this.#next(begin + length)
  }

  /** Numbers a name that has no bytes here, and is in no chain. */
  #addOther(name: string): number {
    const number = this.#next(this.#end)
    this.#others.set(name, number)
    return number
  }

  /** Assigns the next number to a name that ends there. */
  #next(end: number): number {
    const number = this.#count
    this.#count += 1
    this.#begins[this.#count] = end
    if (this.#count === this.#hashes.length) this.#growAll()
    return number
  }

  #link(number: number): void {
    const chain = (this.#hashes[number] as number) & (this.#firsts.length - 1) // One for each number.
    this.#following[number] = this.#firsts[chain] as number // Within.
    this.#firsts[chain] = number
  }

  /** Doubles the room and the number of chains, so that none gets longer. */
  #growAll(): void {
    const length = 2 * this.#count
    this.#hashes = grown(this.#hashes, length)
    this.#begins = grown(this.#begins, length + 1)
    this.#following = grown(this.#following, length)
    const firsts = this.#firsts
    this.#firsts = new Int32Array(length).fill(-1)
    for (const first of firsts)
      for (let number = first; number >= 0; ) {
        const next = this.#following[number] as number // Read before it is written.
        this.#link(number)
        number = next
      }
  }
}

function grown<A extends Int32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>>(old: A, length: number): A {
  const made = old instanceof Int32Array ? new Int32Array(length) : new Uint8Array(length)
  made.set(old)
  return made as A // The same as it was made from.
}

/** Compares two ranges of bytes, word by word, which takes a quarter of the time. */
function areSame(a: DataView, at: number, b: DataView, from: number, length: number): boolean {
  let i = 0
  for (; i + 4 <= length; i += 4) if (a.getInt32(at + i, true) !== b.getInt32(from + i, true)) return false
  for (; i < length; i++) if (a.getUint8(at + i) !== b.getUint8(from + i)) return false
  return true
}

function hashOf(words: DataView, at: number, length: number): number {
  let hash = length
  let i = 0
  for (; i + 4 <= length; i += 4) hash = mix(hash ^ words.getInt32(at + i, true))
  for (; i < length; i++) hash = mix(hash ^ words.getUint8(at + i))
  return hash
}

function mix(hash: number): number {
  const mixed = Math.imul(hash, 0x9e3779b1)
  return mixed ^ (mixed >>> 15)
}
