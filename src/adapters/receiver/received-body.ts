import type { IncomingMessage } from 'node:http'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { ReceivedHead } from './received-head.ts'

/** Whether the time for a notification is over: its body is read no further. */
export interface Deadline {
  readonly isOver: boolean
}

/** Reads a whole body; `undefined` if too large or late. Throws if cut off, and `BODY_CONSUMED` if not as sent. */
export type ReadBody = (bytesMax: number, deadline: Deadline) => Promise<Uint8Array | undefined>

/** Reads the body of a web request. `undefined` when another reader has already begun. */
export function bodyOfRequest(request: Request, head: ReceivedHead): ReadBody | undefined {
  if (isBodyUsed(request)) return undefined
  return async (bytesMax, deadline) => {
    if (isBodyUsed(request)) throw bodyConsumed()
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of request.body ?? []) {
      size += chunk.length
      if (size > bytesMax || deadline.isOver) return undefined
      chunks.push(chunk)
    }
    // A host adapter that passes nothing, without a length of 0, may have lost the body.
    if (size === 0 && head.contentLength === '' && (request.body === null || head.transferEncoding !== ''))
      throw bodyIncomplete(0, 'an unknown number of')
    return checkLength(Buffer.concat(chunks), head)
  }
}

/**
 * Reads the body of a request of node:http, without a web stream: that would cost more than all the rest. `undefined`
 * when part of it was already read. Other readers, such as a body logger, wait until we read.
 */
export function bodyOfIncoming(incoming: IncomingMessage, head: ReceivedHead): ReadBody | undefined {
  if (incoming.readableDidRead) return undefined
  if (incoming.readableFlowing) incoming.pause()
  return async (bytesMax, deadline) => {
    const body = await readIncoming(incoming, bytesMax, deadline)
    return body && checkLength(body, head)
  }
}

function readIncoming(
  incoming: IncomingMessage,
  bytesMax: number,
  deadline: Deadline,
): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    // Another reader may have resumed it while its secrets were checked.
    if (incoming.readableDidRead) return reject(bodyConsumed())
    const chunks: Uint8Array[] = []
    let size = 0
    const end = () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
    // Another reader has already reached the end of an empty body.
    if (incoming.readableEnded) return end()
    incoming.on('data', (chunk: Uint8Array | string) => {
      const bytes = typeof chunk === 'string' ? encodeChunk(chunk, incoming.readableEncoding) : chunk
      if (!bytes) return reject(bodyConsumed())
      size += bytes.length
      if (size <= bytesMax && !deadline.isOver) return void chunks.push(bytes)
      resolve(undefined)
    })
    incoming.on('end', end)
    incoming.on('error', reject)
    // Another reader may close it without an error.
    incoming.on('close', () => {
      if (!incoming.readableEnded) reject(new Error('The connection closed before the end of the body'))
    })
    incoming.resume()
  })
}

/** The bytes of text that `setEncoding` made. `undefined` if other bytes could have made the same text. */
function encodeChunk(text: string, encoding: BufferEncoding | null): Uint8Array | undefined {
  const isExact = encoding === 'utf8' && !text.includes('\uFFFD')
  return isExact ? Buffer.from(text) : undefined
}

function isBodyUsed({ bodyUsed, body }: Request): boolean {
  return bodyUsed || body?.locked === true
}

function checkLength(body: Uint8Array, { contentLength, contentEncoding }: ReceivedHead) {
  const { length } = body
  if (contentLength === '') return body
  const announced = Number(contentLength)
  // Hosts that decompress a body leave the compressed length in the header.
  const isUnpacked = contentEncoding !== '' && contentEncoding !== 'identity' && length > 0 && announced > 0
  if (announced !== length && !isUnpacked) throw bodyIncomplete(length, announced)
  return body
}

export function bodyConsumed(): AverbaError {
  return new AverbaError('BODY_CONSUMED', 'Cannot read the notification: its body was consumed before', {
    hint: 'Put the receiver before any body parser',
  })
}

function bodyIncomplete(bytes: number, announced: number | string): AverbaError {
  const message = `Cannot read the notification: ${bytes} of ${announced} bytes of its body arrived`
  return new AverbaError('BODY_CONSUMED', message, {
    hint: 'Put the receiver before anything that reads or changes the body, and keep content-length unchanged',
  })
}
