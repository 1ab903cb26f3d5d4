import type { Instant } from '../../vocabulary/message.ts'
import type { ConsentStatus, RequestableStatus } from './status.ts'

/** Why a consent stands, or does not. Only `active` is effective. */
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

/** What is known of a consent at the instant that is asked about. */
export interface KnownConsent {
  /** The status then; null when nothing is known of that instant. */
  readonly status: ConsentStatus | null
  /** The service's own time of that status, where its history told. */
  readonly since: Instant | null
  readonly expiresAt: Instant | null
  readonly isVanished: boolean
  /** What a list shows in its place. */
  readonly shown: ListedStatus | null
  /** What we asked the service for and have not heard of, and whether the answer was lost. */
  readonly asked: RequestableStatus | null
  readonly isDoubtful: boolean
  /** The history that was read last ends it, or ends with what nobody knows. */
  readonly isContradicted: boolean
  /** When the request of the last reading left that covers it. */
  readonly readAt: Instant | null
}

/** What a list shows: a status, or something that cannot be read. */
export type ListedStatus = ConsentStatus | 'unreadable'

/** The instant that is asked about, the one whose knowledge answers, and how old a reading may be. */
export interface StandingQuestion {
  readonly at: Instant
  readonly knownAt: Instant
  readonly ageMaxMs: number | null
  /** When the question came: a reading made for it is not stale because of the time that it took. */
  readonly askedAt?: Instant | undefined
}

const reasons = {
  PENDENTE: 'pending',
  ATIVO: 'active',
  NEGADO: 'denied',
  REVOGADO: 'revoked',
  EXPIRADO: 'expired',
} as const

/**
 * Says whether a consent stands: only where everything that is known says so. An expiry that cannot be read is unknown,
 * and then it does not stand.
 */
export function judge(known: KnownConsent, question: StandingQuestion): StandingReason {
  const { status, since, expiresAt, isVanished, shown, asked } = known
  if (status === null) return 'never-read'
  if (isVanished) return 'vanished'
  if (known.isDoubtful || (asked !== null && asked !== 'ATIVO' && status === 'ATIVO')) return 'uncertain'
  if (shown !== null && shown !== 'ATIVO' && shown !== 'unreadable') return reasons[shown]
  if (status !== 'ATIVO') return reasons[status]
  if (shown !== null || known.isContradicted) return 'uncertain'
  // The service's clock may be ahead of ours: by its own time the consent does not stand yet.
  if (since !== null && question.at < since) return 'pending'
  if (expiresAt === null) return 'uncertain'
  if (question.at >= expiresAt) return 'expired'
  return isStale(known, question) ? 'stale' : 'active'
}

/** Instants all have one form, so that as texts they are in order. */
function isStale(
  { readAt }: KnownConsent,
  { at, knownAt, ageMaxMs, askedAt = knownAt }: StandingQuestion,
): boolean {
  if (readAt === null) return true
  if (ageMaxMs === null) return false
  const until = [at, knownAt, askedAt].reduce((a, b) => (a < b ? a : b))
  return Date.parse(until) - Date.parse(readAt) > ageMaxMs
}
