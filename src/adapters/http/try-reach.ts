import { describeConnectionError, UnsentError } from '../../vocabulary/connection-errors.ts'
import { describeError } from '../../vocabulary/error-words.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { type Fetch, withLimits } from '../../vocabulary/fetch.ts'
import { foreignAdvice } from '../../vocabulary/foreign-answer.ts'
import type { ServiceName } from '../../vocabulary/names.ts'
import { maskNumbers, readBoundedText } from './answer-body.ts'
import { type DeclaredAnswer, declaredMeaning, isOwnForm, meaningOf } from './answer-meaning.ts'
import { openSocket, type SocketOptions } from './transport.ts'

export interface ReachResult {
  readonly isReached: boolean
  /** What was found, and what to do if the service was not reached. */
  readonly detail: string
  /** The answer's `Date` minus our clock, if it has one: exact to the second only. */
  readonly skewMs?: number
}

interface ReachOptions extends SocketOptions {
  readonly service: ServiceName
  readonly answers?: readonly DeclaredAnswer[] | undefined
  readonly fetch?: Fetch
}

const reachTimeoutMs = 5_000
const answerMax = 65_536
/** Nothing has to be at `/`: these are well in any form. */
const nothingThere: readonly number[] = [404, 405]

/**
 * Connects to a service and sends `GET /`. It calls no operation, sends no credential but the client certificate, and
 * costs nothing. An answer in another form than the service's counts if it is a success, if it says that nothing is at
 * this address, or if the host has declared it.
 */
export async function tryReach(
  address: string,
  { fetch, budgetMs = reachTimeoutMs, service, answers, ...options }: ReachOptions,
): Promise<ReachResult> {
  const { clock } = options
  const socket = fetch ? undefined : openSocket({ ...options, budgetMs })
  let isConnected = false
  const began = clock.now()
  try {
    const request = withLimits(new Request(new URL('/', address), { redirect: 'manual' }), { budgetMs })
    const response = await (fetch?.(request) ??
      socket?.stream(request, () => {
        isConnected = true
      }))
    const ended = clock.now()
    const date = Date.parse(response?.headers.get('date') ?? '')
    const refusal = response && (await findRefusal(response, service, answers))
    const detail = refusal ?? `it answered within ${ended - began} ms`
    // Assume that the answer was made halfway, in the middle of the second that `Date` names.
    const skewMs = Math.round(date + 500 - (began + ended) / 2)
    return { isReached: refusal === undefined, detail, ...(!Number.isNaN(date) && { skewMs }) }
  } catch (error) {
    const detail = describeFailure(error, { budgetMs, isConnected, hasCert: options.certificate !== undefined })
    return { isReached: false, detail }
  } finally {
    await socket?.close()
  }
}

/** Describes an answer that is not the service's; `undefined` for any other. */
async function findRefusal(
  { status, headers, body }: Response,
  service: ServiceName,
  answers: readonly DeclaredAnswer[] | undefined,
): Promise<string | undefined> {
  const text = await readBoundedText(body ?? [], answerMax, headers.get('content-type')).catch(() => '')
  const answer = { status, headers, text }
  if (status < 300 || isOwnForm(answer, service) || declaredMeaning(answer, answers)) return undefined
  const byTable = meaningOf(answer, service)
  const isNamed = byTable === 'PROXY_REFUSED' || byTable === 'CERTIFICATE_REFUSED'
  if (!isNamed && nothingThere.includes(status)) return undefined
  const meaning = isNamed ? byTable : 'SERVICE_MISDIRECTED'
  const words = maskNumbers(
    text
      .replace(/<[^<>]*>/g, ' ')
      .replace(/[\p{C}\s]+/gu, ' ')
      .trim(),
  ).slice(0, 100)
  return `${meaning}: it answered ${status} "${words}": ${foreignAdvice[meaning]}`
}

function describeFailure(
  error: unknown,
  { budgetMs, isConnected, hasCert }: { budgetMs: number; isConnected: boolean; hasCert: boolean },
): string {
  if (error instanceof AverbaError) return describeError(error)
  if (error instanceof UnsentError) return `${error.message}${connectionAdvice(error.message)}`
  const words = describeConnectionError(error)
  if (error instanceof Error && error.name === 'TimeoutError')
    return `${isConnected ? 'connected, but ' : ''}no answer within ${budgetMs / 1_000} s: ask the service`
  const advice = hasCert ? ': check that it accepts our client certificate' : ': ask the service'
  return `it ended the connection (${words})${advice}`
}

/** Other errors already say what to do. */
function connectionAdvice(words: string): string {
  if (words.startsWith('the address of the proxy'))
    return ': correct the option proxy, or HTTPS_PROXY, such as http://proxy.example:3128'
  if (words.includes('proxy')) return `: ${foreignAdvice.PROXY_REFUSED}`
  if (/ENOTFOUND|EAI_AGAIN/.test(words)) return ": correct its address, or this machine's resolver"
  if (/ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL/.test(words))
    return ': nothing listens at its address and port, or a firewall refuses'
  if (/EPERM|--allow-net/.test(words)) return ': permit its address, on Deno by --allow-net, or look for a firewall'
  if (/CONNECT_TIMEOUT/.test(words)) return ': check for a firewall in between'
  if (/ALTNAME/.test(words)) return ': correct its address'
  if (/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/.test(words)) return ": check this machine's clock, then ask the service"
  if (/ALERT/.test(words)) return ': check that it accepts our client certificate'
  return ''
}
