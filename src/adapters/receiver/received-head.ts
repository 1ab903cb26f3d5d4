import type { IncomingMessage } from 'node:http'

/** The headers of a notification that count (document 3, section 6); repeated with another value, they are joined. */
const named = {
  'event-type': 'evento',
  secret: 'secret',
  authorization: 'authorization',
  'destinatario-tipo': 'recipientKind',
  'destinatario-id': 'recipientId',
  'content-length': 'contentLength',
  'content-encoding': 'contentEncoding',
  'transfer-encoding': 'transferEncoding',
  'x-forwarded-for': 'forwarded',
} as const

type HeadField = (typeof named)[keyof typeof named]

/** The head of a request, as far as the receiver reads it. An absent header is empty. */
export type ReceivedHead = { readonly method: string } & Readonly<Record<HeadField, string>>

const names = Object.entries(named)

/** Reads the head of a web request. */
export function headOfRequest({ method, headers }: Request): ReceivedHead {
  const head = emptyHead(method)
  for (const [header, name] of names) head[name] = headers.get(header) ?? ''
  return withoutRepeated(head)
}

/**
 * Reads the head of a request of node:http. From the raw headers: Node leaves out some repeated ones, and a repeated
 * secret must not pass.
 */
export function headOfIncoming({ method = '', rawHeaders }: IncomingMessage): ReceivedHead {
  const head = emptyHead(method)
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = named[(rawHeaders[i] ?? '').toLowerCase() as keyof typeof named] // Others find nothing.
    if (name === undefined) continue
    const value = rawHeaders[i + 1] ?? ''
    head[name] = head[name] === '' ? value : `${head[name]}, ${value}`
  }
  return withoutRepeated(head)
}

/**
 * Headers that may be repeated with the same value, as by a proxy that adds what is there: joined, they would name
 * another event or person.
 */
const repeatable = ['evento', 'recipientKind', 'recipientId', 'contentLength'] as const

function withoutRepeated(head: ReturnType<typeof emptyHead>): ReceivedHead {
  for (const name of repeatable) {
    if (!head[name].includes(',')) continue
    const [first = '', ...others] = head[name].split(/\s*,\s*/)
    if (others.every(other => other === first)) head[name] = first
  }
  head.evento = decoded(head.evento)
  return head
}

/** Headers come as Latin-1, byte by byte: what is UTF-8 throughout was meant as such. */
function decoded(text: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'latin1'))
  } catch {
    return text
  }
}

/** Reports whether the head names several events: then nobody knows whose handlers are meant. */
export function namesSeveral({ evento }: ReceivedHead): boolean {
  return evento.includes(', ')
}

function emptyHead(method: string): { method: string } & Record<HeadField, string> {
  return {
    method,
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
}
