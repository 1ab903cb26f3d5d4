import { describeConnectionError, UnsentError } from '../../vocabulary/connection-errors.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Fetch } from '../../vocabulary/fetch.ts'
import { openSocket, type SocketOptions } from './transport.ts'

/** What became of a try to reach a service. */
export interface ReachResult {
  readonly isReached: boolean
  /** What was found in words, and what to do when it was not reached. */
  readonly detail: string
  /** The answer's `Date` less our own time, where it has one: exact to the second only. */
  readonly skewMs?: number
}

/** How long a try may take by default. */
const defaultBudgetMs = 5_000

/**
 * Finds the name of a service, connects, shakes hands, and sends `HEAD /`: none of the service's operations, no
 * credential but the client certificate, and nothing that costs money. Any answer will do. `fetch` is a way out in
 * place of a socket.
 */
export async function tryReach(
  address: string,
  { fetch, budgetMs = defaultBudgetMs, ...options }: SocketOptions & { readonly fetch?: Fetch },
): Promise<ReachResult> {
  const { clock } = options
  const socket = fetch ? undefined : openSocket({ ...options, budgetMs })
  let isConnected = false
  const began = clock.now()
  try {
    const request = new Request(new URL('/', address), { method: 'HEAD', redirect: 'manual' })
    const response = await (fetch?.(request) ??
      socket?.stream(request, () => {
        isConnected = true
      }))
    const ended = clock.now()
    const date = Date.parse(response?.headers.get('date') ?? '')
    await response?.body?.cancel()
    const detail = `it answered within ${ended - began} ms`
    // The answer was made in between, and within the second that it names.
    const skewMs = Math.round(date + 500 - (began + ended) / 2)
    return { isReached: true, detail, ...(!Number.isNaN(date) && { skewMs }) }
  } catch (error) {
    const detail = whyNot(error, { budgetMs, isConnected, isNamed: options.certificate !== undefined })
    return { isReached: false, detail }
  } finally {
    await socket?.close()
  }
}

function whyNot(
  error: unknown,
  { budgetMs, isConnected, isNamed }: { budgetMs: number; isConnected: boolean; isNamed: boolean },
): string {
  if (error instanceof AverbaError) return [error.message, error.hint].filter(Boolean).join(': ')
  if (error instanceof UnsentError) return `${error.message}${adviceFor(error.message)}`
  const words = describeConnectionError(error)
  if (words === 'no answer in time') {
    return `there is ${isConnected ? 'a connection, and ' : ''}no answer within ${budgetMs / 1_000} s: ask the service`
  }
  const advice = isNamed ? ': does it know our client certificate?' : ': ask the service'
  return `it ended the connection (${words})${advice}`
}

/** What is untrusted or missing needs no advice beyond its words. */
function adviceFor(words: string): string {
  if (/ENOTFOUND|EAI_AGAIN/.test(words)) return ": correct its address, or this machine's resolver"
  if (/ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL/.test(words))
    return ': nothing listens at its address and port, or something in between refuses'
  if (/CONNECT_TIMEOUT/.test(words)) return ': does a firewall stand in between?'
  if (/ALTNAME/.test(words)) return ': correct its address'
  if (/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/.test(words))
    return ": compare this machine's clock, then ask the service"
  if (/ALERT/.test(words)) return ': does it know our client certificate?'
  return ''
}
