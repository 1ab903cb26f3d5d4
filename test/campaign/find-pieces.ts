/** One place in so many is looked at: a piece has a whole number at one of them, wherever it begins. */
const strideBytes = 16
const numberBytes = 4

/** Which of many pieces of one length stand in the bytes, wherever they begin; one pass finds them all. */
export function findPieces(bytes: Buffer, pieces: readonly Buffer[]): Set<Buffer> {
  const length = pieces[0]?.length ?? strideBytes + numberBytes
  if (length < strideBytes + numberBytes || pieces.some(piece => piece.length !== length))
    throw new TypeError('The pieces are too short, or not of one length')
  const byText = new Map(pieces.map(piece => [piece.toString('latin1'), piece]))
  const isWanted = new Uint8Array(2 ** 24)
  for (const piece of pieces)
    for (let from = 0; from < strideBytes; from++) isWanted[placeOf(piece.readInt32LE(from))] = 1
  const found = new Set<Buffer>()
  for (let at = 0; at + numberBytes <= bytes.length; at += strideBytes) {
    if (isWanted[placeOf(bytes.readInt32LE(at))] === 0) continue
    for (let from = Math.max(0, at - strideBytes + 1); from <= at; from++) {
      const piece = byText.get(bytes.toString('latin1', from, from + length))
      if (piece) found.add(piece)
    }
  }
  return found
}

function placeOf(number: number): number {
  return Math.imul(number, 0x9e3779b1) >>> 8
}
