import { AverbaError } from './errors.ts'
import type { Instant } from './message.ts'

/** A minute in milliseconds. */
export const minuteMs = 60_000
/** An hour in milliseconds. */
export const hourMs = 3_600_000
/** A day in milliseconds. */
export const dayMs = 86_400_000

/**
 * Whether less than `ms` lies between two instants, in either order: one from a clock that ran ahead must not stay
 * fresh.
 */
export function isWithin(ms: number, at: number, now: number): boolean {
  return Math.abs(now - at) < ms
}

/** A wait that doubles with each failure before it, up to a bound. */
export function backoffMs(failures: number, baseMs: number, maxMs: number): number {
  return Math.min(baseMs * 2 ** failures, maxMs)
}

/** How far the clock of a process may be behind those of others that share its store. */
export const clocksDifferMaxMs = 10 * 60_000

/**
 * Whether a wait of at most `waitMaxMs` is over: its end has come, or lies so far ahead that it came from a clock that
 * was ahead and has been put right since. Otherwise it would last for as long as that clock was ahead.
 */
export function isWaitOver(until: number, now: number, waitMaxMs: number): boolean {
  return until <= now || until > now + waitMaxMs + clocksDifferMaxMs
}
let lastMs = Number.NaN
let lastInstant = ''
/** The first and the last instant with a year of four digits: only those are in order as texts. */
const firstMs = Date.parse('0000-01-01T00:00:00.000Z')
const endMs = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Writes milliseconds since 1970 as ISO 8601 text in UTC: what lies outside the years 0000 to 9999 as their first or
 * last instant, since instants are compared as texts. Many ask within the same millisecond.
 */
export function toInstant(ms: number): Instant {
  if (ms !== lastMs) {
    lastInstant = new Date(Math.min(Math.max(ms, firstMs), endMs)).toISOString()
    lastMs = ms
  }
  return lastInstant
}

/** Reads ISO 8601 text as milliseconds since 1970. */
export function fromInstant(at: Instant): number {
  return Date.parse(at)
}

/**
 * Our policy `near-now-1`: an instant from a host counts as about now when it is no further than this from our clock.
 * The clocks of two machines differ, and asking takes a while.
 */
export const nearNowMs = 60_000

/** How far our clock may be from another: more than a slow answer and the whole seconds of `Date` explain. */
export const clockSkewMaxMs = 60_000

/**
 * Reads a day or an instant in UTC that a person gave.
 *
 * @throws {AverbaError} `INVALID_INPUT`
 */
export function parseInstant(text: string): Instant {
  const ms = /^\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?$/.test(text) ? fromInstant(text) : Number.NaN
  if (!Number.isNaN(ms)) return toInstant(ms)
  throw new AverbaError('INVALID_INPUT', 'Cannot read the instant: it is not a day or an instant in UTC', {
    hint: 'Give it as 2026-01-31 or 2026-01-31T00:00:00.000Z',
  })
}
