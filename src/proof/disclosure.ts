import type { Json, PartMark } from '../vocabulary/message.ts'
import { fromBase64, fromBytes, sha256, toBase64, toBytes } from './encoding.ts'
import type { VerifierKey } from './note.ts'
import { parseObject, parseRecorded, type RecordedHeader } from './recorded-header.ts'
import { type ProofOptions, type ProofVerdict, parseTlogProof, verifyTlogProof } from './tlog-proof.ts'

/** The disclosure of one event: its proof, its sealed parts, and the keys of its record that open them. */
export interface Disclosure {
  readonly proof: string
  /** A key of 32 bytes for each owner of a part: it opens only the parts of this event and owner. */
  readonly keys: readonly { readonly owner: string; readonly key: Uint8Array }[]
  readonly parts: readonly { readonly name: string; readonly sealed: Uint8Array }[]
}

/** A part that a disclosure opens. */
export interface OpenedPart {
  readonly name: string
  readonly owner: string
  readonly value: Json
}

/** The verdict on a disclosure: it is proven when the event is proven and each part is the one that the event names. */
export interface DisclosureVerdict extends ProofVerdict {
  /** The exact text of the event's header. */
  readonly header: string
  /** The opened parts; empty unless the whole disclosure is proven. */
  readonly opened: readonly OpenedPart[]
  /** The names of the event's other parts: destroyed, or not sealed under a key of the record. */
  readonly closed: readonly string[]
}

const format = 'averba disclosure 1'
const keyBytes = 32
const nonceBytes = 12

/** Writes a disclosure as JSON. It holds keys: anyone who has it can read the disclosed parts. */
export function writeDisclosure({ proof, keys, parts }: Disclosure): string {
  const disclosed = {
    format,
    proof,
    keys: keys.map(({ owner, key }) => ({ owner, key: toBase64(key) })),
    parts: parts.map(({ name, sealed }) => ({ name, sealed: toBase64(sealed) })),
  }
  return `${JSON.stringify(disclosed, null, 2)}\n`
}

/** Reads a disclosure without verifying it; `undefined` for a text of another form. */
function parseDisclosure(text: string): Disclosure | undefined {
  const { format: given, proof, keys, parts } = parseObject(text) ?? {}
  if (given !== format || typeof proof !== 'string' || !Array.isArray(keys) || !Array.isArray(parts)) return undefined
  const readKeys = keys.map(each => ({ owner: each?.owner, key: decodeOptional(each?.key) }))
  const readParts = parts.map(each => ({ name: each?.name, sealed: decodeOptional(each?.sealed) }))
  const isWhole =
    readKeys.every(({ owner, key }) => typeof owner === 'string' && key?.length === keyBytes) &&
    readParts.every(({ name, sealed }) => typeof name === 'string' && sealed)
  if (!isWhole) return undefined
  return { proof, keys: readKeys, parts: readParts } as Disclosure // Each member was checked above.
}

function decodeOptional(text: unknown): Uint8Array<ArrayBuffer> | undefined {
  return typeof text === 'string' ? fromBase64(text) : undefined
}

/**
 * Verifies a disclosure, and opens its parts: first the proof of the event (`verifyTlogProof`), then the hash of each
 * part and the commitment of each key against the proven header. Only then it decrypts the parts.
 *
 * @param keys keys of the log that the verifier trusts, for each name that it signs under, as in `verifyTlogProof`
 */
export async function verifyDisclosure(
  text: string,
  keys: readonly VerifierKey[],
  { witnesses = [] }: Pick<ProofOptions, 'witnesses'> = {},
): Promise<DisclosureVerdict> {
  const nothing = { header: '', opened: [], closed: [] }
  const failed = (fault: string) => ({ isProven: false, fault, signedBy: [], ...nothing })
  const disclosure = parseDisclosure(text)
  if (!disclosure) return failed('it does not have the form of a disclosure')
  const proven = await verifyTlogProof(disclosure.proof, keys, { witnesses })
  if (!proven.isProven) return { ...proven, ...nothing }
  const header = parseTlogProof(disclosure.proof)?.header ?? ''
  const event = parseRecorded(header)
  if (!event) return failed('it does not hold an event')
  try {
    const opened = await openParts(disclosure, event)
    const names = new Set(opened.map(part => part.name))
    const closed = event.parts.flatMap(({ name }) => (names.has(name) ? [] : [name]))
    return { ...proven, header, opened, closed }
  } catch (error) {
    if (error instanceof InvalidDisclosure) return failed(error.message)
    throw error
  }
}

/** The message says why a disclosure is not proven. */
class InvalidDisclosure extends Error {}

async function openParts({ keys, parts }: Disclosure, event: RecordedHeader): Promise<OpenedPart[]> {
  const record = `${event.stream}/${event.version}`
  const marks = new Map(event.parts.map(mark => [mark.name, mark]))
  const given = new Map(keys.map(({ owner, key }) => [owner, key]))
  if (parts.length === 0) throw new InvalidDisclosure('it discloses no part')
  const opened = new Map<string, OpenedPart>()
  for (const { name, sealed } of parts) {
    const mark = marks.get(name)
    if (!mark || mark.bytes !== sealed.length || mark.hash !== sha256(sealed) || opened.has(name))
      throw new InvalidDisclosure(`its part "${name}" is not the one that the event names`)
    const key = given.get(mark.owner)
    if (!key || mark.recordKey !== keyCommitment(key, mark, record))
      throw new InvalidDisclosure(`the key for the part "${name}" is not the one that the event names`)
    opened.set(name, { name, owner: mark.owner, value: await decryptPart(key, `${record}/${name}`, sealed) })
  }
  const owners = new Set([...opened.values()].map(part => part.owner))
  // A disclosure must not carry keys that open something else.
  if (keys.length !== owners.size || !keys.every(({ owner }) => owners.has(owner)))
    throw new InvalidDisclosure('it holds a key for none of its parts')
  return [...opened.values()]
}

/** SHA-256 over a domain separator and the key, in hexadecimal: the same as in src/vault/vault.ts. */
function keyCommitment(key: Uint8Array, { owner }: PartMark, record: string): string {
  const domain = toBytes(`averba record key commitment v1\0${owner}\0${record}\0`)
  const bytes = new Uint8Array(domain.length + key.length)
  bytes.set(domain)
  bytes.set(key, domain.length)
  return sha256(bytes)
}

/** Decrypts AES-256-GCM: nonce, ciphertext and tag in one piece, with the place as additional data. */
async function decryptPart(key: Uint8Array, place: string, sealed: Uint8Array): Promise<Json> {
  const bytes = Uint8Array.from(sealed)
  try {
    const opening = await crypto.subtle.importKey('raw', Uint8Array.from(key), 'AES-GCM', false, ['decrypt'])
    const how = { name: 'AES-GCM', iv: bytes.subarray(0, nonceBytes), additionalData: toBytes(place) }
    const plain = await crypto.subtle.decrypt(how, opening, bytes.subarray(nonceBytes))
    return JSON.parse(fromBytes(new Uint8Array(plain)))
  } catch {
    throw new InvalidDisclosure(`"${place}" does not open with the key of its record`)
  }
}
