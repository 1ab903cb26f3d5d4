import { systemClock } from '../../runtime/clock.ts'
import type { StreamingFetch } from '../../vocabulary/fetch.ts'
import type { Deliver } from '../services/portal/deliveries.ts'

/**
 * Deliveries over real sockets. From sending to the end of the answer they are timed by the system's clock: moving
 * another clock does not change how fast a receiver is.
 */
export function deliverOverSockets(stream: StreamingFetch): Deliver {
  return async (request, { onConnected, countBy }) => {
    const end = countBy(systemClock)
    try {
      const { body, status, headers } = await stream(request, onConnected)
      if (body === null) end()
      return new Response(body && whenRead(body, end), { status, headers })
    } catch (error) {
      end()
      throw error
    }
  }
}

/** The same body; `end` is called when it has been read. */
function whenRead(body: ReadableStream<Uint8Array>, end: () => void): ReadableStream<Uint8Array> {
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
