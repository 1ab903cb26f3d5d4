import type { HandlerState, Views } from '../index.ts'
import { showInstant } from '../pages/document.ts'
import { type Html, html } from '../pages/html.ts'
import type { Instant } from '../vocabulary/message.ts'
import { streamOf } from '../vocabulary/names.ts'
import { linkToStream, type Page } from './page.ts'

const flags: ReadonlySet<string> = new Set(['charged', 'is_authenticated', 'is_lost', 'secrets_are_ours'])

/** Shows a cell in words. What is sealed is named, and not opened. */
export function showCell(page: Page, view: keyof Views, column: string, value: unknown): Html | string {
  const { texts, names, labels } = page
  if (value === null || value === undefined || value === '[]' || value === '{}') return ''
  if (isSealed(value)) return html`<em>${texts.sealed}</em>`
  if (isInstant(value)) return showInstant(value, labels)
  const text = String(value)
  if (column === 'subject') return linkToStream(streamOf('subject', text))
  if (column === 'handlers') return showHandlers(page, text)
  if (column === 'consent_lists' || column === 'awareness_lists') return showTimes(page, text)
  if (flags.has(column)) return value === 1 ? labels.yes : labels.no
  return statesOf(page, view, column)[text] ?? names.value(text)
}

/** The words for the values of a column. */
function statesOf({ labels, words }: Page, view: keyof Views, column: string): Readonly<Record<string, string>> {
  if (column === 'knowledge') return labels.knowledge
  if (column === 'status' || column === 'asked' || column === 'doubt') return labels.consentStatuses
  if (column === 'health') return words.subscriptionStates
  if (column === 'origin' && view === 'subjects') return words.origins
  if (column !== 'state' && column !== 'trouble') return {}
  if (view === 'validations') return words.validationStates
  return view === 'notifications' ? words.notificationStates : words.subscriptionStates
}

/** Shows when lists were requested, by their controller, from the JSON of a row. */
function showTimes({ texts, labels }: Page, json: string): Html {
  const times: Readonly<Record<string, Instant>> = JSON.parse(json) // As the view wrote it.
  const name = (controller: string) => (controller === '*' ? texts.any : controller)
  return html`${Object.entries(times).map(([controller, at]) => html`<div>${name(controller)}: ${showInstant(at, labels)}</div>`)}`
}

/** Shows the handlers of a notification, from the JSON of its row. */
export function showHandlers({ words }: Page, json: string): Html {
  const all: HandlerState[] = JSON.parse(json) // As the view wrote it.
  return html`${all.map(each => html`<div>${each.handler}: ${words.handlerStates[each.state]}${each.reason !== '' && html` <span class="soft">${each.reason}</span>`}</div>`)}`
}

function isInstant(value: unknown): value is Instant {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)
}

export function isSealed(value: unknown): boolean {
  return typeof value === 'string' && /^[a-z]+-[^/]+\/\d+\/[^/]+$/.test(value)
}
