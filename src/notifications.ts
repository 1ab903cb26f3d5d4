import { hash } from 'node:crypto'
import type { Incoming } from './adapters/receiver.ts'
import type { Area } from './area.ts'
import { fromInstant } from './clock.ts'
import { isCnpj } from './cnpj.ts'
import { holdsCpf, isCpf } from './cpf.ts'
import type { Delivery } from './decisions.ts'
import type { Instant, Json } from './message.ts'
import type { NotificationRow } from './views/notifications.ts'

/** A notification in the inbox (document 3, section 6). */
export interface Notification {
  readonly id: string
  readonly evento: string
  /** The body as JSON, or as text when it is not JSON. */
  readonly body: Json
  /** The body's bytes as they came. */
  readonly raw: Uint8Array
  readonly state: NotificationRow['state']
  readonly origin: 'delivered'
  /** How often the same content came for the same recipient, the first time included. */
  readonly copies: number
  readonly at: Instant
  readonly recipient: { readonly tipo: string | null; readonly id: string }
}

/** The inbox: what the portal notified us of, stored before it was acknowledged. */
export interface Notifications {
  /** Notifications, the oldest first. */
  list(filter?: { evento?: string }): AsyncIterable<Notification>
}

const pageRows = 100

/** Makes the area `notifications`. */
export function createNotifications(area: Area): Notifications {
  async function toNotification(row: NotificationRow): Promise<Notification> {
    const raw = Buffer.from(String(await area.store.open(row.body)), 'base64')
    const { tipo, id: recipientId } = (await area.store.open(row.recipient)) as Notification['recipient'] // Sealed below.
    const { evento, state, copies } = row
    const id = row.notification.slice('notification-'.length)
    return {
      id,
      evento,
      body: parseBody(raw),
      raw,
      state,
      origin: 'delivered',
      copies,
      at: row.received_at,
      recipient: { tipo, id: recipientId },
    }
  }

  return {
    async *list({ evento } = {}) {
      let last = ''
      for (;;) {
        let query = area.views.selectFrom('notifications').selectAll().where('notification', '>', last)
        if (evento !== undefined) query = query.where('evento', '=', evento)
        const rows = await query.orderBy('notification').limit(pageRows).execute()
        if (rows.length === 0) return
        for (const row of rows) yield toNotification(row)
        last = rows.at(-1)?.notification ?? ''
      }
    },
  }
}

function parseBody(raw: Buffer): Json {
  const text = raw.toString()
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const copyWindowMs = 10 * 60_000
const unnamed = 'sem-nome'

function withoutPunctuation({ kind, id }: Incoming['recipient']): string {
  return kind === 'CPF' || kind === 'CNPJ' ? id.replace(/[.\-/]/g, '') : id
}

/**
 * What has to be recorded for a notification: the same content for the same recipient within the window is
 * a copy, which the portal sends once per subscription. Most are none, and the append finds that out by itself: an
 * earlier one is only looked for when it was in the way.
 */
export function routeNotification(area: Area, incoming: Incoming): () => Promise<Delivery> {
  let isFirst = true
  return () => {
    const delivery = deliverNotification(area, incoming, isFirst)
    isFirst = false
    return delivery
  }
}

async function deliverNotification(area: Area, incoming: Incoming, isFirst: boolean): Promise<Delivery> {
  const { store } = area
  const { body } = incoming
  // An event is named in clear: one that names a person is not an event that anyone subscribed to.
  const evento = holdsCpf(incoming.evento) ? unnamed : incoming.evento
  const recipient = { ...incoming.recipient, id: withoutPunctuation(incoming.recipient) }
  const content = [evento, recipient.kind ?? '', recipient.id, hash('sha256', body, 'hex')].join('\0')
  const digest = store.digest('notification', content)
  const earlier = isFirst ? undefined : await store.lookUp('notification', content)
  const message = { type: 'portal.notified', data: {} }
  if (earlier !== undefined && (await isRecent(area, earlier))) {
    return { targets: [{ stream: `notification-${earlier}`, message }] }
  }
  const notification = area.createId()
  const stream = `notification-${notification}`
  const { owner, targets, claims = [] } = await ownerOf(area, evento, recipient, stream)
  const value = Buffer.from(body).toString('base64')
  const parts = {
    body: { owner, value },
    recipient: { owner, value: { tipo: recipient.kind, id: incoming.recipient.id, evento: incoming.evento } },
  }
  const data = { notification, evento, recipientKind: recipient.kind, bodyBytes: body.length }
  const claim = { kind: 'notification', digest, value: notification }
  return {
    targets: [...targets, { stream, message: { ...message, data, parts }, isNew: true }],
    claims: [...claims, { ...claim, ...(earlier !== undefined && { replaces: earlier }) }],
  }
}

async function isRecent(area: Area, notification: string): Promise<boolean> {
  const [received] = await area.store.read({ stream: `notification-${notification}`, limit: 1 })
  return received !== undefined && area.clock.now() - fromInstant(received.at) <= copyWindowMs
}

/** Under whose key it is sealed: the person addressed, else the organisation, else the subscription. */
async function ownerOf(
  area: Area,
  evento: string,
  { kind, id }: Incoming['recipient'],
  stream: string,
): Promise<Delivery & { owner: string }> {
  if (kind === 'CPF' && isCpf(id)) {
    const { subject, targets, claims = [] } = await area.subjects.meet(id, 'notification')
    return { owner: `subject-${subject}`, targets, claims }
  }
  if (kind === 'CNPJ' && isCnpj(id)) return { owner: `organisation-${id}`, targets: [] }
  if (kind === 'ORGAO' && id !== '') {
    const digest = Buffer.from(area.store.digest('orgao', id)).toString('hex', 0, 10)
    return { owner: `organisation-${digest}`, targets: [] }
  }
  const subscription = await area.store.lookUp('subscription', evento)
  return { owner: subscription === undefined ? stream : `subscription-${subscription}`, targets: [] }
}
