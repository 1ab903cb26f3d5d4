import type { Actor, Basis, Instant } from '../vocabulary/message.ts'
import type { Language } from './language.ts'
import type { ReportedLog } from './subject-report.ts'

/** What was done with personal data: it came in, it left for a service, or it was used under a consent. */
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
  /** Who it is about: a data subject's ref, an organisation or a subscription, as the owners of the data. */
  readonly owners: readonly string[]
  /** Whom the data is about, in words. */
  readonly subjects: readonly string[]
  /** Kinds of data that came in or were opened. */
  readonly data: readonly string[]
  /** Who gave what came in. */
  readonly sources: readonly string[]
  /** The services that it left for. */
  readonly recipients: readonly string[]
}

/** The operations of a period, with what is true of all of them. */
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
