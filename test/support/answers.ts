import type { Fetch } from '../../src/index.ts'
import type { WorldOptions } from '../../src/simulation/index.ts'

type Intercept = NonNullable<WorldOptions['intercept']>
type Answer = Response | undefined

/** An answer that asks for a pause, of so many seconds if they are given. */
export function busy(retryAfterS?: number, status = 429): Response {
  const headers = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }
  return Response.json({}, { status, headers })
}

/** Answers some requests of a world. The services answer the others, and those for which there is no answer. */
export function answering(
  isOne: (request: Request) => boolean,
  answer: (request: Request, forward: Fetch) => Answer | Promise<Answer>,
): Intercept {
  return async (request, forward) => (isOne(request) ? await answer(request, forward) : undefined) ?? forward(request)
}

/** Holds the first answer to such a request back from when its service has given it until `release`. */
export function holdingAnswer(isOne: (request: Request) => boolean, change = (real: Response) => real) {
  const [given, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isHeld = false
  const intercept: Intercept = async (request, forward) => {
    const real = await forward(request)
    if (isHeld || !isOne(request)) return real
    isHeld = true
    given.resolve()
    await released.promise
    return change(real)
  }
  return { intercept, given: given.promise, release: () => released.resolve() }
}
