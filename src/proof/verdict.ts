import type { Fault, Faults } from './faults.ts'
import { type LogVerified, LogVerifier } from './log-verifier.ts'
import type { VerifierKey } from './note.ts'
import {
  type GivenCheckpoint,
  keysByName,
  type StampedCheckpoint,
  verifyCheckpoint,
  verifyCheckpoints,
} from './verify-checkpoints.ts'

/**
 * The level that a log reaches, the worst first:
 *
 * - `broken`: it contradicts itself, or something outside of it.
 * - `self-consistent`: it does not contradict itself.
 * - `held`: it also continues a checkpoint that was kept outside of it: that, its key or the keyring was given, and not
 *   read from the log.
 * - `anchored`: a witness has also signed a checkpoint of it.
 */
export type Level = 'broken' | 'self-consistent' | 'held' | 'anchored'

/** The result of a verification. */
export interface Verdict {
  readonly level: Level
  /** Why the log does not reach the next level; empty at the highest level. */
  readonly next: string
  /** Empty unless the level is `broken`. */
  readonly faults: readonly Fault[]
  /** What this level does not prove, in sentences. */
  readonly unproven: readonly string[]
  readonly origin: string
  readonly events: number
  readonly parts: number
  /** Parts that were erased or destroyed by retention. */
  readonly erasedParts: number
  readonly checkpoints: number
  /** The last event that a signed checkpoint covers, or 0. */
  readonly signed: number
  /** The last event that a checkpoint from outside covers, or 0. */
  readonly held: number
  /** The last event that a checkpoint signed by a witness covers, or 0. */
  readonly anchored: number
  /** The newest checkpoint with a time stamp (RFC 3161), whose signature is not verified: the level stays. */
  readonly stamped?: StampedCheckpoint | undefined
  /** Answers of anchors that were ignored, and why. They are not faults of the log. */
  readonly uncounted: readonly Fault[]
  /** The root over all events, in hexadecimal. */
  readonly root: string
}

export interface Evidence {
  readonly checkpoints: readonly GivenCheckpoint[]
  readonly keys: readonly VerifierKey[]
  /** Whether the caller gave the keys, and they were not read from the log itself. */
  readonly isKeyGiven: boolean
  readonly witnesses: readonly VerifierKey[]
  /** A checkpoint that was kept outside of the log. */
  readonly mark: string | undefined
  /** Whether the caller gave the mark, and it was not read from beside the log. */
  readonly isMarkGiven: boolean
  readonly markName: string
  /** Why the log is not compared with a checkpoint from outside, without a mark. */
  readonly notHeldReason: string
}

/**
 * Verifies a log with its evidence, and makes the verdict: the level, why it is not the next level, and what it does
 * not prove. `verifyEvents` adds the events to the verifier, and gives what it found.
 */
export async function verifyLog(
  { checkpoints: given, keys, isKeyGiven, witnesses, mark, isMarkGiven, ...words }: Evidence,
  faults: Faults,
  verifyEvents: (verifier: LogVerifier, covered: Pick<Verdict, 'signed' | 'held'>) => Promise<LogVerified>,
): Promise<Verdict> {
  const { checkpoints, ...anchors } = await verifyCheckpoints(given, keys, witnesses, faults)
  const kept = mark === undefined ? undefined : await verifyCheckpoint(mark, keysByName(keys))
  if (typeof kept === 'string') faults.add('mark', `${words.markName} ${kept}`)
  const points = [...checkpoints, ...(typeof kept === 'object' ? [kept] : [])].sort((a, b) => a.size - b.size)
  const held = typeof kept === 'object' ? kept.size : 0
  const signed = checkpoints.at(-1)?.size ?? 0
  const verifier = new LogVerifier(points, keys)
  const verified = await verifyEvents(verifier, { signed, held })
  faults.addAll(verifier.faults.list())
  const found = { ...verified, ...anchors, signed, held, faults: faults.list(), checkpoints: given.length }
  // Who can write the file can sign a history of their own, with a mark beside it and their key in it.
  const isFromOutside = isKeyGiven || isMarkGiven
  const level = levelOf(found, isFromOutside)
  const next = {
    broken: 'It has faults.',
    'self-consistent': held > 0 ? notFromOutside : words.notHeldReason,
    held:
      witnesses.length === 0
        ? 'No key of a witness was given.'
        : 'None of the given witnesses has signed a checkpoint of it.',
    anchored: '',
  }[level]
  return { level, next, ...found, unproven: listUnproven(level, isKeyGiven, found) }
}

type Findings = Omit<Verdict, 'level' | 'next' | 'unproven'>

const notFromOutside =
  'The mark beside the log is signed with a key that was read from the log itself: give a key, a mark or the keyring from elsewhere.'

function levelOf({ faults, held, anchored }: Findings, isFromOutside: boolean): Level {
  if (faults.length > 0) return 'broken'
  if (anchored > 0) return 'anchored'
  return held > 0 && isFromOutside ? 'held' : 'self-consistent'
}

function listUnproven(level: Level, isKeyGiven: boolean, found: Findings): string[] {
  const { events, signed, held, anchored, stamped } = found
  if (level === 'broken') return ['A log that is broken proves nothing.']
  const uncovered = (from: number, what: string) =>
    from < events ? [`Events ${from + 1} to ${events} are ${what}: they may still be exchanged.`] : []
  const key =
    'That its key belongs to its owner: the key was read from the log itself. Compare it with a key from another source.'
  const stamp = `That an authority gave its time stamps: the newest is over the checkpoint of ${stamped?.size} events, at ${stamped?.at}. Verify its signature with "openssl ts -verify".`
  const always = [
    ...(isKeyGiven ? [] : [key]),
    ...(stamped ? [stamp] : []),
    'That the recorded facts were true: a log holds what it was given.',
    'That the times in it are right: they come from the clock of its owner.',
  ]
  const confirmed = Math.max(held, anchored)
  const newest = `That it is the newest copy: events after ${confirmed} may be missing, such as an erasure. Only a later checkpoint shows that.`
  if (level === 'anchored')
    return [newest, ...always, ...uncovered(anchored, 'newer than the last checkpoint that a witness signed')]
  const rewritten =
    'That its owner did not rewrite it: with the keyring, another history can be signed. Only a checkpoint that someone else keeps or signs shows that.'
  if (level === 'held') return [newest, rewritten, ...always, ...uncovered(held, 'newer than the mark')]
  const tail = 'That its end was not cut off, and that it was not replaced by an older copy.'
  return [tail, rewritten, ...always, ...uncovered(signed, 'not covered by a signed checkpoint')]
}
