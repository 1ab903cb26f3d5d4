import { OversizedError } from '../../vocabulary/connection-errors.ts'

/** Yields a body in chunks. Throws `OversizedError` when it is larger than allowed. */
export async function* limitBytes(
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

/** Reads a whole body. Throws `OversizedError` when it is larger than allowed. */
export async function readBounded(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  bytesMax: number,
): Promise<Buffer<ArrayBuffer>> {
  const read: Uint8Array[] = []
  for await (const chunk of limitBytes(chunks, bytesMax)) read.push(chunk)
  return Buffer.concat(read)
}

/**
 * Reads a whole body as text. Throws `OversizedError` when it is larger than allowed. Tries UTF-8 before the charset of
 * the content type: servers often label UTF-8 JSON wrongly.
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
    return createDecoder(contentType).decode(bytes)
  }
}

function createDecoder(contentType: string | null): TextDecoder {
  const [, charset] = /;\s*charset="?([\w-]+)/i.exec(contentType ?? '') ?? []
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder() // The charset is unknown.
  }
}
