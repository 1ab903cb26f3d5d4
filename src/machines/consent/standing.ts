import type { Instant } from '../../vocabulary/message.ts'
import { type ConsentStatus, isOpen } from './status.ts'

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

export interface KnownConsent {
  /** The status then; null when unknown. */
  readonly status: ConsentStatus | null
  /** The service's time of that status, if its history has it. */
  readonly since: Instant | null
  readonly expiresAt: Instant | null
  readonly isVanished: boolean
  /** A reading differs, or the service refused a change that it should allow. */
  readonly isUncertain: boolean
  readonly shown: ListedStatus | null
  /** Its end is wanted, or was given up while its request may still be made. */
  readonly isEndPossible: boolean
  readonly change: 'none' | 'requested' | 'lost' | 'contrary'
  /** When the latest reading that covers the instant was sent. */
  readonly readAt: Instant | null
}

export type ListedStatus = ConsentStatus | 'unreadable'

export function isEndShown(shown: ListedStatus | 'refused' | null): shown is ConsentStatus {
  return shown !== null && shown !== 'unreadable' && shown !== 'refused' && !isOpen(shown)
}

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
  const { status, since, expiresAt, isVanished, isUncertain, isEndPossible, shown, change } = known
  if (status === null) return 'never-read'
  if (isVanished) return 'vanished'
  if (change === 'lost' || change === 'contrary' || (isEndPossible && status === 'ATIVO')) return 'uncertain'
  if (!isOpen(status)) return reasons[status]
  if (isUncertain) return shown === null || shown === 'unreadable' || isOpen(shown) ? 'uncertain' : reasons[shown]
  if (status === 'PENDENTE') return 'pending'
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
