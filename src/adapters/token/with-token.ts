import { AverbaError, recordableMessage } from '../../vocabulary/errors.ts'
import type { Json } from '../../vocabulary/message.ts'
import { clearCode } from '../../vocabulary/problem.ts'
import type { Exchange, HttpAnswer } from '../http/exchange.ts'
import { readProblem } from '../http/problem.ts'

/** A token to call with, or why there is none now. */
export type TokenAnswer =
  | { readonly status: 'held'; readonly value: string }
  | {
      readonly status: 'deferred'
      readonly reason: string
      readonly afterMs?: number
      /** The operation answered 401 before: it was told what the call carries. */
      readonly isAnswered?: true
    }

/** Why there is none now. */
export type TokenUnavailable = Exclude<TokenAnswer, { status: 'held' }>

/** Where tokens come from. */
export interface TokenSource {
  /** The token in use; one is requested when there is none. */
  current(): TokenAnswer | Promise<TokenAnswer>
  /** A token other than the one that an operation answered 401 to, with a code that says why where there was one. */
  renew(rejected: string, code: string | undefined): Promise<TokenAnswer>
  /** When to try again, once the other token got a 401 too. */
  giveUp(rejected: string, code: string | undefined): Promise<TokenUnavailable>
  /** Told of each operation that did not answer 401. */
  served(token: string): void
}

/**
 * Sends an operation with a token that is used until the operation answers 401, and then once more with a newer one
 * (document 2, section 5). A 401 says that the token is not valid, so that neither attempt did anything: a second one
 * puts the call off.
 *
 * @param sent - what the operation says of a person: a code that quotes it is not repeated
 */
export async function withToken(
  tokens: TokenSource,
  send: (bearer: string) => Promise<Exchange>,
  sent: Json = null,
): Promise<Exchange | TokenUnavailable> {
  // A token that is held is used without waiting.
  const answer = tokens.current()
  const token = answer instanceof Promise ? await answer : answer
  if (token.status !== 'held') return token
  const result = await send(token.value)
  if (!isRejected(result)) return served(tokens, token.value, result)
  // The code may be all that says why: a contract that is blocked, or does not cover the service.
  const codeOf = (rejection: HttpAnswer) => clearCode(readProblem(401, rejection.told()), sent) ?? undefined
  const again = await sendAnew(tokens, token.value, send, codeOf, result.answer)
  return again.status === 'unsent' || again.status === 'deferred' ? { ...again, isAnswered: true } : again
}

/** Sends it once more, with a newer token than the rejected one. */
async function sendAnew(
  tokens: TokenSource,
  rejected: string,
  send: (bearer: string) => Promise<Exchange>,
  codeOf: (rejection: HttpAnswer) => string | undefined,
  rejection: HttpAnswer,
): Promise<Exchange | TokenUnavailable> {
  const code = codeOf(rejection)
  try {
    const newer = await tokens.renew(rejected, code)
    if (newer.status !== 'held') return withCode(newer, code)
    const again = await send(newer.value)
    if (!isRejected(again)) return served(tokens, newer.value, again)
    const last = codeOf(again.answer)
    return withCode(await tokens.giveUp(newer.value, last), last)
  } catch (error) {
    // Nothing more has left; that the first request did is not forgotten over it.
    if (error instanceof AverbaError) return { status: 'deferred', reason: recordableMessage(error) }
    throw error
  }
}

/** Says why the call was refused where the reason that there is no token does not. */
function withCode(none: TokenUnavailable, code: string | undefined): TokenUnavailable {
  if (code === undefined || none.reason.endsWith(code)) return none
  return { ...none, reason: `${none.reason}; the call was answered 401: ${code}` }
}

function isRejected(result: Exchange): result is Extract<Exchange, { status: 'answered' }> {
  return result.status === 'answered' && result.answer.status === 401
}

function served(tokens: TokenSource, token: string, result: Exchange): Exchange {
  // A server in front of the service may answer 5xx without looking at any token.
  if (result.status === 'answered' && result.answer.status < 500) tokens.served(token)
  return result
}
