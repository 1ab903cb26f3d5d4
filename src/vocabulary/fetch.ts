/** Sends a request and returns its response. Real sockets and simulated services implement it. */
export type Fetch = (request: Request) => Promise<Response>

/** Like `Fetch`, but returns once the headers are there. `onConnected` is called when the connection is established. */
export type StreamingFetch = (request: Request, onConnected?: () => void) => Promise<Response>

/** Default time limit of an exchange. */
export const defaultBudgetMs = 10_000

/** Default size limit of an answer: 4 MiB. */
export const answerBytesMax = 4 * 1_048_576

/** Time and size limits of one exchange, where they exceed the defaults. */
export interface AnswerLimits {
  readonly budgetMs: number
  readonly bodyBytesMax: number
}

/** Limits of one request. `mayLeave` is called right before its first byte: false stops it. */
export interface RequestLimits extends Partial<AnswerLimits> {
  readonly mayLeave?: () => boolean
}

const limitsByRequest = new WeakMap<Request, RequestLimits>()

/** Sets the limits of a request. `mayLeave` is only asked by averba's own sockets. */
export function withLimits(request: Request, limits: RequestLimits): Request {
  limitsByRequest.set(request, limits)
  return request
}

/** Returns the limits set for a request: the defaults apply to those that are absent. */
export function limitsOf(request: Request): RequestLimits {
  return limitsByRequest.get(request) ?? {}
}
