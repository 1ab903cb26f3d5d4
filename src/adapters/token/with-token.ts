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

export type TokenUnavailable = Exclude<TokenAnswer, { status: 'held' }>

export interface TokenSource {
  /** The token in use. Requests one when no token is in use. */
  current(): TokenAnswer | Promise<TokenAnswer>
  /** A token other than one that got a 401. */
  renew(rejected: string, by: Rejection): Promise<TokenAnswer>
  /** When to try again, after the other token got a 401 too. */
  giveUp(rejected: string, by: Rejection): Promise<TokenUnavailable>
  /** Called for each operation that did not answer 401. */
  reportAccepted(token: string, call: string): void
}

/** A 401: the id of the call that got it, and the reason in that answer, if any. */
export interface Rejection {
  readonly call: string
  readonly code: string | undefined
  /** More than one token was refused for the call before, maybe by another process. */
  readonly isRefused?: boolean
}

/** A call that needs a token. */
export interface CallWithToken extends Omit<Rejection, 'code'> {
  /** The personal data in the call: a code that quotes it is not repeated. */
  readonly sent: Json
  /** Whether the host has declared what an answer means: then it says nothing about the token. */
  readonly isMeant: (answer: HttpAnswer) => boolean
}

type Send = (bearer: string) => Promise<Exchange>

/**
 * Sends an operation with the current token, and after a 401 once more with a newer one (document 2, section 5). A 401
 * of the service means that the operation was not done, so a second one defers the call. One of somebody else says
 * nothing about that: it is the answer, unless the call is sent again.
 */
export async function withToken(
  tokens: TokenSource,
  call: CallWithToken,
  send: Send,
): Promise<Exchange | TokenUnavailable> {
  const answer = tokens.current()
  const token = answer instanceof Promise ? await answer : answer
  if (token.status !== 'held') return token
  const result = await send(token.value)
  if (!isRejected(call, result)) return accept(tokens, token.value, call, result)
  const again = await resend(tokens, token.value, call, send, result.answer)
  if (again.status !== 'unsent' && again.status !== 'deferred') return again
  return isOwnForm(result.answer, 'validationService') ? { ...again, isAnswered: true } : result
}

async function resend(
  tokens: TokenSource,
  rejected: string,
  call: CallWithToken,
  send: Send,
  answer: HttpAnswer,
): Promise<Exchange | TokenUnavailable> {
  const rejection = readRejection(call, answer)
  try {
    const newer = await tokens.renew(rejected, rejection)
    if (newer.status !== 'held') return addCode(newer, rejection)
    const again = await send(newer.value)
    if (!isRejected(call, again)) return accept(tokens, newer.value, call, again)
    // Somebody else says it: the table of answers tells what that means.
    if (!isOwnForm(again.answer, 'validationService')) return again
    const last = readRejection(call, again.answer)
    return addCode(await tokens.giveUp(newer.value, last), last)
  } catch (error) {
    // The second request was not sent. Do not throw: the caller has to report that the first one was.
    if (error instanceof AverbaError) return { status: 'deferred', reason: recordableMessage(error) }
    throw error
  }
}

function isRejected({ isMeant }: CallWithToken, result: Exchange): result is Answered {
  return result.status === 'answered' && result.answer.status === 401 && !isMeant(result.answer)
}

function readRejection({ sent, isMeant: _, ...by }: CallWithToken, { redacted }: HttpAnswer): Rejection {
  // The code may be the only reason given: the contract is blocked, or does not cover the service.
  return { ...by, code: storableCode(readProblem(401, redacted()), sent) ?? undefined }
}

function accept(tokens: TokenSource, token: string, { call }: CallWithToken, result: Exchange): Exchange {
  if (isAboutToken(result)) tokens.reportAccepted(token, call)
  return result
}

type Answered = Extract<Exchange, { status: 'answered' }>

/** Adds the code of the 401, unless the reason already ends with it. */
function addCode(unavailable: TokenUnavailable, { code }: Rejection): TokenUnavailable {
  if (code === undefined || unavailable.reason.endsWith(code)) return unavailable
  return { ...unavailable, reason: `${unavailable.reason}; the call was answered 401: ${code}` }
}

/** What stands in front of the service answers without looking at any token. */
function isAboutToken(result: Exchange): boolean {
  if (result.status !== 'answered') return false
  const { answer } = result
  return answer.status < 300 || (answer.status < 500 && isOwnForm(answer, 'validationService'))
}
