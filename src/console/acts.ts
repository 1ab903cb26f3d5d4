import { type Actor, type Averba, AverbaError, type Outcome, OutcomeError } from '../index.ts'
import { type Html, html } from '../pages/html.ts'
import type { Page } from './page.ts'

/** What an operator sends with a form. */
type Form = Readonly<Record<string, string>>

type Act = (averba: Averba, form: Form, by: { readonly actor: Actor }) => Promise<Html | undefined>

const decide =
  (method: 'deny' | 'revoke' | 'withdrawEnd'): Act =>
  async ({ consents }, { stream = '', reason = '' }, by) => {
    const found = await consents.of({ stream })
    if (!found) throw new AverbaError('SUBJECT_ERASED', 'Cannot decide on the consent: its data subject was erased')
    return requireKnown(await consents[method]({ subject: found.subject, id: found.id }, { ...by, reason }))
  }

/** What the console does, by the path of the form. The log keeps each with its actor. */
const acts: Readonly<Record<string, Act>> = {
  'effects/retry': async ({ effects }, { id = '' }, by) => void (await effects.retry(id, by)),
  'effects/park': async ({ effects }, { id = '' }, by) => void (await effects.park(id, by)),
  'effects/withdraw': async ({ effects }, { id = '' }, by) => void (await effects.withdraw(id, by)),
  'followers/retry': async ({ log }, { name = '' }) => void (await log.retry(name)),
  'followers/skip': async ({ log }, { name = '' }, by) => void (await log.skip(name, by)),
  'notifications/replay': async ({ notifications }, { id = '' }, by) =>
    void (await notifications.replay({ id: id.replace(/^notification-/, ''), parked: true }, by)),
  'validations/charged': async ({ validations }, { id = '' }, by) =>
    void (await validations.resolve(id, { charged: true }, by)),
  'validations/not-charged': async ({ validations }, { id = '' }, by) =>
    void (await validations.resolve(id, { charged: false }, by)),
  'consents/deny': decide('deny'),
  'consents/revoke': decide('revoke'),
  'consents/withdraw-end': decide('withdrawEnd'),
  'subscriptions/rotate': async ({ subscriptions }, { evento = '' }, by) =>
    requireKnown(await subscriptions.rotate(evento, by)),
  reveal,
}

/** An outcome that is not known yet is no failure: a process that runs continues it. */
function requireKnown(outcome: Outcome<unknown>): undefined {
  if (outcome.status === 'declined') throw new OutcomeError(outcome)
}

const kinds = { consent: 'consents', validation: 'validations', notification: 'notifications' } as const

/** Opens the sealed columns of a row, after an event with who sees them and why. */
async function reveal(averba: Averba, { stream = '', purpose = '' }: Form, { actor }: { actor: Actor }): Promise<Html> {
  const kind = stream.split('-', 1)[0] ?? ''
  if (!Object.hasOwn(kinds, kind)) throw new AverbaError('NOT_FOUND', 'Cannot reveal: the stream has no row')
  const view = kinds[kind as keyof typeof kinds] // Checked before.
  // The key's name is that of the kind, which the types of a query cannot follow.
  const rows = averba.views
    .selectFrom(view as 'consents')
    .selectAll()
    .where(kind as 'consent', '=', stream)
  const [row] = await rows.execute()
  if (!row) throw new AverbaError('NOT_FOUND', 'Cannot reveal: the stream has no row')
  const opened = await averba.subjects.reveal(row, { actor, purpose })
  const shown = Object.entries(opened).filter(([name, value]) => value !== row[name as keyof typeof row])
  return html`<dl class="data">${shown.map(([name, value]) => html`<dt>${name}</dt><dd><pre>${readable(value)}</pre></dd>`)}</dl>`
}

/** A body is kept as its bytes. */
function readable(value: unknown): string {
  const { bytes }: { bytes?: unknown } = Object(value)
  return typeof bytes === 'string' ? Buffer.from(bytes, 'base64').toString() : JSON.stringify(value, null, 2)
}

/** Whether the console has such an act. */
export function isAct(name: string): boolean {
  return Object.hasOwn(acts, name)
}

/** Does what a form asks for, and shows the result. */
export async function act({ averba, texts }: Page, name: string, form: Form, ref: string): Promise<Html> {
  try {
    const shown = await acts[name]?.(averba, form, { actor: { kind: 'person', ref } })
    return html`<div class="card yes"><strong>${texts.done}</strong></div>${shown}`
  } catch (error) {
    if (!(error instanceof AverbaError)) throw error
    return html`<div class="card no"><strong>${texts.failed}</strong> ${error.code}: ${error.message}${error.hint !== undefined && html`<p class="soft">${error.hint}</p>`}</div>`
  }
}
