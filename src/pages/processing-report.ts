import type { Actor, Basis, Instant } from '../vocabulary/message.ts'
import type { Language } from './language.ts'
import type { ReportedLog } from './subject-report.ts'

/** What was done with personal data: received, sent to a service, used under a consent, or a use was refused. */
export type ProcessingKind = 'collected' | 'shared' | 'used' | 'refused'

/** One operation with personal data (LGPD article 37). */
export interface ProcessingOperation {
  readonly position: number
  readonly at: Instant
  readonly type: string
  readonly words: string
  readonly kinds: readonly ProcessingKind[]
  readonly basis: Basis | null
  readonly actor: Actor | null
  /** The owners of the data: refs of data subjects, an organisation or a subscription. */
  readonly owners: readonly string[]
  /** The categories of people that the data is about. */
  readonly subjects: readonly string[]
  /** The kinds of data that were received or opened. */
  readonly data: readonly string[]
  /** Who gave the received data. */
  readonly sources: readonly string[]
  /** The services that data was sent to. */
  readonly recipients: readonly string[]
}

/** The operations of a period, with the retention and security that apply to all of them (LGPD article 37). */
export interface ProcessingReport {
  readonly format: 'averba processing report 1'
  readonly language: Language
  readonly log: ReportedLog
  readonly from: Instant
  readonly until: Instant
  readonly retention: string
  readonly security: string
  readonly operations: readonly ProcessingOperation[]
}
