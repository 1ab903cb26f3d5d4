import { parseCheckpoint, type SignedCheckpoint } from './checkpoint.ts'
import { type Fault, Faults } from './faults.ts'
import { type VerifierKey, verifyNote } from './note.ts'
import { isStampOf, readTimeStamp } from './time-stamp.ts'

/** A checkpoint as it stands beside a log, with the answer of an anchor. */
export interface GivenCheckpoint {
  readonly note: string
  /** The answer's bytes, or why they cannot be read, in words. */
  readonly anchor?: Uint8Array | string | undefined
}

/**
 * How long the answer of an anchor may be: ten times what a time stamp takes with the certificates of its authority.
 */
export const anchorBytesMax = 64 * 1024
/** Told of a longer one. */
export const anchorTooLong = 'is longer than 64 kB'

/** A checkpoint that a time stamp names: over how many events, and when by the clock of the authority. */
export interface StampedCheckpoint {
  readonly size: number
  readonly at: string
}

/** Checkpoints whose signatures hold, the smallest first, and the largest that somebody else has signed or stamped. */
export interface TrustedCheckpoints {
  readonly checkpoints: readonly SignedCheckpoint[]
  readonly anchored: number
  readonly stamped: StampedCheckpoint | undefined
  /** Answers of anchors that do not concern their checkpoints, and why. */
  readonly uncounted: readonly Fault[]
}

/**
 * Verifies the signatures of checkpoints.
 *
 * @param keys of the log itself: one for each name that it signs under
 * @param witnesses keys of others that the verifier trusts; one of the log's own, under whatever name, is none
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
    const anchor = readable(answer)
    if (typeof anchor === 'string')
      uncounted.add('anchors', `what an anchor gave for checkpoint ${i + 1} ${anchor}`)
    const bytes = typeof anchor === 'string' ? undefined : anchor
    const stamp = bytes && readTimeStamp(bytes)
    if (stamp && !(await isStampOf(stamp, note)))
      // The anchor is at fault, not the log, which is no worse for it.
      uncounted.add(
        'anchors',
        `the time stamp of checkpoint ${i + 1} is one of something else than the whole signed note`,
      )
    else if (stamp) stamped = { size: checkpoint.size, at: stamp.at }
    const texts = [note, ...(bytes ? [new TextDecoder().decode(bytes)] : [])]
    const cosigned = await cosigners(checkpoint, texts, others)
    if (cosigned === undefined)
      faults.add('signatures', `a witness's signature of checkpoint ${i + 1} is wrong`)
    else if (cosigned > 0) anchored = checkpoint.size
  }
  return { checkpoints, anchored, stamped, uncounted: uncounted.list() }
}

function isSameKey(a: VerifierKey, b: VerifierKey): boolean {
  return a.publicKey.every((byte, i) => byte === b.publicKey[i])
}

function readable(anchor: GivenCheckpoint['anchor']): GivenCheckpoint['anchor'] {
  return anchor && anchor.length > anchorBytesMax ? anchorTooLong : anchor
}

/** A checkpoint with a valid signature of the log, or what is wrong with it, in words. */
export async function verifyCheckpoint(
  note: string,
  keys: readonly VerifierKey[],
): Promise<SignedCheckpoint | string> {
  const checkpoint = parseCheckpoint(note)
  if (!checkpoint) return 'is damaged'
  const own = keys.filter(key => key.name === checkpoint.origin)
  if (own.length === 0) return 'is of another log'
  const signed = await verifyNote(checkpoint.note, own)
  if (!signed) return 'has a wrong signature'
  return signed.length > 0 ? checkpoint : 'is not signed with the key of the log'
}

/** How many witnesses signed the same text; `undefined` when a signature of one is wrong. */
async function cosigners(
  { note }: SignedCheckpoint,
  texts: readonly string[],
  witnesses: readonly VerifierKey[],
): Promise<number | undefined> {
  const found = new Set<string>()
  for (const text of texts) {
    const given = parseCheckpoint(text)
    // An answer that is not a note is kept for whoever can read it.
    if (given?.note.text !== note.text) continue
    const signed = await verifyNote(given.note, witnesses)
    if (!signed) return undefined
    for (const key of signed) found.add(key.name)
  }
  return found.size
}
