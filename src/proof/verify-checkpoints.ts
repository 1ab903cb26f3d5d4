import { parseCheckpoint, type SignedCheckpoint } from './checkpoint.ts'
import { type Fault, Faults } from './faults.ts'
import { type VerifierKey, verifyNote } from './note.ts'
import { isStampOf, readTimeStamp } from './time-stamp.ts'

/** A checkpoint that is not verified yet, with the answer of an anchor. */
export interface GivenCheckpoint {
  readonly note: string
  /** The bytes of the answer, or why they cannot be read. */
  readonly anchor?: Uint8Array | string | undefined
}

/** The largest answer of an anchor: ten times the size of a time stamp with the certificates of its authority. */
export const anchorBytesMax = 64 * 1024
/** The fault of a longer answer. */
export const anchorTooLong = 'is longer than 64 kB'

/** A checkpoint with a time stamp: its number of events, and the time by the clock of the authority. */
export interface StampedCheckpoint {
  readonly size: number
  readonly at: string
}

/** The checkpoints with valid signatures. */
export interface TrustedCheckpoints {
  /** The smallest first. */
  readonly checkpoints: readonly SignedCheckpoint[]
  /** The size of the largest checkpoint that a witness signed. */
  readonly anchored: number
  /** The largest checkpoint with a time stamp. */
  readonly stamped: StampedCheckpoint | undefined
  /** Answers of anchors that were ignored, and why. */
  readonly uncounted: readonly Fault[]
}

/**
 * Verifies the signatures of checkpoints.
 *
 * @param keys of the log itself: one for each name that it signs under
 * @param witnesses keys of others that the verifier trusts; a key of the log itself is ignored, whatever its name
 */
export async function verifyCheckpoints(
  given: readonly GivenCheckpoint[],
  keys: readonly VerifierKey[],
  witnesses: readonly VerifierKey[],
  faults: Faults,
): Promise<TrustedCheckpoints> {
  const others = witnesses.filter(witness => !keys.some(own => isSameKey(own, witness)))
  const checkpoints: SignedCheckpoint[] = []
  const uncounted = new Faults()
  let anchored = 0
  let stamped: StampedCheckpoint | undefined
  for (const [i, { note, anchor: answer }] of given.entries()) {
    const checkpoint = await verifyCheckpoint(note, keys)
    if (typeof checkpoint === 'string') {
      faults.add('signatures', `checkpoint ${i + 1} ${checkpoint}`)
      continue
    }
    if (checkpoint.size <= (checkpoints.at(-1)?.size ?? 0))
      faults.add('checkpoints', `checkpoint ${i + 1} is not over more events than the one before`)
    checkpoints.push(checkpoint)
    const anchor = limitAnchor(answer)
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

function limitAnchor(anchor: GivenCheckpoint['anchor']): GivenCheckpoint['anchor'] {
  return anchor && anchor.length > anchorBytesMax ? anchorTooLong : anchor
}

/** Returns the checkpoint when the log has signed it, otherwise the fault in words. */
export async function verifyCheckpoint(note: string, keys: readonly VerifierKey[]): Promise<SignedCheckpoint | string> {
  const checkpoint = parseCheckpoint(note)
  if (!checkpoint) return 'is damaged'
  const own = keys.filter(key => key.name === checkpoint.origin)
  if (own.length === 0) return 'is of another log'
  const signed = await verifyNote(checkpoint.note, own)
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
