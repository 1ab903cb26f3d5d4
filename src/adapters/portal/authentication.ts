import type { Fetch } from '../../vocabulary/fetch.ts'
import type { AttemptOutcome } from '../../vocabulary/message.ts'
import { type Source, valueFrom } from '../credentials/source.ts'
import type { Exchange, exchange } from '../http/exchange.ts'
import type { PortalLogin } from './login.ts'

/**
 * Gives the headers that authenticate a call, or says how to log in. The contract does not show how the portal
 * authenticates, so it is a function; `send` reaches the portal, for those that log in by themselves.
 */
export type PortalAuthentication = ((send: Fetch) => Promise<Record<string, string>>) | PortalLogin

/** A host's own login may take several requests. */
const loginMaxMs = 30_000

/** No session can be had now: none of the portal's operations was called. */
export type NoSession = Extract<AttemptOutcome, { status: 'deferred' }>

/** Makes a call with the headers that authenticate it. */
export interface Authenticated {
  send(call: AuthenticatedCall): Promise<Exchange | NoSession>
}

/** One call, made as often as it takes to authenticate it. */
export type AuthenticatedCall = (headers: Record<string, string>) => ReturnType<typeof exchange>

/** Keeps the headers of one authentication until the portal refuses them. */
export class GivenHeaders implements Authenticated {
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
    // Only the refused headers are given up: another call may have renewed them meanwhile.
    if (this.#headers === used) this.#headers = undefined
    return call(await this.#current())
  }

  #current(): Promise<Record<string, string>> {
    this.#headers ??= valueFrom(this.#authenticate, 'authentication of the portal', loginMaxMs)
    return this.#headers
  }
}

/** Authenticates at the portal with headers that the host gives, asked for again when they are refused. */
export function staticHeaders(
  headers: Source<Record<string, string>>,
): () => Promise<Record<string, string>> {
  return () => valueFrom(headers, 'headers of the portal')
}
