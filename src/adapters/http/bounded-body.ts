import { OversizedError } from '../../vocabulary/connection-errors.ts'

/** Gives a body in pieces, up to the bound. Throws when there is more. */
export async function* bounded(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Uint8Array, undefined> {
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > bytesMax) throw new OversizedError('the answer is larger than allowed')
    yield chunk
  }
}

/** Reads a body to its end, up to the bound. Throws when there is more. */
export async function readBounded(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  bytesMax: number,
): Promise<Buffer<ArrayBuffer>> {
  const read: Uint8Array[] = []
  for await (const chunk of bounded(chunks, bytesMax)) read.push(chunk)
  return Buffer.concat(read)
}

/**
 * Reads a body as text, up to the bound. Throws when there is more. What is not UTF-8 is read in the charset that its
 * content type names: JSON is UTF-8, whatever a server calls it.
 */
export async function readBoundedText(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  bytesMax: number,
  contentType: string | null,
): Promise<string> {
  const bytes = await readBounded(chunks, bytesMax)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return decoderOf(contentType).decode(bytes)
  }
}

function decoderOf(contentType: string | null): TextDecoder {
  const [, charset] = /;\s*charset="?([\w-]+)/i.exec(contentType ?? '') ?? []
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder() // No charset that is known.
  }
}
