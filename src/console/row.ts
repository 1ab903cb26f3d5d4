import type { HandlerState, Views } from '../index.ts'
import { showInstant } from '../pages/document.ts'
import { type Html, html } from '../pages/html.ts'
import type { Instant } from '../vocabulary/message.ts'
import { streamOf } from '../vocabulary/names.ts'
import { linkToStream, type Page } from './page.ts'

const flags: ReadonlySet<string> = new Set(['charged', 'is_authenticated', 'is_lost', 'secrets_are_ours'])
/** Columns with the addresses of sealed parts. */
const sealed: ReadonlySet<string> = new Set([
  ...['body', 'claims', 'content', 'cpf', 'detail', 'note', 'reason', 'record', 'result', 'unreadable'],
])

/** Shows a cell in words. What is sealed is named, and not opened. */
export function showCell(page: Page, view: keyof Views, column: string, value: unknown): Html | string {
  const { texts, labels } = page
  if (value === null || value === undefined) return ''
  if (sealed.has(column)) return html`<em>${texts.sealed}</em>`
  if (isInstant(value)) return showInstant(value, labels)
  const text = String(value)
  if (column === 'subject') return linkToStream(page, streamOf('subject', text))
  if (column === 'handlers') return showHandlers(page, text)
  if (column === 'consent_lists' || column === 'awareness_lists') return showTimes(page, text)
  if (flags.has(column)) return value === 1 ? labels.yes : labels.no
  return wordsFor(page, view, column)[text] ?? text
}

/** The words for the values of a column, which one view alone may have; none for what others have named. */
function wordsFor({ names, labels, words }: Page, view: keyof Views, column: string): Readonly<Record<string, string>> {
  const { values } = names
  const ofColumns: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    knowledge: { ...values, ...labels.knowledge },
    doubt: { ...values, ...labels.consentStatuses },
    status: labels.consentStatuses,
    asked: labels.consentStatuses,
    health: words.subscriptionStates,
    recovery: values,
    deleted_by: values,
    'subjects.origin': words.origins,
    'notifications.origin': values,
    'notifications.state': words.notificationStates,
    'notifications.trouble': words.notificationStates,
    'validations.state': words.validationStates,
    'subscriptions.state': words.subscriptionStates,
    'tokens.state': values,
  }
  return ofColumns[column] ?? ofColumns[`${view}.${column}`] ?? noWords
}

const noWords: Readonly<Record<string, string>> = Object.create(null)

/** Shows when lists were requested, by their controller, from the JSON of a row. */
function showTimes({ texts, labels }: Page, json: string): Html | string {
  const times: Readonly<Record<string, Instant>> = JSON.parse(json) // As the view wrote it.
  if (Object.keys(times).length === 0) return ''
  const name = (controller: string) => (controller === '*' ? texts.any : controller)
  return html`${Object.entries(times).map(([controller, at]) => html`<div>${name(controller)}: ${showInstant(at, labels)}</div>`)}`
}

/** Shows the handlers of a notification, from the JSON of its row. */
function showHandlers({ words, labels }: Page, json: string): Html | string {
  const all: HandlerState[] = JSON.parse(json) // As the view wrote it.
  if (all.length === 0) return ''
  const show = ({ handler, state, retryAt, reason }: HandlerState) => {
    const until = retryAt !== null && html`, ${words.waitings.time} ${showInstant(retryAt, labels)}`
    return html`<div>${handler}: ${words.handlerStates[state]}${until}${reason !== '' && html` <span class="soft">${reason}</span>`}</div>`
  }
  return html`${all.map(show)}`
}

function isInstant(value: unknown): value is Instant {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)
}

export function hasSealed(row: object): boolean {
  return Object.entries(row).some(([column, value]) => sealed.has(column) && value !== null)
}

/** The text of the sealed body of a notification; empty for anything else. */
export function textOfBytes(sealed: unknown): string {
  const { bytes }: { bytes?: unknown } = Object(sealed)
  return typeof bytes === 'string' ? Buffer.from(bytes, 'base64').toString() : ''
}
