import type { Area } from './area.ts'
import { type Handling, type HandlingState, stateOf } from './machines/notification.ts'
import type { Instant, Json, PartAddress } from './message.ts'

/** A notification in the inbox (document 3, section 6). */
export interface Notification<B = Json> {
  readonly id: string
  readonly evento: string
  /** The body as JSON, of any shape, or as text when it is not JSON; null when it is no longer there. */
  readonly body: B
  /** The body's bytes as they came. */
  readonly raw: Uint8Array
  /** `parked` or `failing` when a handler is, `handled` when all handlers are done, `received` until then. */
  readonly state: HandlingState
  readonly origin: 'delivered'
  /** How often the same content came for the same recipient, the first time included. */
  readonly copies: number
  readonly at: Instant
  /** Whom the portal named; absent when it is no longer there. */
  readonly recipient?: { readonly tipo: string | null; readonly id: string }
  /** Where each handler stands that was called, or is known to wait for it. */
  readonly handlers: readonly Handling[]
}

/** What is known of a notification in clear, with the addresses of what is sealed. */
export interface ClearNotification {
  readonly stream: string
  readonly evento: string
  readonly copies: number
  readonly at: Instant
  readonly handlers: readonly Handling[]
  readonly body: PartAddress
  readonly recipient: PartAddress
}

/** Opens what is sealed of a notification. */
export async function openNotification(
  { store }: Pick<Area, 'store'>,
  { stream, body, recipient, ...clear }: ClearNotification,
): Promise<Notification> {
  const sealed = await store.open(body)
  const raw = Buffer.from(String(sealed ?? ''), 'base64')
  const named = (await store.open(recipient)) as Notification['recipient'] // Sealed by `routeNotification`.
  return {
    id: stream.slice('notification-'.length),
    ...clear,
    body: sealed === undefined ? null : parseBody(raw),
    raw,
    state: stateOf(clear.handlers),
    origin: 'delivered',
    ...(named && { recipient: { tipo: named.tipo, id: named.id } }),
  }
}

/** Reports whether the body of a notification was destroyed. */
export function isGone({ body, raw }: Notification): boolean {
  return body === null && raw.length === 0
}

function parseBody(raw: Buffer): Json {
  const text = raw.toString()
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
