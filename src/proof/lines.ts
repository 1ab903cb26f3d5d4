const lineBytesMax = 64 * 1024 * 1024

/**
 * Reads lines that each end with a newline, and yields their exact bytes.
 *
 * @throws {RangeError} when the last line has no newline, or a line is longer than 64 MB
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = []
  let pendingBytes = 0
  for await (const chunk of chunks) {
    let rest = chunk
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      yield joinPieces([...pieces, rest.subarray(0, end)])
      pieces = []
      pendingBytes = 0
      rest = rest.subarray(end + 1)
    }
    if (rest.length === 0) continue
    pieces.push(rest)
    pendingBytes += rest.length
    if (pendingBytes > lineBytesMax) throw new RangeError('a line is longer than any that averba writes')
  }
  if (pendingBytes > 0) throw new RangeError('it ends within a line')
}

function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces
  if (only && pieces.length === 1) return only
  const joined = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}
