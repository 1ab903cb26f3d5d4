import { type HandlerState, type HandlingState, overallState } from '../../machines/notification.ts'
import { isDamage } from '../../vocabulary/errors.ts'
import { parseJson } from '../../vocabulary/json.ts'
import type { Instant, Json, PartAddress, RecordedEvent } from '../../vocabulary/message.ts'
import { idOfStream } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'

/**
 * A notification in the inbox (document 3, section 6). A recovered one comes from a failure record of the portal, which
 * does not tell whom it was for, and may be a copy of one that is stored.
 */
export type Notification<B = Json> = StoredNotification<B> & (DeliveredOrigin | RecoveredOrigin)

interface DeliveredOrigin {
  readonly origin: 'delivered'
  /** Whom the portal named; absent once that was destroyed. */
  readonly recipient?: { readonly tipo: string | null; readonly id: string }
}

interface RecoveredOrigin {
  readonly origin: 'recovered'
  /**
   * When its delivery failed, by the portal: perhaps weeks before `at`. Null where the record's time cannot be read.
   */
  readonly failedAt: Instant | null
  readonly recipient?: never
}

interface StoredNotification<B> {
  readonly id: string
  readonly evento: string
  /**
   * The body as JSON, of any shape, or as text when it is not JSON or is nested over 100 deep; null when it is gone or
   * damaged.
   */
  readonly body: B
  /** The body is there, but cannot be opened: it or its key is not what was stored. */
  readonly isDamaged?: true
  /** The body's bytes as they came. */
  readonly raw: Uint8Array
  /** `parked` or `failing` when a handler is, `handled` when all handlers are done, `received` until then. */
  readonly state: HandlingState
  /** How often the same content came for the same recipient, the first time included. */
  readonly copies: number
  readonly at: Instant
  /** Where each handler stands that was called, or is known to wait for it. */
  readonly handlers: readonly HandlerState[]
}

/** What is known of a notification in clear, with the addresses of what is sealed. */
export interface ClearNotification {
  readonly stream: string
  readonly evento: string
  readonly copies: number
  readonly at: Instant
  readonly handlers: readonly HandlerState[]
  readonly body: PartAddress
  readonly origin: Notification['origin']
  /** For a recovered one: when its delivery failed. */
  readonly failedAt: Instant | null
}

/** The same content for the same recipient within it is a copy. */
export const copyWindowMs = 10 * 60_000

/** What is sealed of a notification. */
export type SealedBody = {
  /** The bytes as they came, in base64. */
  readonly bytes: string
  /** Whom the portal named, as it did; also the event, which is not kept in clear where it holds a CPF. */
  readonly recipient?: { readonly tipo: string | null; readonly id: string; readonly evento: string }
}

/** What to seal of a notification; only one that was delivered has a recipient. */
export function sealedBody(body: Uint8Array, recipient?: SealedBody['recipient']): SealedBody {
  return { bytes: Buffer.from(body).toString('base64'), ...(recipient && { recipient }) }
}

/** Opens a part. */
type OpenPart = (address: PartAddress) => Promise<Json | undefined>

/** Opens what is sealed of a notification, by `open` where it is given. */
export async function openNotification(
  { store }: Pick<ApiContext, 'store'>,
  { stream, body, origin, failedAt, ...clear }: ClearNotification,
  open: OpenPart = address => store.open(address),
): Promise<Notification> {
  const sealed = (await open(body)) as SealedBody | undefined // As `sealedBody` made it.
  const raw = Buffer.from(sealed?.bytes ?? '', 'base64')
  const named = sealed?.recipient
  const stored = {
    id: idOfStream(stream),
    ...clear,
    body: sealed === undefined ? null : parseBody(raw),
    raw,
    state: overallState(clear.handlers),
  }
  if (origin === 'recovered') return { ...stored, origin, failedAt }
  return { ...stored, origin, ...(named && { recipient: { tipo: named.tipo, id: named.id } }) }
}

/** Opens a notification for a list: a damaged one does not end the list. */
export async function openListed(
  context: Pick<ApiContext, 'store'>,
  clear: ClearNotification,
): Promise<Notification> {
  try {
    return await openNotification(context, clear)
  } catch (error) {
    if (!isDamage(error)) throw error
    return { ...(await openNotification(context, clear, async () => undefined)), isDamaged: true }
  }
}

/** The address of a notification's body, by the first event of its stream. */
export function bodyOf({ id }: Pick<RecordedEvent, 'id'>): PartAddress {
  return `${id}/body`
}

/** Reports whether a body was destroyed; one that is damaged may be put back. */
export async function isDestroyed({ store }: Pick<ApiContext, 'store'>, body: PartAddress): Promise<boolean> {
  try {
    return (await store.open(body)) === undefined
  } catch (error) {
    if (isDamage(error)) return false
    throw error
  }
}

/** Reports whether the body of a notification was destroyed. */
export function isGone({ body, raw }: Notification): boolean {
  return body === null && raw.length === 0
}

function parseBody(raw: Buffer): Json {
  const text = raw.toString()
  const value = parseJson(text)
  return value === undefined ? text : (value as Json) // It came out of JSON.parse.
}
