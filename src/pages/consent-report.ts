import type { StandingReason } from '../machines/consent/standing.ts'
import type { PageProof } from '../proof/check-page.ts'
import type { Instant } from '../vocabulary/message.ts'
import type { Language } from './language.ts'
import type { ReportedLog, TimelineEntry } from './subject-report.ts'

/** Whether a consent stood, in words. */
export interface ReportedAnswer {
  readonly effective: boolean
  readonly reason: StandingReason
  readonly words: string
  /** The last reading of the service that covers it. */
  readonly readAt: Instant | null
  /** When it expires, where it stands. */
  readonly until: Instant | null
  /** The newest event that the answer rests on. */
  readonly position: number
}

/**
 * Whether a consent stood at an instant, by what was known at another, with the events that say so and the proof that
 * they are in the log.
 */
export interface ConsentReport {
  readonly format: 'averba consent report 1'
  readonly language: Language
  /** The log as the checkpoint of the proof has it. */
  readonly log: ReportedLog
  readonly subject: string
  readonly cpf: string | null
  readonly consent: string
  readonly controller: string | null
  /** The instant that is asked about. */
  readonly at: Instant
  /** What was known then answers. */
  readonly knownAt: Instant
  /** Up to where in the log that is: the last position that counts. */
  readonly knownPosition: number
  readonly answer: ReportedAnswer
  /** The answer to the same question by all that is in the log by now. */
  readonly today: ReportedAnswer
  /** What the answer rests on, in order. */
  readonly timeline: readonly TimelineEntry[]
  /** What became known later, in order. */
  readonly later: readonly TimelineEntry[]
  /** In the order of both. */
  readonly proof: PageProof
  /** What this file does not prove, in words. */
  readonly unproven: readonly string[]
}
