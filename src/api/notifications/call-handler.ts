import { callInTime, type HandlerCall } from '../../engine/following/handler-call.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Json } from '../../vocabulary/message.ts'
import type { Notification } from './notification.ts'

/** A handler as it was registered. */
export interface RegisteredHandler {
  readonly evento: string
  readonly name: string
  handle(notification: Notification, call: HandlerCall): Promise<void>
  /** How long one call may take. */
  readonly timeoutMs: number
  readonly schema: { parse(body: unknown): unknown } | undefined
  /** What belongs together: notifications of one key are handled in their order. */
  readonly key: ((notification: Notification) => string) | undefined
}

/**
 * Calls a handler with a body that fits its schema, within its time. Says why it failed, without a word of the body.
 */
export async function callHandler(
  clock: Clock,
  { schema, handle, timeoutMs }: RegisteredHandler,
  notification: Notification,
): Promise<string | undefined> {
  let { body } = notification
  try {
    if (schema) body = schema.parse(body) as Json // What the host's schema makes of it, for the host's handler.
  } catch (error) {
    return misfitOf(error)
  }
  return callInTime(clock, timeoutMs, call => handle({ ...notification, body }, call))
}

/** The names that zod has for what does not fit. Other texts of its errors, paths too, may quote the value. */
const misfits = new Set([
  ...['invalid_type', 'too_big', 'too_small', 'invalid_format', 'not_multiple_of', 'unrecognized_keys'],
  ...['invalid_union', 'invalid_key', 'invalid_element', 'invalid_value', 'custom'],
])

function misfitOf(error: unknown): string {
  const found = new Set<string>()
  try {
    const issues = typeof error === 'object' && error !== null && 'issues' in error ? error.issues : []
    for (const issue of Array.isArray(issues) ? issues : []) {
      const { code } = issue
      if (misfits.has(code)) found.add(code)
    }
  } catch {
    // A value that throws when it is looked at tells nothing more.
  }
  return `the body does not fit its schema${found.size > 0 ? `: ${[...found].join(', ')}` : ''}`
}
