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

/** Sends calls with the headers that authenticate them. */
export interface PortalAuthenticator {
  send(call: AuthenticatedCall): Promise<Exchange | NoSession>
}

/** One call. It is repeated when its headers are rejected. */
export type AuthenticatedCall = (headers: Record<string, string>) => ReturnType<typeof sendRequest>

/** Keeps the headers of one authentication until the portal rejects them. */
export class GivenHeaders implements PortalAuthenticator {
  readonly #authenticate: () => Promise<Record<string, string>>
  #headers: Promise<Record<string, string>> | undefined

  constructor(authenticate: () => Promise<Record<string, string>>) {
    this.#authenticate = authenticate
  }

  async send(call: AuthenticatedCall): Promise<Exchange> {
    const used = this.#current()
    const headers = await used.catch(error => {
      if (this.#headers === used) this.#headers = undefined
      throw error
    })
    const result = await call(headers)
    if (result.status !== 'answered' || result.answer.status !== 401) return result
    // Drop only the rejected headers: another call may have renewed them meanwhile.
    if (this.#headers === used) this.#headers = undefined
    return call(await this.#current())
  }

  #current(): Promise<Record<string, string>> {
    this.#headers ??= valueFrom(this.#authenticate, 'authentication of the portal', loginMaxMs)
    return this.#headers
  }
}

/** Authenticates at the portal with headers from the host, which is asked again when they are rejected. */
export function staticHeaders(headers: Source<Record<string, string>>): () => Promise<Record<string, string>> {
  return () => valueFrom(headers, 'headers of the portal')
}
