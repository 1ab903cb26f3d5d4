import type { Clock } from '../../runtime/clock.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { LateError } from '../../vocabulary/errors.ts'
import { answerBytesMax, defaultBudgetMs, type Fetch, limitsOf } from '../../vocabulary/fetch.ts'
import { readBounded } from './answer-body.ts'

/**
 * Reads answers as averba's own sockets do: whole, within the budget of the request by this clock, and within its size
 * limit. The signal aborts when the budget is exceeded: what ignores it is left alone.
 */
export function withinBudget(
  clock: Clock,
  forward: (request: Request, signal: AbortSignal) => Promise<Response>,
): Fetch {
  return async request => {
    const { budgetMs = defaultBudgetMs, bodyBytesMax = answerBytesMax } = limitsOf(request)
    const read = async ({ signal }: { readonly signal: AbortSignal }) => {
      const { body, status, headers } = await forward(request, signal)
      return new Response(body && (await readBounded(body, bodyBytesMax)), { status, headers })
    }
    return withinTime(clock, budgetMs, read).catch((error: unknown) => {
      throw error instanceof LateError ? new DOMException('', 'TimeoutError') : error
    })
  }
}
