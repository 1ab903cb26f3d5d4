import type { Instant } from '../message.ts'
import { type Html, html } from './html.ts'
import type { Labels } from './labels.ts'

/** By name, since the offset changed with daylight saving time until 2019. */
const format = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'America/Sao_Paulo',
  ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
})

/**
 * Writes an instant as people in Brasilia do, `20/11/2026 09:00:00`. Put together by hand, to be the same on every
 * runtime.
 */
export function inBrasilia(at: Instant): string {
  const ms = Date.parse(at)
  if (Number.isNaN(ms)) return at
  const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]))
  const { day, month, year, hour, minute, second } = parts
  return `${day}/${month}/${year} ${hour}:${minute}:${second}`
}

/** Shows an instant in Brasilia, with UTC beside it. */
export function showInstant(at: Instant | null, labels: Labels): Html {
  if (at === null || at === '') return html`<span class="none">${labels.none}</span>`
  return html`<time datetime="${at}"><span class="local">${inBrasilia(at)}</span> <span class="utc">${at.slice(0, 19).replace('T', ' ')} UTC</span></time>`
}
