import type { IncomingMessage } from 'node:http'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Deadline } from './deadlines.ts'
import type { ReceivedHead } from './received-head.ts'

/**
 * Reads a body to its end. `undefined` when it is over the bound or too late; throws when it was cut off, and
 * `BODY_CONSUMED` when it is not what was sent.
 */
export type ReadBody = (bytesMax: number, deadline: Deadline) => Promise<Uint8Array | undefined>

/** Reads the body of a web request. `undefined` when somebody reads it already. */
export function bodyOfRequest(request: Request, head: ReceivedHead): ReadBody | undefined {
  if (isTaken(request)) return undefined
  return async (bytesMax, deadline) => {
    if (isTaken(request)) throw bodyConsumed()
    // An adapter that hands on no body, without saying that it is empty, may have forgotten it.
    if (request.body === null && head.contentLength === '') throw incomplete(0, 'an unknown number of')
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of request.body ?? []) {
      size += chunk.length
      if (size > bytesMax || deadline.isOver) return undefined
      chunks.push(chunk)
    }
    // So may one that says the body came in pieces, and has none.
    if (size === 0 && head.contentLength === '' && head.transferEncoding !== '')
      throw incomplete(0, 'an unknown number of')
    return whole(Buffer.concat(chunks), head)
  }
}

/**
 * Reads the body of a request of node:http, without a web stream in between: they cost more than all the rest.
 * `undefined` when part of it was read already. Other readers, such as a log of bodies, wait until we read.
 */
export function bodyOfIncoming(incoming: IncomingMessage, head: ReceivedHead): ReadBody | undefined {
  if (incoming.readableDidRead) return undefined
  if (incoming.readableFlowing) incoming.pause()
  return async (bytesMax, deadline) => {
    const body = await readIncoming(incoming, bytesMax, deadline)
    return body && whole(body, head)
  }
}

function readIncoming(
  incoming: IncomingMessage,
  bytesMax: number,
  deadline: Deadline,
): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    // Another reader may have resumed it while its secrets were looked at.
    if (incoming.readableDidRead) return reject(bodyConsumed())
    const chunks: Uint8Array[] = []
    let size = 0
    const end = () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
    // Another reader has already seen the end of an empty body.
    if (incoming.readableEnded) return end()
    incoming.on('data', (chunk: Uint8Array | string) => {
      const bytes = typeof chunk === 'string' ? bytesOf(chunk, incoming.readableEncoding) : chunk
      if (!bytes) return reject(bodyConsumed())
      size += bytes.length
      if (size <= bytesMax && !deadline.isOver) return void chunks.push(bytes)
      resolve(undefined)
    })
    incoming.on('end', end)
    incoming.on('error', reject)
    // Others may end it without an error.
    incoming.on('close', () => reject(new Error('The body was broken off')))
    incoming.resume()
  })
}

/** The bytes of text that `setEncoding` made. `undefined` where other bytes may have made the same text. */
function bytesOf(text: string, encoding: BufferEncoding | null): Uint8Array | undefined {
  const isExact = encoding === 'utf8' && !text.includes('\uFFFD')
  return isExact ? Buffer.from(text) : undefined
}

function isTaken({ bodyUsed, body }: Request): boolean {
  return bodyUsed || body?.locked === true
}

/** The body, if it is as long as announced. */
function whole(body: Uint8Array, { contentLength, contentEncoding }: ReceivedHead) {
  const { length } = body
  if (contentLength === '') return body
  const announced = Number(contentLength)
  // Hosts that decompress a body leave the former length in the header.
  const isUnpacked = contentEncoding !== '' && contentEncoding !== 'identity' && length > 0 && announced > 0
  if (announced !== length && !isUnpacked) throw incomplete(length, announced)
  return body
}

/** The error for a body that was read before it came to us. */
export function bodyConsumed(): AverbaError {
  return new AverbaError('BODY_CONSUMED', 'Cannot read the notification: its body was consumed before', {
    hint: 'Put the receiver before any body parser',
  })
}

function incomplete(bytes: number, announced: number | string): AverbaError {
  const message = `Cannot read the notification: ${bytes} of ${announced} bytes of its body were handed on`
  return new AverbaError('BODY_CONSUMED', message, {
    hint: 'Hand on the body as it came: put the receiver before what reads it, and leave content-length as it is',
  })
}
