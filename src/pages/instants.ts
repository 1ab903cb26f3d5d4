import { formatBrasilia } from '../vocabulary/brasilia.ts'
import type { Instant } from '../vocabulary/message.ts'
import { type Html, html } from './html.ts'
import type { Labels } from './language.ts'

/** Formats an instant in Brasilia time, `20/11/2026 09:00:00`. */
export function formatInBrasilia(at: Instant): string {
  const ms = Date.parse(at)
  return Number.isNaN(ms) ? at : formatBrasilia(ms).replaceAll('-', '/')
}

/** Writes an instant in Brasilia time, with UTC beside it. */
export function showInstant(at: Instant | null, labels: Labels): Html {
  if (at === null || at === '') return html`<span class="none">${labels.none}</span>`
  return html`<time datetime="${at}"><span class="local">${formatInBrasilia(at)}</span> <span class="utc">${at.slice(0, 19).replace('T', ' ')} UTC</span></time>`
}
