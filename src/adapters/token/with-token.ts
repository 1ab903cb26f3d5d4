import type { Exchange } from '../exchange.ts'

/** A token to call with, or why there is none now. */
export type TokenAnswer =
  | { readonly status: 'held'; readonly value: string }
  | { readonly status: 'deferred'; readonly because: string; readonly afterMs?: number }

/** Where tokens come from. */
export interface TokenSource {
  /** The token that is in use; one is asked for when there is none. */
  current(): TokenAnswer | Promise<TokenAnswer>
  /** Another token than the one that an operation answered 401 to. */
  renew(rejected: string): Promise<TokenAnswer>
}

/**
 * Sends an operation with a token that is used until the operation answers 401, and then once more with a newer one
 * (document 2, section 5). A 401 says that the token is not valid, so the first attempt did nothing.
 */
export async function withToken(
  tokens: TokenSource,
  send: (bearer: string) => Promise<Exchange>,
): Promise<Exchange | Exclude<TokenAnswer, { status: 'held' }>> {
  // A token that is held is not waited for.
  const answer = tokens.current()
  const token = answer instanceof Promise ? await answer : answer
  if (token.status !== 'held') return token
  const result = await send(token.value)
  if (result.status !== 'answered' || result.answer.status !== 401) return result
  const newer = await tokens.renew(token.value)
  return newer.status === 'held' ? send(newer.value) : newer
}
