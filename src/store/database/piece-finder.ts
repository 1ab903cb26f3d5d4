/** A piece is first recognised by any four consecutive bytes of it, read as a number. */
const numberBytes = 4
/** Slots of the lookup table per wanted number: enough that one lookup rules out most other numbers. */
const slotsPerNumber = 64
const noDistances: ReadonlySet<number> = new Set()

/**
 * Prepares a search for many pieces of the same length. The returned function adds the pieces that it finds in some
 * bytes, in hexadecimal, to a set. It reads only every `stride`-th number, because every piece contains one of them.
 */
export function createPieceFinder(pieces: readonly Uint8Array[]): (bytes: Buffer, found: Set<string>) => void {
  const length = pieces[0]?.length ?? 0
  if (pieces.some(piece => piece.length !== length)) throw new TypeError('The pieces differ in length')
  if (pieces.length === 0) return () => undefined
  const stride = length - numberBytes + 1
  if (stride < 1) throw new TypeError(`A piece must have at least ${numberBytes} bytes`)
  const wanted = new Set(pieces.map(piece => Buffer.from(piece).toString('hex')))
  const slotBits = Math.min(24, Math.ceil(Math.log2(pieces.length * stride * slotsPerNumber)))
  const slotOf = (number: number) => Math.imul(number, 0x9e3779b1) >>> (32 - slotBits)
  const isWanted = new Uint8Array(2 ** slotBits)
  /** The offsets within a piece at which each number occurs. */
  const distances = new Map<number, Set<number>>()
  for (const piece of pieces) {
    const bytes = Buffer.from(piece)
    for (let from = 0; from < stride; from++) {
      const number = bytes.readInt32LE(from)
      isWanted[slotOf(number)] = 1
      distances.set(number, (distances.get(number) ?? new Set<number>()).add(from))
    }
  }
  return (bytes, found) => {
    for (let at = 0; at + numberBytes <= bytes.length; at += stride) {
      const number = bytes.readInt32LE(at)
      if (isWanted[slotOf(number)] === 0) continue
      for (const distance of distances.get(number) ?? noDistances) {
        if (distance > at) continue
        const text = bytes.toString('hex', at - distance, at - distance + length)
        if (wanted.has(text)) found.add(text)
      }
    }
  }
}
