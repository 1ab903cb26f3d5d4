const lineBytesMax = 64 * 1024 * 1024

/**
 * Reads lines that each end with a newline, as their exact bytes.
 *
 * @throws {RangeError} when the last one does not end, or one is longer than 64 MB
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = []
  let held = 0
  for await (const chunk of chunks) {
    let rest = chunk
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      yield join([...pieces, rest.subarray(0, end)])
      pieces = []
      held = 0
      rest = rest.subarray(end + 1)
    }
    if (rest.length === 0) continue
    pieces.push(rest)
    held += rest.length
    if (held > lineBytesMax) throw new RangeError('a line is longer than any that averba writes')
  }
  if (held > 0) throw new RangeError('it ends within a line')
}

function join(pieces: readonly Uint8Array[]): Uint8Array {
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
