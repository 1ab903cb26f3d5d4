import { type Falha, limits, type RecipientKind } from '../../../adapters/portal/wire.ts'
import { type Clock, type TimeLimit, withinTime } from '../../../runtime/clock.ts'
import { brasiliaDay, formatBrasilia } from '../../../vocabulary/brasilia.ts'
import { isUntrusted, nodeErrorCode } from '../../../vocabulary/connection-errors.ts'
import { LateError } from '../../../vocabulary/errors.ts'
import { dayMs } from '../../../vocabulary/instant.ts'
import { drain } from '../../faults/apply-fault.ts'
import type { Memory } from '../memory.ts'
import type { PortalPolicies } from '../policies.ts'
import { applyLifeInput, type SimulatedSubscription } from './subscription.ts'

export interface PortalNotice {
  readonly evento: string
  readonly destinatarioTipo: RecipientKind
  readonly destinatarioId: string
  readonly body: unknown
}

export interface DeliveryResult {
  readonly subscription: number
  readonly isDelivered: boolean
  readonly description: string
}

/** Sends a notification. Resolves when the answer's headers have arrived. */
export type Deliver = (request: Request, progress: DeliveryProgress) => Promise<Response>

interface DeliveryProgress extends Pick<TimeLimit, 'countBy'> {
  onConnected(): void
}

interface DeliveriesOptions {
  readonly clock: Clock
  /** Measures the 3500 ms, unless `deliver` names another clock with `countBy`. */
  readonly timer: Clock
  readonly deliver: Deliver
  readonly memory: Memory
  readonly nextId: () => number
  readonly policies: Pick<PortalPolicies, 'success' | 'silence' | 'processingTime' | 'tries' | 'redirects'>
}

/** How many redirects are followed, if the policy says `follow`. */
const redirectsMax = 5

/** The deliveries of the simulated portal and their failure records (document 3, sections 6 and 7). */
export function createDeliveries({ clock, timer, deliver, memory, nextId, policies }: DeliveriesOptions) {
  const { success = '2xx', processingTime = 'exchange', tries = 1, redirects = 'fail' } = policies
  const failures: { record: Falha; at: number; day: string; user: number }[] = memory.keep('failures', [])
  const counts = { succeeded: 0, failed: 0 }

  /** The failure records of a user on a day in Brasilia, `yyyy-MM-dd`, within their retention. */
  function failuresOf(user: number | undefined, day: string): Falha[] {
    const oldest = clock.now() - limits.failureDays * dayMs
    return failures.filter(each => each.user === user && each.at >= oldest && each.day === day).map(each => each.record)
  }

  /** Delivers to one subscription. The result is the first successful try, or the last failure. */
  async function deliverTo(subscription: SimulatedSubscription, notice: PortalNotice): Promise<DeliveryResult> {
    const conteudo = JSON.stringify(notice.body ?? null)
    let description: string
    let made = 0
    do description = await attempt(subscription, notice, conteudo)
    while (++made < tries && description !== '')
    const at = clock.now()
    const isDelivered = description === ''
    const type = isDelivered ? 'delivered' : 'deliveryFailed'
    subscription.life = applyLifeInput(subscription.life, { type, at }, policies.silence)
    counts[isDelivered ? 'succeeded' : 'failed'] += 1
    if (!isDelivered) {
      const { evento } = notice
      const record = { id: nextId(), data: formatBrasilia(at), descricao: description, evento, conteudo }
      failures.push({ record, at, day: brasiliaDay(at), user: subscription.user })
    }
    return { subscription: subscription.id, isDelivered, description }
  }

  /** Tries once. Returns an empty text on success, or a description of the error. */
  async function attempt(subscription: SimulatedSubscription, notice: PortalNotice, content: string): Promise<string> {
    try {
      const response = await withinTime(timer, limits.processingMs, async limit => {
        const answer = await send(subscription, notice, content, limit)
        // The rest of the answer does not count.
        await (processingTime === 'exchange' ? drain(answer) : answer.body?.cancel())
        return answer
      })
      const isSuccess = success === '2xx' ? response.ok : response.status === 200
      return isSuccess ? '' : `HTTP ${response.status}`
    } catch (error) {
      if (error instanceof LateError) return `Tempo esgotado: ${limits.processingMs} ms`
      return `Falha de entrega: ${formatDeliveryError(error)}`
    }
  }

  /** Sends the POST with the documented headers (section 6), and follows redirects if the policy says so. */
  async function send(
    { endpoint, chaveSecreta, chaveAutenticacao }: SimulatedSubscription,
    { destinatarioTipo, destinatarioId, evento }: PortalNotice,
    body: string,
    { signal, restart, countBy }: TimeLimit,
  ): Promise<Response> {
    const onConnected = () => {
      if (processingTime === 'processing') restart()
    }
    const headers = {
      'content-type': 'application/json',
      'destinatario-tipo': destinatarioTipo,
      'destinatario-id': destinatarioId,
      'event-type': evento,
      // An empty key is not sent.
      ...(chaveSecreta && { secret: chaveSecreta }),
      ...(chaveAutenticacao && { authorization: chaveAutenticacao }),
    }
    let url: URL | null = new URL(endpoint)
    for (let followed = 0; ; followed++) {
      const request = new Request(url, { method: 'POST', headers, body, signal })
      const answer: Response = await deliver(request, { onConnected, countBy })
      if (redirects === 'fail' || followed === redirectsMax) return answer
      url = redirectLocation(answer, url)
      if (url?.protocol !== 'https:') return answer
      await answer.body?.cancel()
    }
  }

  return { counts, deliverTo, failuresOf }
}

function redirectLocation(answer: Response, from: URL): URL | null {
  const location = [301, 302, 303, 307, 308].includes(answer.status) ? answer.headers.get('location') : null
  return location === null ? null : URL.parse(location, from)
}

function formatDeliveryError(error: unknown): string {
  const code = nodeErrorCode(error) || (error instanceof Error ? error.name : 'erro')
  const [, text] = connectionErrors.find(([codes]) => codes.test(code)) ?? []
  const other = isUntrusted(code) ? 'o certificado do receptor não é de uma autoridade conhecida' : 'erro de conexão'
  return `${text ?? other} (${code})`
}

const connectionErrors = [
  [/^ECONNREFUSED$/, 'a conexão foi recusada'],
  [/^(ECONNRESET|EPIPE|ECONNABORTED|UND_ERR_SOCKET)$/, 'a conexão caiu'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'o nome do receptor não foi encontrado'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'o certificado do receptor é de outro nome'],
  [/^CERT_HAS_EXPIRED$/, 'o certificado do receptor expirou'],
  [/ALERT/, 'o receptor recusou a conexão TLS'],
] as const
