import { systemClock } from '../../runtime/clock.ts'
import type { StreamingFetch } from '../../vocabulary/fetch.ts'
import type { Deliver } from '../services/portal/deliveries.ts'

/**
 * Delivers over real sockets. The system clock times each delivery until the end of its answer: advancing another clock
 * does not change how fast a receiver is.
 */
export function deliverOverSockets(stream: StreamingFetch): Deliver {
  return async (request, { onConnected, countBy }) => {
    const end = countBy(systemClock)
    try {
      const { body, status, headers } = await stream(request, onConnected)
      if (body === null) end()
      return new Response(body && callWhenRead(body, end), { status, headers })
    } catch (error) {
      end()
      throw error
    }
  }
}

/** Returns the same body, and calls `end` when it has been read. */
function callWhenRead(body: ReadableStream<Uint8Array>, end: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (!done) return controller.enqueue(value)
      end()
      controller.close()
    },
    cancel: reason => reader.cancel(reason),
  })
}
