import type { IncomingMessage } from 'node:http'

const emptyHead = {
  method: '',
  evento: '',
  secret: '',
  authorization: '',
  recipientKind: '',
  recipientId: '',
  contentLength: '',
  contentEncoding: '',
  transferEncoding: '',
  forwarded: '',
}

/** The part of a request's head that the receiver uses. An absent header is empty. */
export type ReceivedHead = Readonly<typeof emptyHead>

/** The headers of a notification that are used (document 3, section 6). */
const fields: ReadonlyMap<string, keyof ReceivedHead> = new Map([
  ['event-type', 'evento'],
  ['secret', 'secret'],
  ['authorization', 'authorization'],
  ['destinatario-tipo', 'recipientKind'],
  ['destinatario-id', 'recipientId'],
  ['content-length', 'contentLength'],
  ['content-encoding', 'contentEncoding'],
  ['transfer-encoding', 'transferEncoding'],
  ['x-forwarded-for', 'forwarded'],
])

export function headOfRequest({ method, headers }: Request): ReceivedHead {
  const head = { ...emptyHead, method }
  for (const [header, name] of fields) head[name] = headers.get(header) ?? ''
  return mergeRepeated(head)
}

/** Reads the head of a request of node:http from its raw headers: Node drops repeated ones, which must not pass. */
export function headOfIncoming({ method = '', rawHeaders }: IncomingMessage): ReceivedHead {
  const head = { ...emptyHead, method }
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = fields.get((rawHeaders[i] ?? '').toLowerCase())
    if (name === undefined) continue
    const value = rawHeaders[i + 1] ?? ''
    head[name] = head[name] === '' ? value : `${head[name]}, ${value}`
  }
  return mergeRepeated(head)
}

/** Headers that a proxy may repeat with the same value. */
const repeatable = ['evento', 'recipientKind', 'recipientId', 'contentLength'] as const

function mergeRepeated(head: typeof emptyHead): ReceivedHead {
  for (const name of repeatable) {
    if (!head[name].includes(',')) continue
    // Not split by a pattern with white space: that is quadratic, and anybody may send a header of blanks.
    const [first = '', ...others] = head[name].split(',').map(each => each.trim())
    if (others.every(other => other === first)) head[name] = first
  }
  head.evento = decodeUtf8(head.evento)
  return head
}

/** Node decodes headers as Latin-1: a value whose bytes are valid UTF-8 was sent as UTF-8. */
function decodeUtf8(text: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'latin1'))
  } catch {
    return text
  }
}
