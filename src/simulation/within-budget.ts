import { defaultBodyBytesMax, defaultBudgetMs, type Fetch, OversizedError } from '../adapters/transport.ts'
import type { Clock } from '../clock.ts'

/** Takes answers as a socket does, without one: whole, within the client's budget by this clock, and bounded. */
export function withinBudget(clock: Clock, fetch: Fetch): Fetch {
  return async request => {
    const done = new AbortController()
    const late = clock.sleep(defaultBudgetMs, done.signal).then(() => undefined)
    try {
      const taken = await Promise.race([takeWhole(fetch, request, done.signal), late])
      if (!taken) throw new DOMException('The budget is over', 'TimeoutError')
      return taken
    } finally {
      done.abort()
    }
  }
}

async function takeWhole(fetch: Fetch, request: Request, done: AbortSignal): Promise<Response> {
  const { body, status, headers } = await fetch(request)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > defaultBodyBytesMax) throw new OversizedError('The response is larger than allowed')
    if (done.aborted) break
    chunks.push(chunk)
  }
  return new Response(body && Buffer.concat(chunks), { status, headers })
}
