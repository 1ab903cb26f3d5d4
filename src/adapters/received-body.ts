import type { IncomingMessage } from 'node:http'
import type { Deadline } from './deadlines.ts'

/** Reads a body to its end. `undefined` when it is over the bound or too late; throws when it was broken off. */
export type ReadBody = (bytesMax: number, deadline: Deadline) => Promise<Uint8Array | undefined>

/** Reads the body of a web request. */
export function bodyOfRequest(request: Request): ReadBody {
  return async (bytesMax, deadline) => {
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of request.body ?? []) {
      size += chunk.length
      if (size > bytesMax || deadline.isOver) return undefined
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
}

/** Reads the body of a request of node:http, without a web stream in between: they cost more than all the rest. */
export function bodyOfIncoming(incoming: IncomingMessage): ReadBody {
  return (bytesMax, deadline) =>
    new Promise((resolve, reject) => {
      const chunks: Uint8Array[] = []
      let size = 0
      incoming.on('data', (chunk: Uint8Array) => {
        size += chunk.length
        if (size <= bytesMax && !deadline.isOver) return void chunks.push(chunk)
        resolve(undefined)
      })
      incoming.on('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
      incoming.on('error', reject)
    })
}
