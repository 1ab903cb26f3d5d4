/** The one way out: a request, and its response. Simulators and sockets meet here. */
export type Fetch = (request: Request) => Promise<Response>

/** The same, answered as soon as the head is there. `onConnected` is called when the connection is. */
export type StreamingFetch = (request: Request, onConnected?: () => void) => Promise<Response>
/** How long a whole exchange may take by default. */
export const defaultBudgetMs = 10_000

/** How large an answer may be, unless a way out sets less: 4 MiB. */
export const answerBytesMax = 4 * 1_048_576

/** How long a whole exchange may take, and how large its answer may be, where that is more than usual. */
export interface AnswerLimits {
  readonly budgetMs: number
  readonly bodyBytesMax: number
}
const limitsByRequest = new WeakMap<Request, AnswerLimits>()

/**
 * Lets the answer to a request be larger or later than usual, on each way out of ours: a host's own has its own bounds.
 */
export function withLimits(request: Request, limits: AnswerLimits | undefined): Request {
  if (limits) limitsByRequest.set(request, limits)
  return request
}

/** What the answer to a request may take; `undefined` where the usual bounds hold. */
export function limitsOf(request: Request): AnswerLimits | undefined {
  return limitsByRequest.get(request)
}
