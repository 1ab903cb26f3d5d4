import { toBytes, toHex } from './encoding.ts'

/** The content of a time-stamp token (RFC 3161). The signature of the authority is not verified. */
export interface TimeStamp {
  /** The stamped hash, in hexadecimal. */
  readonly imprint: string
  /** The WebCrypto name of the hash algorithm. */
  readonly algorithm: string
  /** The time, by the clock of the authority. */
  readonly at: string
}

interface DerElement {
  readonly tag: number
  readonly content: Uint8Array<ArrayBuffer>
}

const sequence = 0x30
const objectId = 0x06
const octets = 0x04
const generalizedTime = 0x18
const explicit = 0xa0

const signedData = '2a864886f70d010702'
const stampInfo = '2a864886f70d0109100104'
const algorithms: Readonly<Record<string, string>> = {
  '608648016503040201': 'SHA-256',
  '608648016503040202': 'SHA-384',
  '608648016503040203': 'SHA-512',
}

/**
 * Reads what was stamped, and when, from a time-stamp token or from the answer of an authority that holds one (RFC
 * 3161, section 2.4.2). `undefined` for anything else, and for a hash algorithm that is not listed above.
 */
export function readTimeStamp(bytes: Uint8Array): TimeStamp | undefined {
  const outer = childrenOf(parseElements(new Uint8Array(bytes))[0], sequence)
  // The answer of an authority is a status, followed by the token.
  const [kind, signed] = outer[0]?.tag === sequence ? childrenOf(outer[1], sequence) : outer
  if (contentHex(kind, objectId) !== signedData) return undefined
  const [, , encapsulated] = childrenOf(childrenOf(signed, explicit)[0], sequence)
  const [what, wrapped] = childrenOf(encapsulated, sequence)
  const text = childrenOf(wrapped, explicit)[0]
  if (contentHex(what, objectId) !== stampInfo || text?.tag !== octets) return undefined
  const [, , stamped, , time] = childrenOf(parseElements(text.content)[0], sequence)
  const [by, hash] = childrenOf(stamped, sequence)
  const algorithm = algorithms[contentHex(childrenOf(by, sequence)[0], objectId)]
  const at = time?.tag === generalizedTime ? parseGeneralizedTime(time.content) : undefined
  if (algorithm === undefined || hash?.tag !== octets || at === undefined) return undefined
  return { algorithm, imprint: toHex(hash.content), at }
}

/** Reports whether a time stamp is over this text. */
export async function isStampOf({ algorithm, imprint }: TimeStamp, text: string): Promise<boolean> {
  return toHex(new Uint8Array(await crypto.subtle.digest(algorithm, toBytes(text)))) === imprint
}

/** A time stamp has at most ten elements in a row. The code fixes the depth, whatever the bytes are. */
const elementsMax = 32

/** Parses the DER elements in a row. Returns an empty array for bytes that are not DER, or have too many elements. */
function parseElements(bytes: Uint8Array<ArrayBuffer>): DerElement[] {
  const elements: DerElement[] = []
  for (let at = 0; at < bytes.length; ) {
    if (elements.length === elementsMax) return []
    const [tag = 0, first = 0] = bytes.subarray(at, at + 2)
    // From 128 on, this byte is the number of the length bytes plus 128; a time stamp needs at most four.
    const more = first < 128 ? 0 : first - 128
    const start = at + 2 + more
    if (first === 128 || more > 4 || start > bytes.length) return []
    const length = more === 0 ? first : bytes.subarray(at + 2, start).reduce((sum, byte) => sum * 256 + byte, 0)
    if (start + length > bytes.length) return []
    elements.push({ tag, content: bytes.subarray(start, start + length) })
    at = start + length
  }
  return elements
}

function childrenOf(element: DerElement | undefined, tag: number): DerElement[] {
  return element?.tag === tag ? parseElements(element.content) : []
}

function contentHex(element: DerElement | undefined, tag: number): string {
  return element?.tag === tag ? toHex(element.content) : ''
}

/** Reads a DER time such as `20261121161321Z`, with or without a fraction. */
function parseGeneralizedTime(bytes: Uint8Array): string | undefined {
  const [, year, month, day, hour, minute, second, fraction = ''] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\.\d{1,9})?Z$/.exec(String.fromCharCode(...bytes.subarray(0, 32))) ?? []
  const whole = `${year}-${month}-${day}T${hour}:${minute}:${second}`
  const ms = Date.parse(`${whole}Z`)
  // Some runtimes read 30 February as a day of March: a valid time formats back to the same text.
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== `${whole}.000Z`) return undefined
  return `${whole}${fraction}Z`
}
