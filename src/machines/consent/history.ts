import type { Instant } from '../../vocabulary/message.ts'
import { type ConsentStatus, isOpen } from './status.ts'

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
 * Checks that the latest history contradicts the status ATIVO: its last entry is an end or, if it was read together
 * with ATIVO, an unknown status.
 */
export function isContradicted({
  reading,
  history,
  historyStatus,
}: History & { readonly reading: { readonly status: ConsentStatus } }): boolean {
  if (reading.status !== 'ATIVO') return false
  // A history read before the status contradicts it only with an end.
  return lastOf(history).some(({ status }) => (status === null ? historyStatus === 'ATIVO' : isEnd({ status })))
}

/**
 * Returns the status at an instant before the history was read: a status or `unknown`; null before its first entry;
 * `undefined` when the history does not show it.
 */
export function statusBy(
  { history, historyStatus }: History,
  at: Instant,
): ConsentStatus | 'unknown' | null | undefined {
  const isActive = historyStatus === 'ATIVO'
  const undated = history.filter(({ since }) => since === null)
  if (undated.some(entry => !isActive || isEnd(entry))) return 'unknown'
  const dated = history.filter(({ since }) => since !== null).toSorted(byDate)
  const entry = dated.findLast(({ since }) => (since ?? '') <= at)
  if (!entry) return undated.length > 0 ? undefined : null
  const isLast = isActive && entry.since === dated.at(-1)?.since
  if (!isLast || isEnd(entry)) return entry.status ?? 'unknown'
  if (isContradicted({ reading: { status: 'ATIVO' }, history, historyStatus })) return 'unknown'
  return entry.status === 'PENDENTE' ? undefined : 'ATIVO'
}

/** Checks that a history begins with the entries of another. */
export function isBeginning(known: readonly HistoryEntry[], history: readonly HistoryEntry[]): boolean {
  return known.every(({ status, since }, i) => status === history[i]?.status && since === history[i]?.since)
}

/**
 * Skips the entries, from `start` on, of statuses that are already recorded. Returns the index of the next entry, and
 * the statuses without an entry.
 */
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

/** Checks that a history lacks the newest entries of the known one: then it is of an outdated copy. */
export function isShorter(history: readonly HistoryEntry[], known: readonly HistoryEntry[]): boolean {
  return history.length > 0 && history.length < known.length && isBeginning(history, known)
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

/** Instants sort as texts. */
function byDate({ since: a }: HistoryEntry, { since: b }: HistoryEntry): number {
  return (a ?? '').localeCompare(b ?? '')
}

function isEnd({ status }: Pick<HistoryEntry, 'status'>): boolean {
  return status === null || !isOpen(status)
}
