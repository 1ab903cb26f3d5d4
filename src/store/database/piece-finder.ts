/** A piece is recognised first by any four of its bytes in a row, read as a number. */
const numberBytes = 4
/** How many places the table of numbers has for each wanted one: most others are ruled out with one look. */
const placesForEach = 64
const none: ReadonlySet<number> = new Set()

/**
 * Prepares a search for many pieces of one length. The function that it returns adds to a set the pieces, in
 * hexadecimal, found in some bytes, wherever they begin. It looks only at every `stride`-th number: every piece
 * contains one of them.
 */
export function createPieceFinder(
  pieces: readonly Uint8Array[],
): (bytes: Buffer, found: Set<string>) => void {
  const length = pieces[0]?.length ?? 0
  if (pieces.some(piece => piece.length !== length)) throw new TypeError('The pieces are not of one length')
  if (pieces.length === 0) return () => undefined
  const stride = length - numberBytes + 1
  if (stride < 1) throw new TypeError(`A piece has to be ${numberBytes} bytes long`)
  const wanted = new Set(pieces.map(piece => hexOf(piece)))
  const placeBits = Math.min(24, Math.ceil(Math.log2(pieces.length * stride * placesForEach)))
  const placeOf = (number: number) => Math.imul(number, 0x9e3779b1) >>> (32 - placeBits)
  const isWanted = new Uint8Array(2 ** placeBits)
  /** How far from the beginning of a piece each number stands. */
  const distances = new Map<number, Set<number>>()
  for (const piece of pieces) {
    const bytes = Buffer.from(piece)
    for (let from = 0; from < stride; from++) {
      const number = bytes.readInt32LE(from)
      isWanted[placeOf(number)] = 1
      distances.set(number, (distances.get(number) ?? new Set<number>()).add(from))
    }
  }
  return (bytes, found) => {
    for (let at = 0; at + numberBytes <= bytes.length; at += stride) {
      const number = bytes.readInt32LE(at)
      if (isWanted[placeOf(number)] === 0) continue
      for (const distance of distances.get(number) ?? none) {
        if (distance > at) continue
        const text = bytes.toString('hex', at - distance, at - distance + length)
        if (wanted.has(text)) found.add(text)
      }
    }
  }
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
