import { toInstant } from '../clock.ts'
import type { Instant } from '../message.ts'

/** The zone of the portal's dates. It had daylight saving time until 2019, so an offset would not do. */
const zone = 'America/Sao_Paulo'

const yearZeroMs = Date.parse('0000-01-01T00:00:00Z')
/** All times before this one are read by its offset: what is formatted shows no sign of years before the common era. */
const oldestOffsetMs = Date.parse('1900-01-01T00:00:00Z')

const parts = new Intl.DateTimeFormat('en-GB', {
  timeZone: zone,
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})

interface Fields {
  readonly year: string
  readonly month: string
  readonly day: string
  readonly hour: string
  readonly minute: string
  readonly second: string
}

function fieldsOf(ms: number): Fields {
  const found = Object.fromEntries(parts.formatToParts(ms).map(part => [part.type, part.value]))
  const field = (name: keyof Fields) => found[name] ?? ''
  return {
    year: field('year'),
    month: field('month'),
    day: field('day'),
    hour: field('hour'),
    minute: field('minute'),
    second: field('second'),
  }
}

/** Writes an instant as `dd-MM-yyyy HH:mm:ss` in Brasilia, the form of the portal (document 3, section 2). */
export function writeBrasilia(ms: number): string {
  const { year, month, day, hour, minute, second } = fieldsOf(ms)
  return `${day}-${month}-${year} ${hour}:${minute}:${second}`
}

/** Writes the day in Brasilia as `yyyy-MM-dd`. */
export function brasiliaDay(ms: number): string {
  const { year, month, day } = fieldsOf(ms)
  return `${year}-${month}-${day}`
}

/** When a day in Brasilia, `yyyy-MM-dd`, begins; null for a text that is not a day. */
export function startOfDay(day: string): Instant | null {
  return readIso(`${day}T00:00:00`)
}

/** Reads `dd-MM-yyyy HH:mm:ss` as a time in Brasilia; null when the text is something else. */
export function readBrasilia(text: unknown): Instant | null {
  const match = typeof text === 'string' && /^(\d{2})-(\d{2})-(\d{4}) (\d{2}):(\d{2}):(\d{2})$/.exec(text)
  if (!match) return null
  const [, day, month, year, hour, minute, second] = match
  return readLocal(`${year}-${month}-${day}T${hour}:${minute}:${second}`)
}

/**
 * Reads ISO 8601 text; null when it is something else, or its day is none. Text without a zone is read as a time in
 * Brasilia: our policy, since the contracts do not say.
 */
export function readIso(text: unknown): Instant | null {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(text)) return null
  if (!/(Z|[+-]\d{2}:?\d{2})$/.test(text)) return readLocal(text)
  if (!hasDay(text)) return null
  return instantOf(Date.parse(text.replace(/([+-]\d{2})(\d{2})$/, '$1:$2')))
}

/** Reports whether the day that a text begins with is in the calendar: 30 February would be read as 2 March. */
function hasDay(text: string): boolean {
  const day = text.slice(0, 'yyyy-MM-dd'.length)
  const ms = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day)
}

function readLocal(text: string): Instant | null {
  const asUtc = hasDay(text) ? Date.parse(`${text}Z`) : Number.NaN
  return Number.isNaN(asUtc) ? null : instantOf(asUtc - offsetMs(asUtc - offsetMs(asUtc)))
}

/**
 * A time after the year 9999 is that year's last instant, since services write "never" so. Before the year 0000 there
 * is no date.
 */
function instantOf(ms: number): Instant | null {
  return ms >= yearZeroMs ? toInstant(ms) : null
}

/** How far Brasilia is ahead of UTC at an instant, in milliseconds: negative. It was constant before 1914. */
function offsetMs(at: number): number {
  const ms = Math.max(at, oldestOffsetMs)
  const { year, month, day, hour, minute, second } = fieldsOf(ms)
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) - Math.floor(ms / 1_000) * 1_000
}
