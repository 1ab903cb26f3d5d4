import { toBytes, toHex } from './encoding.ts'
import { type Fault, Faults } from './faults.ts'
import { createVerifierKey, parseCheckpoint, type SignedCheckpoint, type VerifierKey, verifyNote } from './note.ts'

export interface GivenCheckpoint {
  readonly note: string
  /** The bytes of the answer, or why they cannot be read. */
  readonly anchor?: Uint8Array | string | undefined
}

/** The largest answer of an anchor: ten times the size of a time stamp with the certificates of its authority. */
export const anchorBytesMax = 64 * 1024
export const anchorTooLong = 'is longer than 64 kB'

/** A checkpoint with a time stamp: its number of events, and the time by the clock of the authority. */
export interface StampedCheckpoint {
  readonly size: number
  readonly at: string
}

export interface TrustedCheckpoints {
  /** The smallest first. */
  readonly checkpoints: readonly SignedCheckpoint[]
  /** The size of the largest checkpoint that a witness signed. */
  readonly anchored: number
  readonly stamped: StampedCheckpoint | undefined
  /** Answers of anchors that were ignored, and why. */
  readonly uncounted: readonly Fault[]
}

/**
 * Verifies the signatures of checkpoints.
 *
 * @param keys of the log itself
 * @param witnesses keys of others that the verifier trusts; a key of the log itself is ignored, whatever its name
 */
export async function verifyCheckpoints(
  given: readonly GivenCheckpoint[],
  keys: readonly VerifierKey[],
  witnesses: readonly VerifierKey[],
  faults: Faults,
): Promise<TrustedCheckpoints> {
  const keysUnder = keysByName(keys)
  const others = witnesses.filter(witness => !keys.some(own => isSameKey(own, witness)))
  const checkpoints: SignedCheckpoint[] = []
  const uncounted = new Faults()
  let anchored = 0
  let stamped: StampedCheckpoint | undefined
  for (const [i, { note, anchor: answer }] of given.entries()) {
    const checkpoint = await verifyCheckpoint(note, keysUnder)
    if (typeof checkpoint === 'string') {
      faults.add('signatures', `checkpoint ${i + 1} ${checkpoint}`)
      continue
    }
    if (checkpoint.size <= (checkpoints.at(-1)?.size ?? 0))
      faults.add('checkpoints', `checkpoint ${i + 1} is not over more events than the one before`)
    checkpoints.push(checkpoint)
    const anchor = answer && answer.length > anchorBytesMax ? anchorTooLong : answer
    if (typeof anchor === 'string')
      uncounted.add('anchors', `the answer of the anchor for checkpoint ${i + 1} ${anchor}`)
    const bytes = typeof anchor === 'string' ? undefined : anchor
    const stamp = bytes && readTimeStamp(bytes)
    if (stamp && !(await isStampOf(stamp, note)))
      // This is a fault of the anchor, not of the log.
      uncounted.add('anchors', `the time stamp of checkpoint ${i + 1} is not over the whole signed note`)
    else if (stamp) stamped = { size: checkpoint.size, at: stamp.at }
    const texts = [note, ...(bytes ? [new TextDecoder().decode(bytes)] : [])]
    const cosigned = await countCosigners(checkpoint, texts, others)
    if (cosigned === undefined) faults.add('signatures', `a witness's signature of checkpoint ${i + 1} is wrong`)
    else if (cosigned > 0) anchored = checkpoint.size
  }
  return { checkpoints, anchored, stamped, uncounted: uncounted.list() }
}

function isSameKey(a: VerifierKey, b: VerifierKey): boolean {
  return a.publicKey.every((byte, i) => byte === b.publicKey[i])
}

/** How often the name of a log may change, as it does after a restore: each time, the ids of all keys are derived. */
const namesMax = 1_000

/** Gives the keys under the name of a checkpoint, with their ids there, and none after too many names. */
export function keysByName(keys: readonly VerifierKey[]): (origin: string) => readonly VerifierKey[] {
  let own: readonly VerifierKey[] = []
  let names = 0
  return origin => {
    // A log that continues after a restore has another name, and keeps its key.
    if (own[0]?.name !== origin)
      own = ++names > namesMax ? [] : keys.map(({ publicKey, type }) => createVerifierKey(origin, publicKey, type))
    return own
  }
}

/** Returns the checkpoint when the log has signed it, otherwise the fault in words. */
export async function verifyCheckpoint(
  note: string,
  keysUnder: ReturnType<typeof keysByName>,
): Promise<SignedCheckpoint | string> {
  const checkpoint = parseCheckpoint(note)
  if (!checkpoint) return 'is damaged'
  const signed = await verifyNote(checkpoint.note, keysUnder(checkpoint.origin))
  if (!signed) return 'has a wrong signature'
  return signed.length > 0 ? checkpoint : 'is not signed with the key of the log'
}

/** Counts the witnesses that signed the checkpoint; `undefined` when the signature of one is wrong. */
async function countCosigners(
  { note }: SignedCheckpoint,
  texts: readonly string[],
  witnesses: readonly VerifierKey[],
): Promise<number | undefined> {
  const found = new Set<string>()
  for (const text of texts) {
    const given = parseCheckpoint(text)
    // An answer may be something else than a note: then it has no cosignatures.
    if (given?.note.text !== note.text) continue
    const signed = await verifyNote(given.note, witnesses)
    if (!signed) return undefined
    for (const key of signed) found.add(key.name)
  }
  return found.size
}

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
