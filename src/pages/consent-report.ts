import type { StandingReason } from '../machines/consent/standing.ts'
import type { PageProof } from '../proof/check-page.ts'
import type { Instant } from '../vocabulary/message.ts'
import type { Language } from './language.ts'
import type { ReportedLog, TimelineEntry } from './subject-report.ts'

/** The answer to whether a consent was valid. */
export interface ReportedAnswer {
  readonly effective: boolean
  readonly reason: StandingReason
  readonly words: string
  /** The last reading of the service that covers the consent. */
  readonly readAt: Instant | null
  /** When the consent expires, if it was valid. */
  readonly until: Instant | null
  /** The newest event that the answer is based on. */
  readonly position: number
}

/**
 * Whether a consent was valid at one instant according to what was known at another, with the events that the answer is
 * based on, and the proof that they are in the log.
 */
export interface ConsentReport {
  readonly format: 'averba consent report 1'
  readonly language: Language
  /** The log at the checkpoint of the proof. */
  readonly log: ReportedLog
  readonly subject: string
  readonly cpf: string | null
  readonly consent: string
  readonly controller: string | null
  /** The instant in question. */
  readonly at: Instant
  /** The answer uses only what was known at this instant. */
  readonly knownAt: Instant
  /** The last position that was known then. */
  readonly knownPosition: number
  readonly answer: ReportedAnswer
  /** The answer to the same question with everything that the log holds today. */
  readonly today: ReportedAnswer
  /** The events that the answer is based on, in order. */
  readonly timeline: readonly TimelineEntry[]
  /** The events that became known later, in order. */
  readonly later: readonly TimelineEntry[]
  /** The proof of the events of both timelines, in their order. */
  readonly proof: PageProof
  /** What this report does not prove, in sentences. */
  readonly unproven: readonly string[]
}
