import { hourMs, toInstant } from './instant.ts'
import type { Instant } from './message.ts'

/** The zone of the portal's dates. It had daylight saving time until 2019, so an offset would not do. */
const zone = 'America/Sao_Paulo'

const yearZeroMs = Date.parse('0000-01-01T00:00:00Z')
/** All times before this one are read by its offset: what is formatted shows no sign of years before the common era. */
const constantOffsetUntilMs = Date.parse('1900-01-01T00:00:00Z')

let zoneFormat: Intl.DateTimeFormat | undefined
/** Made when it is first asked for: it takes some 25 ms, which most commands can do without. */
function loadZoneFormat(): Intl.DateTimeFormat {
  zoneFormat ??= new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
  })
  return zoneFormat
}

/** Since then all changes of the zone came at full hours. */
const hourlyOffsetsSinceMs = Date.parse('1915-01-01T00:00:00Z')
/** Offsets by hour, counted in UTC: asking the runtime takes hundreds of times as long. */
const offsets = new Map<number, number>()
const offsetsMax = 10_000

/** The date and time in Brasilia, in the form of an instant. */
function toLocalIso(ms: number): string {
  return new Date(Math.max(ms + offsetMs(ms), yearZeroMs)).toISOString()
}

/** Writes an instant as `dd-MM-yyyy HH:mm:ss` in Brasilia, the form of the portal (document 3, section 2). */
export function formatBrasilia(ms: number): string {
  const [, year, month, day, time] = /^(\d{4})-(\d\d)-(\d\d)T(.{8})/.exec(toLocalIso(ms)) ?? []
  return `${day}-${month}-${year} ${time}`
}

/** Writes the day in Brasilia as `yyyy-MM-dd`. */
export function brasiliaDay(ms: number): string {
  return toLocalIso(ms).slice(0, 'yyyy-MM-dd'.length)
}

/** When a day in Brasilia, `yyyy-MM-dd`, begins; null for a text that is not a day. */
export function startOfDay(day: string): Instant | null {
  return parseIso(`${day}T00:00:00`)
}

/** Reads `dd-MM-yyyy HH:mm:ss` as a time in Brasilia; null when the text is something else. */
export function parseBrasilia(text: unknown): Instant | null {
  const match = typeof text === 'string' && /^(\d{2})-(\d{2})-(\d{4}) (\d{2}):(\d{2}):(\d{2})$/.exec(text)
  if (!match) return null
  const [, day, month, year, hour, minute, second] = match
  return parseLocal(`${year}-${month}-${day}T${hour}:${minute}:${second}`)
}

/**
 * Reads ISO 8601 text; null when it is something else, or its day is none. Text without a zone is read as a time in
 * Brasilia: our policy, since the contracts do not say.
 */
export function parseIso(given: unknown): Instant | null {
  // RFC 3339 has them in either case.
  const text = typeof given === 'string' ? given.toUpperCase() : ''
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(text)) return null
  if (!/(Z|[+-]\d{2}(:?\d{2})?)$/.test(text)) return parseLocal(text)
  if (!beginsWithRealDay(text)) return null
  // The minutes of a zone may be left out, and so may their colon.
  const full = text.replace(/([+-]\d{2}):?(\d{2})?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`)
  return toInstantSinceYearZero(Date.parse(full))
}

/** Reports whether the day that a text begins with is in the calendar: 30 February would be read as 2 March. */
function beginsWithRealDay(text: string): boolean {
  const day = text.slice(0, 'yyyy-MM-dd'.length)
  const ms = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day)
}

function parseLocal(text: string): Instant | null {
  const asUtc = beginsWithRealDay(text) ? Date.parse(`${text}Z`) : Number.NaN
  return Number.isNaN(asUtc) ? null : toInstantSinceYearZero(asUtc - offsetMs(asUtc - offsetMs(asUtc)))
}

/**
 * A time after the year 9999 is that year's last instant, since services write "never" so. Before the year 0000 there
 * is no date.
 */
function toInstantSinceYearZero(ms: number): Instant | null {
  return ms >= yearZeroMs ? toInstant(ms) : null
}

/** How far Brasilia is ahead of UTC at an instant, in milliseconds: negative. It was constant before 1914. */
function offsetMs(at: number): number {
  const ms = Math.max(at, constantOffsetUntilMs)
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

function computeOffset(ms: number): number {
  const found = Object.fromEntries(
    loadZoneFormat()
      .formatToParts(ms)
      .map(part => [part.type, part.value]),
  )
  const { year, month, day, hour, minute, second } = found
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) - Math.floor(ms / 1_000) * 1_000
}
