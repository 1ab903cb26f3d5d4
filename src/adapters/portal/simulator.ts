import { type Context, Hono } from 'hono'
import type { Clock, Entropy } from '../../clock.ts'
import { brasiliaDay, writeBrasilia } from '../brasilia.ts'
import type { Fetch } from '../transport.ts'
import { SimulatedSession } from './simulated-session.ts'
import {
  type Assinatura,
  type AssinaturaAlterada,
  type AssinaturaListada,
  changeRequestSchema,
  type Falha,
  limits,
  type RecipientKind,
  subscribeRequestSchema,
} from './wire.ts'

/**
 * The webhook portal as document 3 describes it: five operations, deliveries, failure records, and the
 * automatic deletion. What it does not show is a policy of docs/unspecified.md.
 */
export interface PortalSimulator {
  fetch(request: Request): Promise<Response>
  /** Delivers an event to every active subscription for it: one POST each, one try. */
  notify(notice: Notice): Promise<Delivered[]>
  /** What happened to deliveries so far. */
  readonly deliveries: { readonly succeeded: number; readonly failed: number }
}

/** An event at the portal, and whom it concerns. */
export interface Notice {
  readonly evento: string
  readonly destinatarioTipo: RecipientKind
  readonly destinatarioId: string
  readonly body: unknown
}

/** What became of one POST. */
export interface Delivered {
  readonly subscription: number
  readonly isDelivered: boolean
  readonly description: string
}

/** What document 3 does not show, decided: the first of each is the default. */
export interface PortalPolicies {
  /** How callers are known: by headers that are fixed, not at all, or by the login that is publicly known. */
  readonly authentication?: 'headers' | 'none' | 'session'
  /** The headers of further users, where headers tell them apart: each has subscriptions of its own. */
  readonly users?: readonly Readonly<Record<string, string>>[]
  /** A second active subscription for an event. */
  readonly duplicateEvent?: 'refuse' | 'accept'
  /** What leaving out an optional field means on a change. */
  readonly omittedFields?: 'clear' | 'keep'
  /** An id in the body of a change that is not the one in the path. */
  readonly differingId?: 'refuse' | 'path'
  /** Which answers make a delivery a success. */
  readonly success?: '2xx' | '200'
  /** A subscription that nothing was delivered to for thirty days. */
  readonly silence?: 'keep' | 'delete'
}

interface Options {
  readonly clock: Clock
  readonly entropy: Entropy
  readonly policies?: PortalPolicies
  /** How notifications leave. It ends them after 3500 ms. */
  readonly deliver: Fetch
  /** The headers that a call must carry; none by default. */
  readonly headers?: Readonly<Record<string, string>>
}

interface Subscription {
  readonly id: number
  readonly user: number
  evento: string
  endpoint: string
  chaveSecreta: string | undefined
  chaveAutenticacao: string | undefined
  readonly registeredAt: number
  deletedAt: number | undefined
  reason: string | undefined
  lastSuccessAt: number | undefined
  /** The first failure since the last success. */
  failingSince: number | undefined
}

const dayMs = 86_400_000

