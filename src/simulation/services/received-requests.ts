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
  /** Header values that may be secret are `***`. */
  readonly headers: Readonly<Record<string, string>>
}

/** Headers that say nothing secret. */
const plainHeaders = new Set(['accept', 'content-type', 'content-length', 'host', 'user-agent', 'connection'])

/** The list is bounded: the oldest go. */
const requestsMax = 10_000

/** Writes down that a request came. Only headers that are known to be harmless keep their values. */
export function noteRequest(
  requests: ReceivedRequest[],
  service: string,
  request: Request,
  clock: Clock,
): void {
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
