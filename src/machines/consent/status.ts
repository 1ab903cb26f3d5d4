import type { Instant } from '../../vocabulary/message.ts'

/** The five statuses of the contract (document 1, section 3). */
export const consentStatuses = ['PENDENTE', 'ATIVO', 'NEGADO', 'REVOGADO', 'EXPIRADO'] as const
/** The status of a consent. */
export type ConsentStatus = (typeof consentStatuses)[number]

/** The statuses that can be requested (section 3). */
export const requestableStatuses = ['ATIVO', 'NEGADO', 'REVOGADO'] as const
export type RequestableStatus = (typeof requestableStatuses)[number]

export function isOpen(status: ConsentStatus): boolean {
  return status === 'PENDENTE' || status === 'ATIVO'
}

type MoveType = `consent.${'approved' | 'denied' | 'revoked' | 'expired'}`

/** The contract's table of changes. It has no expiry: by our policy that may follow both open statuses. */
export const moves = {
  PENDENTE: { ATIVO: 'consent.approved', NEGADO: 'consent.denied', EXPIRADO: 'consent.expired' },
  ATIVO: { REVOGADO: 'consent.revoked', EXPIRADO: 'consent.expired' },
  ...{ NEGADO: {}, REVOGADO: {}, EXPIRADO: {} },
} as const satisfies Record<ConsentStatus, Partial<Record<ConsentStatus, MoveType>>>

/** Returns the event type of a status change in the contract's table; `undefined` when the table does not have it. */
export function moveType(held: ConsentStatus, status: ConsentStatus): MoveType | undefined {
  const from: Partial<Record<ConsentStatus, MoveType>> = moves[held]
  return from[status]
}

/** The end that may follow an open status (section 3). */
export function endFrom(status: ConsentStatus): RequestableStatus {
  return status === 'PENDENTE' ? 'NEGADO' : 'REVOGADO'
}

/** One entry of `historico`. `status` is null if the contract does not have it, `since` if it is not a date. */
export interface HistoryEntry {
  readonly status: ConsentStatus | null
  readonly since: Instant | null
}

/** A history, oldest entry first, and the status of the same reading; null if not recorded. */
export interface History {
  readonly history: readonly HistoryEntry[]
  readonly historyStatus: ConsentStatus | null
}

/**
 * Returns what contradicts the status ATIVO of a full reading: the end with which its history closes, or null for a
 * status that the contract does not have; `undefined` when nothing does.
 */
export function contradiction({
  status,
  history,
}: {
  readonly status: ConsentStatus
  readonly history: readonly HistoryEntry[]
}): ConsentStatus | null | undefined {
  return status === 'ATIVO' ? lastOf(history).find(isEnd)?.status : undefined
}

/** The status before the history was read, or `unknown`; null before it; `undefined` when the history does not say. */
export function statusBy(
  { history, historyStatus }: History,
  at: Instant,
): ConsentStatus | 'unknown' | null | undefined {
  const isActive = historyStatus === 'ATIVO'
  const undated = history.filter(({ since }) => since === null)
  if (undated.some(entry => !isActive || isEnd(entry))) return 'unknown'
  // Instants sort as texts.
  const dated = history
    .filter(({ since }) => since !== null)
    .toSorted(({ since: a }, { since: b }) => (a ?? '').localeCompare(b ?? ''))
  const entry = dated.findLast(({ since }) => (since ?? '') <= at)
  if (!entry) return undated.length > 0 ? undefined : null
  const isLast = isActive && entry.since === dated.at(-1)?.since
  if (!isLast || isEnd(entry)) return entry.status ?? 'unknown'
  if (contradiction({ status: 'ATIVO', history }) !== undefined) return 'unknown'
  return entry.status === 'PENDENTE' ? undefined : 'ATIVO'
}

/** Checks that a history begins with the entries of another. */
export function isBeginning(known: readonly HistoryEntry[], history: readonly HistoryEntry[]): boolean {
  return known.every(({ status, since }, i) => status === history[i]?.status && since === history[i]?.since)
}

/** Skips the entries from `start` on of recorded statuses. Returns the next index and the statuses without an entry. */
export function passEntries(
  history: readonly HistoryEntry[],
  start: number,
  statuses: readonly ConsentStatus[],
): { readonly next: number; readonly missing: readonly ConsentStatus[] } {
  let next = start
  const missing = statuses.filter(status => {
    const at = history.findIndex((entry, i) => i >= next && entry.status === status)
    if (at !== -1) next = at + 1
    return at === -1
  })
  return { next, missing }
}

/** Returns the entries that may be the last: the newest ones with the same time, and those without a date. */
function lastOf(history: readonly HistoryEntry[]): readonly HistoryEntry[] {
  const undated = history.filter(({ since }) => since === null)
  const newest = history.reduce((last, { since }) => (since !== null && since > last ? since : last), '')
  const last = history.filter(({ since }) => since === newest)
  // If the entries are in an order that ends with ATIVO, that order counts.
  const isLed = undated.length === 0 && last.at(-1)?.status === 'ATIVO'
  return [...undated, ...(isLed ? last.slice(-1) : last)]
}

function isEnd({ status }: Pick<HistoryEntry, 'status'>): boolean {
  return status === null || !isOpen(status)
}
