import { callInTime, type HandlerCall } from '../../engine/following/handler-call.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Json } from '../../vocabulary/message.ts'
import type { Notification } from './notification.ts'

/** A registered handler with its options. */
export interface RegisteredHandler {
  readonly evento: string
  readonly name: string
  handle(notification: Notification, call: HandlerCall): Promise<void>
  readonly timeoutMs: number
  readonly schema: { parse(body: unknown): unknown } | undefined
  /** Notifications with the same key are handled in order. */
  readonly key: ((notification: Notification) => string) | undefined
}

/** Parses the body with the schema and calls the handler. Returns why that failed, without any content of the body. */
export async function callHandler(
  clock: Clock,
  { schema, handle, timeoutMs }: RegisteredHandler,
  notification: Notification,
): Promise<string | undefined> {
  let { body } = notification
  try {
    if (schema) body = schema.parse(body) as Json // The host's schema returns what the host's handler expects.
  } catch (error) {
    return schemaFailure(error)
  }
  return callInTime(clock, timeoutMs, call => handle({ ...notification, body }, call))
}

/** The issue codes of zod. Other texts of its errors, paths included, may quote the value. */
const zodIssueCodes = new Set([
  ...['invalid_type', 'too_big', 'too_small', 'invalid_format', 'not_multiple_of', 'unrecognized_keys'],
  ...['invalid_union', 'invalid_key', 'invalid_element', 'invalid_value', 'custom'],
])

function schemaFailure(error: unknown): string {
  const found = new Set<string>()
  try {
    const issues = typeof error === 'object' && error !== null && 'issues' in error ? error.issues : []
    for (const issue of Array.isArray(issues) ? issues : []) {
      const { code } = issue
      if (zodIssueCodes.has(code)) found.add(code)
    }
  } catch {
    // A thrown value may have a throwing getter: no issue is reported then.
  }
  return `the body does not fit its schema${found.size > 0 ? `: ${[...found].join(', ')}` : ''}`
}
