import { type HandlerState, type HandlingState, overallState } from '../../machines/notification.ts'
import type { Instant, Json, PartAddress, RecordedEvent } from '../../vocabulary/message.ts'
import { idOfStream } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import { openAs, readBody, type SealedBody, unlessDamaged } from '../events.ts'

/**
 * A notification in the inbox (document 3, section 6). A recovered one comes from a failure record of the portal, which
 * does not name the recipient; it may be a copy of a stored one.
 */
export type Notification<B = Json> = StoredNotification<B> & (DeliveredOrigin | RecoveredOrigin)

interface DeliveredOrigin {
  readonly origin: 'delivered'
  /** The recipient that the portal named; absent once it was destroyed. */
  readonly recipient?: { readonly tipo: string | null; readonly id: string }
}

interface RecoveredOrigin {
  readonly origin: 'recovered'
  /** When the portal failed to deliver it, perhaps weeks before `at`. Null when the record's time cannot be read. */
  readonly failedAt: Instant | null
  readonly recipient?: never
}

interface StoredNotification<B> {
  readonly id: string
  readonly evento: string
  /** The body as JSON, or as text when that is none or over 100 deep; null when destroyed or damaged. */
  readonly body: B
  /** The body exists but cannot be opened: it or its key has changed. */
  readonly isDamaged?: true
  /** The bytes of the body as received. */
  readonly raw: Uint8Array
  /** `parked` or `failing` when a handler is, `handled` when all handlers are done, `received` until then. */
  readonly state: HandlingState
  /** How often the same content arrived for the same recipient, the first time included. */
  readonly copies: number
  readonly at: Instant
  /** The state of each handler that was called or is known to be waiting. */
  readonly handlers: readonly HandlerState[]
}

export interface ClearNotification extends Pick<Notification, 'evento' | 'copies' | 'at' | 'handlers'> {
  readonly stream: string
  readonly body: PartAddress
  readonly origin: Notification['origin']
  readonly failedAt: Instant | null
}

/** The same content for the same recipient within this time is a copy. */
export const copyWindowMs = 10 * 60_000

/** Builds the part to seal; only a delivered notification has a recipient. */
export function toSealedBody(body: Uint8Array, recipient?: SealedBody['recipient']): SealedBody {
  return { bytes: Buffer.from(body).toString('base64'), ...(recipient && { recipient }) }
}

export async function openNotification(
  { store }: Pick<ApiContext, 'store'>,
  clear: ClearNotification,
): Promise<Notification> {
  return toNotification(clear, await openAs(store, 'body', clear.body))
}

/** Opens a notification for a list; a damaged one does not throw. */
export async function openListedNotification(
  context: Pick<ApiContext, 'store'>,
  clear: ClearNotification,
): Promise<Notification> {
  return unlessDamaged(openNotification(context, clear), { ...toNotification(clear, undefined), isDamaged: true })
}

function toNotification(
  { stream, body: _, origin, failedAt, ...clear }: ClearNotification,
  sealed: SealedBody | undefined,
): Notification {
  const raw = Buffer.from(sealed?.bytes ?? '', 'base64')
  const named = sealed?.recipient
  const stored = {
    id: idOfStream(stream),
    ...clear,
    body: sealed === undefined ? null : readBody(sealed),
    raw,
    state: overallState(clear.handlers),
  }
  if (origin === 'recovered') return { ...stored, origin, failedAt }
  return { ...stored, origin, ...(named && { recipient: { tipo: named.tipo, id: named.id } }) }
}

/** The address of a notification's body, by the first event of its stream. */
export function bodyAddress({ id }: Pick<RecordedEvent, 'id'>): PartAddress {
  return `${id}/body`
}

/** Whether a body was destroyed. A damaged one was not: it may be put back. */
export async function isBodyDestroyed({ store }: Pick<ApiContext, 'store'>, body: PartAddress): Promise<boolean> {
  const isGone = store.open(body).then(opened => opened === undefined)
  return unlessDamaged(isGone, false)
}

/** Whether an opened notification has no body, since it was destroyed. */
export function isBodyMissing({ body, raw }: Notification): boolean {
  return body === null && raw.length === 0
}
