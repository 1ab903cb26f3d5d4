import { type Actor, type Averba, AverbaError, type CommandOptions, type Outcome } from '../index.ts'
import { type Html, html } from '../pages/html.ts'
import { idOfStream } from '../vocabulary/names.ts'
import { describeProblem } from '../vocabulary/outcome.ts'
import type { Form, Page } from './page.ts'
import { textOfBytes } from './row.ts'
import { findStreamRow, requireConsent } from './stream-row.ts'
import type { TextName } from './texts.ts'

type By = CommandOptions & { readonly actor: Actor }

/** What was shown, or how the call ended; nothing when it is simply done. */
type Act = (averba: Averba, form: Form, by: By, page: Page) => Promise<Html | Outcome<unknown> | undefined>

const decide =
  (method: 'deny' | 'revoke' | 'withdrawEnd'): Act =>
  async (averba, { stream = '', reason = '' }, by) =>
    averba.consents[method](await requireConsent(averba, stream), { ...by, reason })

function resolve(charged: boolean): Act {
  return async ({ validations }, { id = '', note = '' }, by) =>
    void (await validations.resolve(id, { charged, ...(note !== '' && { note }) }, by))
}

/** Opens the sealed columns of a row, after an event with who sees them and why. */
const reveal: Act = async (averba, { stream = '', purpose = '' }, { actor }, { names }) => {
  const found = await findStreamRow(averba, stream)
  if (!found) throw new AverbaError('NOT_FOUND', 'Cannot reveal: the stream has no row')
  const { row } = found
  const opened = await averba.subjects.reveal(row, { actor, purpose })
  const sealed = new Map(Object.entries(row))
  const shown = Object.entries(opened).filter(([name, value]) => value !== sealed.get(name))
  return html`<dl class="data">${shown.map(([name, value]) => html`<dt>${names.column(name)}</dt><dd><pre>${textOfBytes(value) || JSON.stringify(value, null, 2)}</pre></dd>`)}</dl>`
}

/** What the console does, by the path of the form: what it is called, and how. The log keeps each with its actor. */
const acts: Readonly<Record<string, readonly [title: TextName, act: Act]>> = {
  'effects/retry': ['retry', async ({ effects }, { id = '' }, by) => void (await effects.retry(id, by))],
  'effects/park': ['park', async ({ effects }, { id = '' }, by) => void (await effects.park(id, by))],
  'effects/withdraw': ['withdraw', async ({ effects }, { id = '' }, by) => void (await effects.withdraw(id, by))],
  'followers/retry': ['retry', async ({ log }, { name = '' }, { actor }) => void (await log.retry(name, { actor }))],
  'followers/skip': ['skipEvent', async ({ log }, { name = '' }, { actor }) => void (await log.skip(name, { actor }))],
  'notifications/replay': [
    'replay',
    async ({ notifications }, { id = '' }, { actor }) =>
      void (await notifications.replay({ id: idOfStream(id), failed: true }, { actor })),
  ],
  'notifications/skip': [
    'skipNotification',
    async ({ notifications }, { id = '' }, { actor }) => void (await notifications.skip(idOfStream(id), { actor })),
  ],
  'validations/charged': ['isCharged', resolve(true)],
  'validations/not-charged': ['isNotCharged', resolve(false)],
  'consents/deny': ['deny', decide('deny')],
  'consents/revoke': ['revoke', decide('revoke')],
  'consents/withdraw-end': ['withdrawEnd', decide('withdrawEnd')],
  'subscriptions/rotate': ['rotate', ({ subscriptions }, { evento = '' }, by) => subscriptions.rotate(evento, by)],
  reveal: ['reveal', reveal],
}

/** What an act is called; `undefined` for none. */
export function titleOf(name: string, texts: Page['texts']): string | undefined {
  const [title] = (Object.hasOwn(acts, name) && acts[name]) || []
  return title && texts[title]
}

/** Does what a form asks for, and shows the result. */
export async function act(page: Page, name: string, form: Form, ref: string): Promise<Html> {
  const { averba, texts, message } = page
  const { command = '', ...fields } = form
  try {
    const by = { actor: { kind: 'person', ref }, ...(command !== '' && { commandId: `console-${command}` }) } as const
    const shown = await acts[name]?.[1](averba, fields, by, page)
    if (shown === undefined || 'html' in shown) return html`${showResult('yes', texts.done)}${shown}`
    const { status } = shown
    if (status === 'settled') return showResult('yes', texts.done)
    if (status === 'declined') return showResult('no', texts.failed, describeProblem(shown.problem))
    return showResult(
      'doubt',
      texts.notKnownYet,
      status === 'deferred' ? `${shown.retryAt}: ${message(shown.reason)}` : status,
    )
  } catch (error) {
    if (!(error instanceof AverbaError)) throw error
    return showResult('no', texts.failed, showError(page, error))
  }
}

function showResult(kind: 'yes' | 'no' | 'doubt', title: string, detail: Html | string = ''): Html {
  return html`<div class="card ${kind}"><strong>${title}</strong> ${detail}</div>`
}

export function showError({ message }: Page, { code, message: text, hint }: AverbaError): Html {
  return html`${code}: ${message(text)}${hint !== undefined && html`<p class="soft">${message(hint)}</p>`}`
}
