import type { Instant } from './message.ts'

export const minuteMs = 60_000
export const hourMs = 3_600_000
export const dayMs = 86_400_000

/** Checks that two instants are less than `ms` apart, in either order: a clock may have run ahead. */
export function isWithin(ms: number, at: number, now: number): boolean {
  return Math.abs(now - at) < ms
}

/** Returns a delay that doubles with each earlier failure, up to a maximum. */
export function backoffMs(failures: number, baseMs: number, maxMs: number): number {
  return Math.min(baseMs * 2 ** failures, maxMs)
}

/** How far the clocks of processes that share a store may differ. */
export const clocksDifferMaxMs = 10 * 60_000

/** From so much difference to the server of its log on, a process takes no new work: its times would be wrong. */
export const wrongClockMs = 30_000

/** Whether a wait of at most `waitMaxMs` is over. An end too far ahead counts as over: a wrong clock computed it. */
export function isWaitOver(until: number, now: number, waitMaxMs: number): boolean {
  return until <= now || until > now + waitMaxMs + clocksDifferMaxMs
}

let lastMs = Number.NaN
let lastInstant = ''
/** The first and the last instant with a four-digit year: only those sort as texts. */
const firstMs = Date.parse('0000-01-01T00:00:00.000Z')
const endMs = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Formats milliseconds since 1970 as ISO 8601 text in UTC, limited to the years 0000 to 9999 so that instants sort as
 * texts. Remembers the last result, since many calls come within one millisecond.
 */
export function toInstant(ms: number): Instant {
  if (ms !== lastMs) {
    lastInstant = new Date(Math.min(Math.max(ms, firstMs), endMs)).toISOString()
    lastMs = ms
  }
  return lastInstant
}

/** Converts ISO 8601 text to milliseconds since 1970. */
export function fromInstant(at: Instant): number {
  return Date.parse(at)
}

/** Our policy `near-now-1`: a host's instant this near counts as now. Clocks differ, and a call takes time. */
export const nearNowMs = 60_000

/** A larger difference to another clock cannot come from a slow answer or the whole seconds of the `Date` header. */
export const clockSkewMaxMs = 60_000
