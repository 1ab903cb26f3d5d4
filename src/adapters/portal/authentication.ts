import type { Fetch } from '../../vocabulary/fetch.ts'
import type { AttemptOutcome } from '../../vocabulary/message.ts'
import { type Source, valueFrom } from '../credentials/secret.ts'
import type { Exchange, sendRequest } from '../http/exchange.ts'
import type { PortalLogin } from './login.ts'

/**
 * Returns the headers that authenticate a call, or describes how to log in: the contract does not show it. `send`
 * reaches the portal, for functions that log in themselves.
 */
export type PortalAuthentication = ((send: Fetch) => Promise<Record<string, string>>) | PortalLogin

/** A host's own login may take several requests. */
const loginMaxMs = 30_000

/** There is no session now, and no operation of the portal was called. */
export type NoSession = Extract<AttemptOutcome, { status: 'deferred' }>

export interface PortalAuthenticator {
  send(call: AuthenticatedCall): Promise<Exchange | NoSession>
}

/** One call. It is repeated when its headers are rejected. */
export type AuthenticatedCall = (headers: Record<string, string>) => ReturnType<typeof sendRequest>

export function keepHeaders(authenticate: () => Promise<Record<string, string>>): PortalAuthenticator {
  let kept: Promise<Record<string, string>> | undefined
  const current = () => {
    kept ??= valueFrom(authenticate, 'authentication of the portal', loginMaxMs)
    return kept
  }
  return {
    async send(call) {
      const used = current()
      const headers = await used.catch(error => {
        if (kept === used) kept = undefined
        throw error
      })
      const result = await call(headers)
      if (result.status !== 'answered' || result.answer.status !== 401) return result
      // Drop only the rejected headers: another call may have renewed them meanwhile.
      if (kept === used) kept = undefined
      return call(await current())
    },
  }
}

/** Authenticates at the portal with headers from the host, which is asked again when they are rejected. */
export function staticHeaders(headers: Source<Record<string, string>>): () => Promise<Record<string, string>> {
  return () => valueFrom(headers, 'headers of the portal')
}
