import { AverbaError, recordableMessage } from '../../vocabulary/errors.ts'
import type { Json } from '../../vocabulary/message.ts'
import { storableCode } from '../../vocabulary/outcome.ts'
import { readProblem } from '../http/answer-body.ts'
import { isOwnForm } from '../http/answer-meaning.ts'
import type { Exchange, HttpAnswer } from '../http/exchange.ts'

/** A token to call with, or why no token can be had now. */
export type TokenAnswer =
  | { readonly status: 'held'; readonly value: string }
  | {
      readonly status: 'deferred'
      readonly reason: string
      readonly afterMs?: number
      /** The operation answered 401 before: the service has seen the data of the call. */
      readonly isAnswered?: true
    }

/** Why there is no token now. */
export type TokenUnavailable = Exclude<TokenAnswer, { status: 'held' }>

/** Where tokens come from. */
export interface TokenSource {
  /** The token in use. Requests one when no token is in use. */
  current(): TokenAnswer | Promise<TokenAnswer>
  /** A token other than one that got a 401. `code` is the reason in that answer, if any. */
  renew(rejected: string, code: string | undefined): Promise<TokenAnswer>
  /** When to try again, after the other token got a 401 too. */
  giveUp(rejected: string, code: string | undefined): Promise<TokenUnavailable>
  /** Called for each operation that did not answer 401. */
  reportAccepted(token: string): void
}

/**
 * Sends an operation with the current token, and after a 401 once more with a newer one (document 2, section 5). A 401
 * of the service means that the operation was not done, so a second one defers the call. One of somebody else says
 * nothing about that: it is the answer, unless the call is sent again.
 * @param sent - the personal data in the call: a code that quotes it is not repeated
 */
export async function withToken(
  tokens: TokenSource,
  send: (bearer: string) => Promise<Exchange>,
  sent: Json = null,
): Promise<Exchange | TokenUnavailable> {
  const answer = tokens.current()
  const token = answer instanceof Promise ? await answer : answer
  if (token.status !== 'held') return token
  const result = await send(token.value)
  if (!isRejected(result)) return acceptToken(tokens, token.value, result)
  // The code may be the only reason given: the contract is blocked, or does not cover the service.
  const readCode = ({ redacted }: HttpAnswer) => storableCode(readProblem(401, redacted()), sent) ?? undefined
  const again = await resend(tokens, token.value, send, readCode, result.answer)
  if (again.status !== 'unsent' && again.status !== 'deferred') return again
  return isOwnForm(result.answer, 'validationService') ? { ...again, isAnswered: true } : result
}

async function resend(
  tokens: TokenSource,
  rejected: string,
  send: (bearer: string) => Promise<Exchange>,
  readCode: (rejection: HttpAnswer) => string | undefined,
  rejection: HttpAnswer,
): Promise<Exchange | TokenUnavailable> {
  const code = readCode(rejection)
  try {
    const newer = await tokens.renew(rejected, code)
    if (newer.status !== 'held') return addCode(newer, code)
    const again = await send(newer.value)
    if (!isRejected(again)) return acceptToken(tokens, newer.value, again)
    // Somebody else says it: the table of answers tells what that means.
    if (!isOwnForm(again.answer, 'validationService')) return again
    const last = readCode(again.answer)
    return addCode(await tokens.giveUp(newer.value, last), last)
  } catch (error) {
    // The second request was not sent. Do not throw: the caller has to report that the first one was.
    if (error instanceof AverbaError) return { status: 'deferred', reason: recordableMessage(error) }
    throw error
  }
}

/** Adds the code of the 401, unless the reason already ends with it. */
function addCode(unavailable: TokenUnavailable, code: string | undefined): TokenUnavailable {
  if (code === undefined || unavailable.reason.endsWith(code)) return unavailable
  return { ...unavailable, reason: `${unavailable.reason}; the call was answered 401: ${code}` }
}

function isRejected(result: Exchange): result is Extract<Exchange, { status: 'answered' }> {
  return result.status === 'answered' && result.answer.status === 401
}

function acceptToken(tokens: TokenSource, token: string, result: Exchange): Exchange {
  if (result.status !== 'answered') return result
  const { answer } = result
  // What stands in front of the service answers without looking at any token.
  const isOwn = answer.status < 300 || isOwnForm(answer, 'validationService')
  if (answer.status < 500 && isOwn) tokens.reportAccepted(token)
  return result
}
