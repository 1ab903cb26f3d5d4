import type { Instant } from '../../vocabulary/message.ts'
import { type ConsentStatus, isOpen } from './status.ts'

/** One entry of `historico`. `status` is null where the contract does not have it, `since` where it is not a date. */
export interface HistoryEntry {
  readonly status: ConsentStatus | null
  readonly since: Instant | null
}

/** A history, the oldest entry first, and the status that it came with: null where that was not kept. */
export interface History {
  readonly history: readonly HistoryEntry[]
  readonly historyStatus: ConsentStatus | null
}

/**
 * Reports whether the history that was read last says otherwise of a consent whose status says that it stands: what it
 * tells last is an end or, where it came with that very status, a status that nobody knows.
 */
export function isContradicted({
  reading,
  history,
  historyStatus,
}: History & { readonly reading: { readonly status: ConsentStatus } }): boolean {
  if (reading.status !== 'ATIVO') return false
  // A history from before the status says nothing of it, unless it ends it.
  return lastOf(history).some(({ status }) =>
    status === null ? historyStatus === 'ATIVO' : isEnd({ status }),
  )
}

/**
 * Says what a history tells of an instant before it was read, by the same rules: a status, or `unknown`; null of the
 * time before its first entry; `undefined` where it tells nothing, as one of the former statuses alone does after its
 * last.
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

/** Reports whether a history begins with the entries of another. */
export function isBeginning(known: readonly HistoryEntry[], history: readonly HistoryEntry[]): boolean {
  return known.every(({ status, since }, i) => status === history[i]?.status && since === history[i]?.since)
}

/**
 * Goes past the entries, from one on, of statuses that were recorded before their entries were read: gives where the
 * others begin, and the statuses that have no entry yet.
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

/** Reports whether a history lacks the newest entries of one that is known: then it is that of an older copy. */
export function isShorter(history: readonly HistoryEntry[], known: readonly HistoryEntry[]): boolean {
  return history.length > 0 && history.length < known.length && isBeginning(history, known)
}

/** What a history may tell last: an entry without a date is as good as the newest, and so are those of one instant. */
function lastOf(history: readonly HistoryEntry[]): readonly HistoryEntry[] {
  const undated = history.filter(({ since }) => since === null)
  const newest = history.reduce((last, { since }) => (since !== null && since > last ? since : last), '')
  const last = history.filter(({ since }) => since === newest)
  // Where an order was found that leads to the status, it counts.
  const isLed = undated.length === 0 && last.at(-1)?.status === 'ATIVO'
  return [...undated, ...(isLed ? last.slice(-1) : last)]
}

/** Instants all have one form, so that as texts they are in order. */
function byDate({ since: a }: HistoryEntry, { since: b }: HistoryEntry): number {
  return (a ?? '').localeCompare(b ?? '')
}

function isEnd({ status }: Pick<HistoryEntry, 'status'>): boolean {
  return status === null || !isOpen(status)
}
