import { leafHashHex, rootOfInclusion } from './compact-tree.ts'
import { fromBase64, fromBytes, fromHex, toBase64, toBytes, toHex } from './encoding.ts'
import { parseCheckpoint, type SignedCheckpoint, type VerifierKey, verifyNote } from './note.ts'
import { parseObject } from './recorded-header.ts'

/** A proof that one event is in a log (C2SP tlog-proof), not verified yet. */
export interface TlogProof {
  /** The exact text of the event's header, the leaf; `undefined` when the proof does not hold it. */
  readonly header: string | undefined
  /** The position of the event minus one. */
  readonly index: number
  readonly path: readonly string[]
  readonly checkpoint: SignedCheckpoint
}

const firstLine = 'c2sp.org/tlog-proof@v1'

export function writeTlogProof(header: string, index: number, path: readonly string[], note: string): string {
  const hashes = path.map(hash => `${toBase64(fromHex(hash))}\n`).join('')
  return `${firstLine}\nextra ${toBase64(toBytes(header))}\nindex ${index}\n${hashes}\n${note}`
}

/** Reads a proof; `undefined` for a text of another form. */
export function parseTlogProof(text: string): TlogProof | undefined {
  const end = text.indexOf('\n\n')
  const checkpoint = parseCheckpoint(text.slice(end + 2))
  const [first, ...lines] = end < 0 ? [] : text.slice(0, end).split('\n')
  const extra = lines[0]?.startsWith('extra ') ? fromBase64((lines.shift() ?? '').slice(6)) : undefined
  const [, index] = /^index (0|[1-9]\d{0,15})$/.exec(lines.shift() ?? '') ?? []
  const path = lines.map(line => fromBase64(line))
  if (first !== firstLine || !checkpoint || index === undefined || path.length > 63) return undefined
  if (!path.every(hash => hash?.length === 32)) return undefined
  try {
    const header = extra && fromBytes(extra)
    const hashes = path.map(hash => toHex(hash ?? new Uint8Array()))
    return { header, index: Number(index), path: hashes, checkpoint }
  } catch {
    return undefined
  }
}

/** The result of verifying a proof. */
export interface ProofVerdict {
  readonly isProven: boolean
  /** The fault in words; empty when the event is proven. */
  readonly fault: string
  /** The names of the keys that signed the checkpoint. */
  readonly signedBy: readonly string[]
}

/** The options of verifying a proof. */
export interface ProofOptions {
  /** Keys of others that the verifier trusts: the verdict names those that signed the checkpoint. */
  readonly witnesses?: readonly VerifierKey[]
  /** The exact text of the event's header; when absent, the one in the proof. */
  readonly header?: string
}

/**
 * Verifies a proof against keys that the verifier trusts.
 *
 * @param keys of the log itself, for each name that it signs under: after a change of keys several for one name
 */
export async function verifyTlogProof(
  text: string,
  keys: readonly VerifierKey[],
  { witnesses = [], header }: ProofOptions = {},
): Promise<ProofVerdict> {
  const failed = (fault: string): ProofVerdict => ({ isProven: false, fault, signedBy: [] })
  const proof = parseTlogProof(text)
  if (!proof) return failed('it does not have the form of a proof')
  const { checkpoint, index, path } = proof
  const leaf = header ?? proof.header
  if (leaf === undefined) return failed('it does not hold its event, and none was given')
  const own = keys.filter(key => key.name === checkpoint.origin)
  if (own.length === 0) return failed('its checkpoint is of another log')
  const signed = await verifyNote(checkpoint.note, [...own, ...witnesses])
  if (!signed) return failed('a signature of its checkpoint is wrong')
  if (!own.some(key => signed.includes(key))) return failed('its checkpoint is not signed with the key of the log')
  if (rootOfInclusion(leafHashHex(leaf), index, checkpoint.size, path) !== checkpoint.root)
    return failed('its hashes do not lead from the event to the root of its checkpoint')
  if (parseObject(leaf)?.position !== index + 1) return failed('its event says that it has another position')
  return { isProven: true, fault: '', signedBy: signed.map(key => key.name) }
}
