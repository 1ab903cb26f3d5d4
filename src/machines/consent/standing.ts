import type { Instant } from '../../vocabulary/message.ts'
import type { ConsentStatus, RequestableStatus } from './status.ts'

/** Whether a consent is effective, or why not. Only `active` is effective. */
export type StandingReason =
  | 'active'
  | 'pending'
  | 'denied'
  | 'revoked'
  | 'expired'
  | 'stale'
  | 'vanished'
  | 'uncertain'
  | 'never-read'

/** What is known of a consent at an instant. */
export interface KnownConsent {
  /** The status then; null when unknown. */
  readonly status: ConsentStatus | null
  /** The service's time of that status, if its history has it. */
  readonly since: Instant | null
  readonly expiresAt: Instant | null
  readonly isVanished: boolean
  /** The differing status in a list. */
  readonly shown: ListedStatus | null
  /** The requested status without an answer; `isDoubtful`: the answer was lost. */
  readonly asked: RequestableStatus | null
  readonly isDoubtful: boolean
  /** The latest history ends with an end or an unknown status. */
  readonly isContradicted: boolean
  /** When the latest reading that covers the instant was sent. */
  readonly readAt: Instant | null
}

/** A status in a list, or an unreadable one. */
export type ListedStatus = ConsentStatus | 'unreadable'

/** The instant in question, the instant as of which knowledge counts, and the maximum age of a reading. */
export interface StandingQuestion {
  readonly at: Instant
  readonly knownAt: Instant
  readonly ageMaxMs: number | null
  /** When the question was asked: a reading made for it is not stale, however long it took. */
  readonly askedAt?: Instant | undefined
}

const reasons = {
  PENDENTE: 'pending',
  ATIVO: 'active',
  NEGADO: 'denied',
  REVOGADO: 'revoked',
  EXPIRADO: 'expired',
} as const

/** Returns whether a consent is effective: only if everything known says so. With an unknown expiry it is not. */
export function judge(known: KnownConsent, question: StandingQuestion): StandingReason {
  const { status, since, expiresAt, isVanished, shown, asked } = known
  if (status === null) return 'never-read'
  if (isVanished) return 'vanished'
  if (known.isDoubtful || (asked !== null && asked !== 'ATIVO' && status === 'ATIVO')) return 'uncertain'
  if (shown !== null && shown !== 'ATIVO' && shown !== 'unreadable') return reasons[shown]
  if (status !== 'ATIVO') return reasons[status]
  if (shown !== null || known.isContradicted) return 'uncertain'
  // The service's clock may be ahead of ours: by its time, the consent has not begun.
  if (since !== null && question.at < since) return 'pending'
  if (expiresAt === null) return 'uncertain'
  if (question.at >= expiresAt) return 'expired'
  return isStale(known, question) ? 'stale' : 'active'
}

/** Instants sort as texts. */
function isStale({ readAt }: KnownConsent, { at, knownAt, ageMaxMs, askedAt = knownAt }: StandingQuestion): boolean {
  if (readAt === null) return true
  if (ageMaxMs === null) return false
  const until = [at, knownAt, askedAt].reduce((a, b) => (a < b ? a : b))
  return Date.parse(until) - Date.parse(readAt) > ageMaxMs
}
