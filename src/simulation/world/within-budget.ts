import { readBounded } from '../../adapters/http/bounded-body.ts'
import { type Clock, calledOff } from '../../runtime/clock.ts'
import { answerBytesMax, defaultBudgetMs, type Fetch, limitsOf } from '../../vocabulary/fetch.ts'

const usual = { budgetMs: defaultBudgetMs, bodyBytesMax: answerBytesMax }

/** Takes answers as a socket would, without one: whole, within the client's budget by this clock, and bounded. */
export function withinBudget(clock: Clock, forward: Fetch): Fetch {
  return async request => {
    const { budgetMs, bodyBytesMax } = limitsOf(request) ?? usual
    const done = new AbortController()
    const late = clock.sleep(budgetMs, done.signal, 'the budget of a request').then(() => undefined)
    try {
      const taken = await Promise.race([takeWhole(forward, request, bodyBytesMax), late])
      if (!taken) throw new DOMException('The budget is over', 'TimeoutError')
      return taken
    } finally {
      done.abort(calledOff)
    }
  }
}

async function takeWhole(forward: Fetch, request: Request, bytesMax: number): Promise<Response> {
  const { body, status, headers } = await forward(request)
  return new Response(body && (await readBounded(body, bytesMax)), { status, headers })
}
