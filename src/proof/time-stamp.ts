import { toBytes, toHex } from './encoding.ts'

/**
 * The content of a time-stamp token (RFC 3161). Whether it is the authority's, its signature would show, which is not
 * read here.
 */
export interface TimeStamp {
  /** The hash that it stamps, in hexadecimal, and by which algorithm of WebCrypto it was made. */
  readonly imprint: string
  readonly algorithm: string
  /** When, by the clock of the authority. */
  readonly at: string
}

/** An element of DER: its tag, and its content. */
interface Element {
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
 * Reads a token of a time stamp, or the answer of an authority that holds one (RFC 3161, sections 2.4.2): as much of
 * its DER as tells what was stamped, and when. `undefined` for anything else, and for a hash that is no longer safe.
 */
export function readTimeStamp(bytes: Uint8Array): TimeStamp | undefined {
  const outer = within(elementsOf(new Uint8Array(bytes))[0], sequence)
  // An answer is a status, followed by the token.
  const [kind, signed] = outer[0]?.tag === sequence ? within(outer[1], sequence) : outer
  if (hexOf(kind, objectId) !== signedData) return undefined
  const [, , encapsulated] = within(within(signed, explicit)[0], sequence)
  const [what, wrapped] = within(encapsulated, sequence)
  const text = within(wrapped, explicit)[0]
  if (hexOf(what, objectId) !== stampInfo || text?.tag !== octets) return undefined
  const [, , stamped, , time] = within(elementsOf(text.content)[0], sequence)
  const [by, hash] = within(stamped, sequence)
  const algorithm = algorithms[hexOf(within(by, sequence)[0], objectId)]
  const at = time?.tag === generalizedTime ? instantOf(time.content) : undefined
  if (algorithm === undefined || hash?.tag !== octets || at === undefined) return undefined
  return { algorithm, imprint: toHex(hash.content), at }
}

/** Reports whether a time stamp is one of this text. */
export async function isStampOf({ algorithm, imprint }: TimeStamp, text: string): Promise<boolean> {
  return toHex(new Uint8Array(await crypto.subtle.digest(algorithm, toBytes(text)))) === imprint
}

/** What is read here has at most ten elements in a row; the depth is fixed by the code, whatever the bytes say. */
const elementsMax = 32

/** The elements in a row; none where the bytes are not DER, or hold more than a time stamp has. */
function elementsOf(bytes: Uint8Array<ArrayBuffer>): Element[] {
  const elements: Element[] = []
  for (let at = 0; at < bytes.length; ) {
    if (elements.length === elementsMax) return []
    const [tag = 0, first = 0] = bytes.subarray(at, at + 2)
    // From 128 on, it tells how many bytes hold the length; ours take at most four.
    const more = first < 128 ? 0 : first - 128
    const start = at + 2 + more
    if (first === 128 || more > 4 || start > bytes.length) return []
    const length =
      more === 0 ? first : bytes.subarray(at + 2, start).reduce((sum, byte) => sum * 256 + byte, 0)
    if (start + length > bytes.length) return []
    elements.push({ tag, content: bytes.subarray(start, start + length) })
    at = start + length
  }
  return elements
}

function within(element: Element | undefined, tag: number): Element[] {
  return element?.tag === tag ? elementsOf(element.content) : []
}

function hexOf(element: Element | undefined, tag: number): string {
  return element?.tag === tag ? toHex(element.content) : ''
}

/** A time as DER writes it, such as `20261121161321Z`, with a fraction or without. */
function instantOf(bytes: Uint8Array): string | undefined {
  const [, year, month, day, hour, minute, second, fraction = ''] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\.\d{1,9})?Z$/.exec(
      String.fromCharCode(...bytes.subarray(0, 32)),
    ) ?? []
  const whole = `${year}-${month}-${day}T${hour}:${minute}:${second}`
  const ms = Date.parse(`${whole}Z`)
  // Some runtimes read 30 February as a day of March: a time counts only if it is written back as it was.
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== `${whole}.000Z`) return undefined
  return `${whole}${fraction}Z`
}
