import type { Fault } from './faults.ts'
import type { StampedCheckpoint } from './verify-checkpoints.ts'

/**
 * The level that a log reaches, the worst first:
 *
 * - `broken`: it contradicts itself, or something outside of it.
 * - `self-consistent`: it does not contradict itself.
 * - `held`: it also continues a checkpoint that was kept outside of it.
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
  /**
   * The newest checkpoint with a time stamp (RFC 3161). The signature of the authority is not verified, so the stamp
   * does not raise the level.
   */
  readonly stamped?: StampedCheckpoint | undefined
  /** Answers of anchors that were ignored, and why. They are not faults of the log. */
  readonly uncounted: readonly Fault[]
  /** The root over all events, in hexadecimal. */
  readonly root: string
}

/** The findings that a verdict is made from. */
export type Findings = Omit<Verdict, 'level' | 'next' | 'unproven'> & {
  /** Why the log was not compared with a checkpoint from outside. */
  readonly notHeldReason: string
  /** Whether the caller gave the key, and it was not read from the log itself. */
  readonly isKeyGiven: boolean
}

/** Makes the verdict: the level, why it is not the next level, and what it does not prove. */
export function conclude(findings: Findings): Verdict {
  const { notHeldReason, isKeyGiven, ...shown } = findings
  const level = levelOf(findings)
  const next = {
    broken: 'It has faults.',
    'self-consistent': notHeldReason,
    held: 'None of the given witnesses has signed a checkpoint of it.',
    anchored: '',
  }[level]
  return { level, next, ...shown, unproven: listUnproven(level, findings) }
}

function levelOf({ faults, held, anchored }: Findings): Level {
  if (faults.length > 0) return 'broken'
  if (anchored > 0) return 'anchored'
  return held > 0 ? 'held' : 'self-consistent'
}

function listUnproven(level: Level, { events, signed, held, anchored, stamped, isKeyGiven }: Findings): string[] {
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
