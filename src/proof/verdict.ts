import type { Fault } from './faults.ts'
import type { StampedCheckpoint } from './marks.ts'

/**
 * What a log was found to be, the worst first:
 *
 * - `broken`: it contradicts itself, or what is known of it.
 * - `self-consistent`: nothing in it contradicts anything else in it.
 * - `held`: it is also the continuation of a checkpoint that was kept outside of it.
 * - `anchored`: somebody else has signed a checkpoint of it as well.
 */
export type Level = 'broken' | 'self-consistent' | 'held' | 'anchored'

/** The result of a verification. */
export interface Verdict {
  readonly level: Level
  /** Why it is not the next level; empty at the highest. */
  readonly next: string
  /** What is wrong; empty unless it is broken. */
  readonly faults: readonly Fault[]
  /** What this level does not prove, in words. */
  readonly unproven: readonly string[]
  readonly origin: string
  readonly events: number
  readonly parts: number
  /** Parts that are not there, by the reason. */
  readonly erasedParts: number
  readonly checkpoints: number
  /** How many of the events a signed checkpoint covers. */
  readonly signed: number
  /** Up to which event a checkpoint from outside confirms it, and up to which somebody else signed; else 0. */
  readonly held: number
  readonly anchored: number
  /**
   * The newest checkpoint with a time stamp (RFC 3161) that names it. Whether the stamp is its authority's is not
   * checked, and so it is not a level.
   */
  readonly stamped?: StampedCheckpoint | undefined
  /**
   * Answers of anchors that do not concern their checkpoints, and why: not a fault of the log, which stands without
   * them.
   */
  readonly uncounted: readonly Fault[]
  /** The root over all events, in hexadecimal. */
  readonly root: string
}

/** The findings that a verdict is reached from. */
export type Findings = Omit<Verdict, 'level' | 'next' | 'unproven'> & {
  /** Why it was not compared with anything, in words. */
  readonly whyNotHeld: string
  /** Whether the key came from outside of what is verified. */
  readonly isKeyGiven: boolean
}

/** Names the level that findings reach, and what is missing to the next. */
export function conclude({ whyNotHeld, isKeyGiven, ...findings }: Findings): Verdict {
  const level = levelOf(findings)
  const next = {
    broken: 'The faults come first.',
    'self-consistent': whyNotHeld,
    held: 'Nobody but its owner has signed a checkpoint of it, as far as the given witnesses tell.',
    anchored: '',
  }[level]
  return { level, next, ...findings, unproven: unprovenAt(level, findings, isKeyGiven) }
}

function levelOf({ faults, held, anchored }: Pick<Findings, 'faults' | 'held' | 'anchored'>): Level {
  if (faults.length > 0) return 'broken'
  if (anchored > 0) return 'anchored'
  return held > 0 ? 'held' : 'self-consistent'
}

function unprovenAt(
  level: Level,
  { events, signed, held, anchored, stamped }: Omit<Findings, 'whyNotHeld' | 'isKeyGiven'>,
  isKeyGiven: boolean,
): string[] {
  if (level === 'broken') return ['A log that is broken proves nothing.']
  const behind = (to: number, what: string) =>
    to < events ? [`Events ${to + 1} to ${events} are ${what}: they may still be exchanged.`] : []
  const key =
    'That its key is the one of its owner: it was taken from what was verified. Compare it with one that you have from elsewhere.'
  const stamp = `That an authority gave its time stamps: the newest names the checkpoint over ${stamped?.size} events, at ${stamped?.at}; who signed that, "openssl ts -verify" tells.`
  const always = [
    ...(isKeyGiven ? [] : [key]),
    ...(stamped ? [stamp] : []),
    'That what was recorded was true when it was recorded: a log holds what it was told.',
    'That the times in it are right: they are those of the clock of its owner.',
  ]
  const confirmed = Math.max(held, anchored)
  const newest = `That it is the newest copy: what came behind event ${confirmed} may be missing, such as an erasure. Who keeps a later checkpoint can tell.`
  if (level === 'anchored')
    return [newest, ...always, ...behind(anchored, 'newer than what somebody else signed')]
  const alone =
    'That its owner did not write it anew: who holds the keyring can sign another history. Only a checkpoint that somebody else keeps or signs speaks against that.'
  if (level === 'held') return [newest, alone, ...always, ...behind(held, 'newer than the mark')]
  const tail = 'That nothing was cut off its end, and that no older copy was put in its place.'
  return [tail, alone, ...always, ...behind(signed, 'under no signed checkpoint')]
}
