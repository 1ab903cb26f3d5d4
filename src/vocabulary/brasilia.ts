import { AverbaError } from './errors.ts'
import { dayMs, fromInstant, hourMs, toInstant } from './instant.ts'
import type { Instant } from './message.ts'

/** The time zone of the portal's dates. It had daylight saving time until 2019, so it is no fixed offset. */
const zone = 'America/Sao_Paulo'

const yearZeroMs = Date.parse('0000-01-01T00:00:00Z')

let zoneFormat: Intl.DateTimeFormat | undefined
/** Created on first use: it takes about 25 ms, and most commands do not need it. */
function loadZoneFormat(): Intl.DateTimeFormat {
  zoneFormat ??= new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
  return zoneFormat
}

/** Since this instant, the zone has changed its offset on full hours only. */
const hourlyOffsetsSinceMs = Date.parse('1915-01-01T00:00:00Z')
/** Cached offsets by UTC hour: computing one takes hundreds of times as long. */
const offsets = new Map<number, number>()
const offsetsMax = 10_000

function toLocalIso(ms: number): string {
  return new Date(Math.max(ms + offsetMs(ms), yearZeroMs)).toISOString()
}

/** Formats an instant as `dd-MM-yyyy HH:mm:ss` in Brasilia, as the portal does (document 3, section 2). */
export function formatBrasilia(ms: number): string {
  const [, year, month, day, time] = /^(\d{4})-(\d\d)-(\d\d)T(.{8})/.exec(toLocalIso(ms)) ?? []
  return `${day}-${month}-${year} ${time}`
}

/** Formats the day in Brasilia as `yyyy-MM-dd`. */
export function brasiliaDay(ms: number): string {
  return toLocalIso(ms).slice(0, 'yyyy-MM-dd'.length)
}

/** Returns the calendar day some days after another one, `yyyy-MM-dd`, or before it. */
export function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 'yyyy-MM-dd'.length)
}

/** Returns the instant at which a day in Brasilia, `yyyy-MM-dd`, begins; null when the text is not a day. */
export function startOfDay(day: string): Instant | null {
  return parseIso(`${day}T00:00:00`)
}

/** Parses `dd-MM-yyyy HH:mm:ss` as a time in Brasilia; null for any other text. */
export function parseBrasilia(text: unknown): Instant | null {
  const match = typeof text === 'string' && /^(\d{2})-(\d{2})-(\d{4}) (\d{2}):(\d{2}):(\d{2})$/.exec(text)
  if (!match) return null
  const [, day, month, year, hour, minute, second] = match
  return parseLocal(`${year}-${month}-${day}T${hour}:${minute}:${second}`)
}

/**
 * Parses ISO 8601 text; null for any other text, or when the day does not exist. Text without a zone counts as a time
 * in Brasilia: this is our policy, since the contracts do not say.
 */
export function parseIso(given: unknown): Instant | null {
  // RFC 3339 allows `t` and `z` in lower case.
  const text = typeof given === 'string' ? given.toUpperCase() : ''
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(text)) return null
  if (!/(Z|[+-]\d{2}(:?\d{2})?)$/.test(text)) return parseLocal(text)
  if (!beginsWithRealDay(text)) return null
  // A zone may leave out its minutes or its colon.
  const full = text.replace(/([+-]\d{2}):?(\d{2})?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`)
  return toInstantSinceYearZero(Date.parse(full))
}

/**
 * Parses what a person entered: a day, which is its beginning in Brasilia, or an instant. Without a zone it is a time
 * there. As pages show it, as 31/01/2026 09:00, it is read too.
 *
 * @throws {AverbaError} `INVALID_INPUT`
 */
export function readInstant(entered: string): Instant {
  const isoDay = entered.trim().replace(/^(\d{2})\/(\d{2})\/(\d{4})/, '$3-$2-$1')
  const text = isoDay.replace(/^(.{10}),? (?=\d{2}:)/, '$1T')
  const at = startOfDay(text) ?? parseIso(text)
  if (at !== null) return at
  throw new AverbaError('INVALID_INPUT', 'Cannot read the instant: it is neither a day nor an instant', {
    hint: 'Give it as 2026-01-31, 31/01/2026, 2026-01-31T09:00 (all in Brasilia) or 2026-01-31T12:00:00Z',
  })
}

/** Reads a day as `readInstant` does, and returns it as `yyyy-MM-dd`. */
export function readDay(entered: string): string {
  return brasiliaDay(fromInstant(readInstant(entered)))
}

/** Checks that the text begins with a day that exists: `Date.parse` would read 30 February as 2 March. */
function beginsWithRealDay(text: string): boolean {
  const day = text.slice(0, 'yyyy-MM-dd'.length)
  const ms = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day)
}

function parseLocal(text: string): Instant | null {
  const asUtc = beginsWithRealDay(text) ? Date.parse(`${text}Z`) : Number.NaN
  return Number.isNaN(asUtc) ? null : toInstantSinceYearZero(asUtc - offsetMs(asUtc - offsetMs(asUtc)))
}

/** Times after the year 9999 become its last instant, which services use for "never"; times before the year 0, null. */
function toInstantSinceYearZero(ms: number): Instant | null {
  return ms >= yearZeroMs ? toInstant(ms) : null
}

/** Returns the offset of Brasilia from UTC in milliseconds, which is negative. */
function offsetMs(ms: number): number {
  if (ms < hourlyOffsetsSinceMs) return computeOffset(ms)
  const hour = Math.floor(ms / hourMs)
  let offset = offsets.get(hour)
  if (offset === undefined) {
    offset = computeOffset(ms)
    if (offsets.size >= offsetsMax) offsets.clear()
    offsets.set(hour, offset)
  }
  return offset
}

/** Reads the name of the zone at a time: `GMT-03:00`, or `GMT-03:06:28` before 1914. */
function computeOffset(ms: number): number {
  const name =
    loadZoneFormat()
      .formatToParts(ms)
      .find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, hours, minutes, seconds = 0] = /^GMT-(\d\d):(\d\d)(?::(\d\d))?$/.exec(name) ?? []
  return -((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000
}

/** Reads a moment of the log: a position, or an instant as `readInstant` does. */
export function readMoment(entered: string): number | Instant {
  return /^\d+$/.test(entered) ? Number(entered) : readInstant(entered)
}
