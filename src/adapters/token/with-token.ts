import { AverbaError, recordable } from '../../errors.ts'
import type { Exchange } from '../exchange.ts'
import { clearCode, readProblem } from '../problem.ts'

/** A token to call with, or why there is none now. */
export type TokenAnswer =
  | { readonly status: 'held'; readonly value: string }
  | {
      readonly status: 'deferred'
      readonly because: string
      readonly afterMs?: number
      /** The operation answered 401 before: it was told what the call carries. */
      readonly isAnswered?: true
    }

/** Why there is none now. */
export type NoToken = Exclude<TokenAnswer, { status: 'held' }>

/** Where tokens come from. */
export interface TokenSource {
  /** The token in use; one is requested when there is none. */
  current(): TokenAnswer | Promise<TokenAnswer>
  /** A token other than the one that an operation answered 401 to. */
  renew(rejected: string): Promise<TokenAnswer>
  /** When to try again, once the other token got a 401 too. */
  giveUp(rejected: string): Promise<NoToken>
  /** Told of each operation that did not answer 401. */
  served(token: string): void
}

/**
 * Sends an operation with a token that is used until the operation answers 401, and then once more with a newer one
 * (document 2, section 5). A 401 says that the token is not valid, so that neither attempt did anything: a second one
 * puts the call off.
 */
export async function withToken(
  tokens: TokenSource,
  send: (bearer: string) => Promise<Exchange>,
): Promise<Exchange | NoToken> {
  // A token that is held is used without waiting.
  const answer = tokens.current()
  const token = answer instanceof Promise ? await answer : answer
  if (token.status !== 'held') return token
  const result = await send(token.value)
  if (!isRejected(result)) return served(tokens, token.value, result)
  const again = await sendAnew(tokens, token.value, send)
  return again.status === 'unsent' || again.status === 'deferred' ? { ...again, isAnswered: true } : again
}

/** Sends it once more, with a newer token than the rejected one. */
async function sendAnew(
  tokens: TokenSource,
  rejected: string,
  send: (bearer: string) => Promise<Exchange>,
): Promise<Exchange | NoToken> {
  try {
    const newer = await tokens.renew(rejected)
    if (newer.status !== 'held') return newer
    const again = await send(newer.value)
    if (!isRejected(again)) return served(tokens, newer.value, again)
    const none = await tokens.giveUp(newer.value)
    const code = clearCode(readProblem(401, again.answer.told()))
    return code === null ? none : { ...none, because: `${none.because}: ${code}` }
  } catch (error) {
    // Nothing more has left; that the first request did is not forgotten over it.
    if (error instanceof AverbaError) return { status: 'deferred', because: recordable(error) }
    throw error
  }
}

function isRejected(result: Exchange): result is Extract<Exchange, { status: 'answered' }> {
  return result.status === 'answered' && result.answer.status === 401
}

function served(tokens: TokenSource, token: string, result: Exchange): Exchange {
  // A server in front of the service may answer 5xx without looking at any token.
  if (result.status === 'answered' && result.answer.status < 500) tokens.served(token)
  return result
}
