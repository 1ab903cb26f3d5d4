import type { Clock } from '../../runtime/clock.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'

/** A request that a simulated service received. */
export interface ReceivedRequest {
  readonly at: Instant
  readonly service: string
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Values that may be secret are `***`. */
  readonly headers: Readonly<Record<string, string>>
}

/** Headers whose values are never secret. */
const plainHeaders = new Set(['accept', 'content-type', 'content-length', 'host', 'user-agent', 'connection'])

/** Above this number the oldest request is dropped. */
const requestsMax = 10_000

/** Adds a request to the list, and masks the values of all headers that may be secret. */
export function recordRequest(requests: ReceivedRequest[], service: string, request: Request, clock: Clock): void {
  const { pathname, search } = new URL(request.url)
  const headers = Object.fromEntries(
    [...request.headers].map(([name, value]) => [name, plainHeaders.has(name) ? value : '***']),
  )
  if (requests.length >= requestsMax) requests.shift()
  requests.push({
    at: toInstant(clock.now()),
    service,
    method: request.method,
    path: pathname + search,
    headers,
  })
}