/** Makes a portal without subscriptions. */
export function simulatePortal(options: Options): PortalSimulator {
  const { clock, entropy, deliver, headers = {}, policies = {} } = options
  const {
    authentication = 'headers',
    users: others = [],
    duplicateEvent = 'refuse',
    omittedFields = 'clear',
    differingId = 'refuse',
    success = '2xx',
    silence = 'keep',
  } = policies
  const subscriptions: Subscription[] = []
  const failures: { record: Falha; at: number; user: number }[] = []
  const deliveries = { succeeded: 0, failed: 0 }
  let lastId = 1_000

  const app = new Hono()
  const path = '/portal/api/ext/webhook'

  const session = new SimulatedSession(clock, entropy)
  if (authentication === 'session')
    app.post('/portal/api/autenticar', context => session.logIn(context.req.raw))

  app.use(async (context, next) => {
    if (userOf(context.req.raw.headers) === undefined)
      return refuse(context, 401, 'PUCX-ER0201', 'Não autenticado')
    deleteFailing()
    await next()
    if (authentication === 'session')
      context.res = session.renewed(new Response(context.res.body, context.res))
    return undefined
  })
  app.post(path, async context => {
    const parsed = subscribeRequestSchema.safeParse(await bodyOf(context))
    if (!parsed.success) return refuse(context, 422, 'CAMPO', 'Campo obrigatório ausente ou longo demais')
    const { evento, endpoint, chaveSecreta, chaveAutenticacao } = parsed.data
    const url = URL.parse(endpoint)
    if (url?.protocol !== 'https:' || url.port !== '')
      return refuse(context, 422, 'ENDPOINT', 'Use https na porta 443')
    if (
      duplicateEvent === 'refuse' &&
      ownOf(context).some(each => isActive(each) && each.evento === evento)
    ) {
      return refuse(context, 422, 'PLAT-ER9100', 'Já existe uma assinatura para esse evento')
    }
    lastId += 1
    const times = {
      deletedAt: undefined,
      lastSuccessAt: undefined,
      failingSince: undefined,
      reason: undefined,
    }
    const subscription = {
      id: lastId,
      user: userOf(context.req.raw.headers) ?? 0,
      evento,
      endpoint,
      chaveSecreta,
      chaveAutenticacao,
      registeredAt: clock.now(),
    }
    subscriptions.push({ ...subscription, ...times })
    return context.json(withSecrets({ ...subscription, ...times }))
  })
  app.get(path, context => {
    const showsDeleted = context.req.query('exibirInativos') === 'true'
    return context.json(
      ownOf(context)
        .filter(each => showsDeleted || isActive(each))
        .map(listed),
    )
  })
  app.get(`${path}/falhas`, context => {
    const data = context.req.query('data')
    if (data !== undefined && !/^\d{8}$/.test(data)) return refuse(context, 422, 'DATA', 'Use ddMMyyyy')
    const day = data ? `${data.slice(4)}-${data.slice(2, 4)}-${data.slice(0, 2)}` : brasiliaDay(clock.now())
    const oldest = clock.now() - limits.failureDays * dayMs
    const user = userOf(context.req.raw.headers)
    const shown = failures.filter(
      each => each.user === user && each.at >= oldest && brasiliaDay(each.at) === day,
    )
    return context.json(shown.map(each => each.record))
  })
  app.put(`${path}/:id`, async context => {
    const found = ownOf(context).find(each => isActive(each) && String(each.id) === context.req.param('id'))
    if (!found) return refuse(context, 404, 'ASSINATURA', 'Assinatura não encontrada')
    const parsed = changeRequestSchema.safeParse(await bodyOf(context))
    const isSame = parsed.success && (parsed.data.id === found.id || differingId === 'path')
    if (!parsed.success || !isSame) return refuse(context, 422, 'CAMPO', 'Campo inválido')
    const { evento, endpoint, chaveSecreta, chaveAutenticacao } = parsed.data
    // On change only HTTPS is asked for, not the port (section 4, rule 1).
    if (URL.parse(endpoint)?.protocol !== 'https:') return refuse(context, 422, 'ENDPOINT', 'Use https')
    const keeps = omittedFields === 'keep'
    Object.assign(found, {
      evento,
      endpoint,
      chaveSecreta: chaveSecreta ?? (keeps ? found.chaveSecreta : undefined),
      chaveAutenticacao: chaveAutenticacao ?? (keeps ? found.chaveAutenticacao : undefined),
    })
    const changed: AssinaturaAlterada = { id: found.id, evento, endpoint }
    return context.json(changed)
  })
  app.delete(`${path}/:id`, context => {
    const found = ownOf(context).find(each => isActive(each) && String(each.id) === context.req.param('id'))
    if (!found) return refuse(context, 404, 'ASSINATURA', 'Assinatura não encontrada')
    found.deletedAt = clock.now()
    return context.body(null, 200)
  })

  /** The number of the user that headers belong to; `undefined` for a stranger. */
  function userOf(given: Headers): number | undefined {
    if (authentication === 'none') return 0
    if (authentication === 'session') return session.isKnown(given) ? 0 : undefined
    const fits = (user: Readonly<Record<string, string>>) =>
      Object.entries(user).every(([name, value]) => given.get(name) === value)
    const user = [headers, ...others].findIndex(fits)
    return user < 0 ? undefined : user
  }

  /** Section 4, rule 2: a user sees the subscriptions of that user. */
  function ownOf(context: Context): Subscription[] {
    const user = userOf(context.req.raw.headers)
    return subscriptions.filter(each => each.user === user)
  }

  function active(): Subscription[] {
    return subscriptions.filter(isActive)
  }

  /** Section 3: thirty days of nothing but errors. Worked out when somebody looks, so no timer is needed. */
  function deleteFailing(): void {
    for (const each of active()) {
      const quietSince = silence === 'delete' ? (each.lastSuccessAt ?? each.registeredAt) : undefined
      const since = each.failingSince ?? quietSince
      if (since === undefined) continue
      const endsAt = since + limits.deletionDays * dayMs
      if (endsAt > clock.now()) continue
      each.deletedAt = endsAt
      each.reason = `Exclusão automática: somente erros de entrega durante ${limits.deletionDays} dias`
    }
  }

  async function deliverTo(subscription: Subscription, notice: Notice): Promise<Delivered> {
    const content = JSON.stringify(notice.body)
    const description = await attempt(subscription, notice, content)
    const at = clock.now()
    if (description === '') {
      deliveries.succeeded += 1
      subscription.lastSuccessAt = at
      subscription.failingSince = undefined
      return { subscription: subscription.id, isDelivered: true, description }
    }
    deliveries.failed += 1
    subscription.failingSince ??= at
    lastId += 1
    const { evento } = notice
    const record = { id: lastId, data: writeBrasilia(at), descricao: description, evento, conteudo: content }
    failures.push({ record, at, user: subscription.user })
    return { subscription: subscription.id, isDelivered: false, description }
  }

  /** One POST (section 6). The empty text means success, anything else describes the error. */
  async function attempt(subscription: Subscription, notice: Notice, content: string): Promise<string> {
    const { chaveSecreta, chaveAutenticacao } = subscription
    const request = new Request(subscription.endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'destinatario-tipo': notice.destinatarioTipo,
        'destinatario-id': notice.destinatarioId,
        'event-type': notice.evento,
        ...(chaveSecreta !== undefined && { secret: chaveSecreta }),
        ...(chaveAutenticacao !== undefined && { authorization: chaveAutenticacao }),
      },
      body: content,
    })
    const done = new AbortController()
    const late = clock.sleep(limits.processingMs, done.signal).then(() => undefined)
    try {
      const response = await Promise.race([deliver(request), late])
      if (!response) return `Tempo esgotado: ${limits.processingMs} ms`
      const isSuccess = success === '2xx' ? response.ok : response.status === 200
      return isSuccess ? '' : `HTTP ${response.status}`
    } catch (error) {
      return error instanceof Error ? error.name : 'Falha de entrega'
    } finally {
      done.abort()
    }
  }

  return {
    deliveries,
    fetch: async request => app.fetch(request),
    async notify(notice) {
      deleteFailing()
      const concerned = active().filter(each => each.evento === notice.evento)
      return Promise.all(concerned.map(each => deliverTo(each, notice)))
    },
  }
}

function isActive(subscription: Subscription): boolean {
  return subscription.deletedAt === undefined
}

function withSecrets(subscription: Subscription): Assinatura {
  const { id, evento, endpoint, chaveSecreta = null, chaveAutenticacao = null } = subscription
  return { id, evento, endpoint, chaveSecreta, chaveAutenticacao }
}

function listed(subscription: Subscription): AssinaturaListada {
  const text = (ms: number | undefined) => (ms === undefined ? null : writeBrasilia(ms))
  return {
    ...withSecrets(subscription),
    dataRegistro: writeBrasilia(subscription.registeredAt),
    dataExclusao: text(subscription.deletedAt),
    motivoExclusao: subscription.reason ?? null,
    dataUltimoSucesso: text(subscription.lastSuccessAt),
  }
}

function bodyOf(context: Context): Promise<unknown> {
  return context.req.json().catch(() => undefined)
}

/** The portal's error body as publicly known; the contract shows none. */
function refuse(context: Context, status: 401 | 404 | 422, code: string, message: string): Response {
  return context.json({ code, message }, status)
}
