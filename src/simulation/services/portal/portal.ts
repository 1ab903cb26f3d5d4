import { type Context, Hono } from 'hono'
import {
  type AssinaturaAlterada,
  changeRequestSchema,
  deleteRequestSchema,
  recipientIdForms,
  subscribeRequestSchema,
} from '../../../adapters/portal/wire.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Entropy } from '../../../runtime/entropy.ts'
import { brasiliaDay } from '../../../vocabulary/brasilia.ts'
import { AverbaError } from '../../../vocabulary/errors.ts'
import type { PortalPolicies, PortalUser, Recipient } from '../policies.ts'
import { type Deliver, type DeliveryResult, type PortalNotice, SimulatedDeliveries } from './deliveries.ts'
import { SimulatedSession } from './session.ts'
import { type SimulatedSubscription, toAssinatura, toAssinaturaListada } from './subscription.ts'
import { applyLifeInput, beginLife, type LifeInput, type Silence } from './subscription-life.ts'

/**
 * The webhook portal as document 3 describes it: five operations, deliveries, failure records, and the automatic
 * deletion. Behaviour that the document does not show is a policy of docs/unspecified.md.
 */
export interface PortalSimulator {
  fetch(request: Request): Promise<Response>
  /** Delivers an event to each active subscription for it whose user represents the recipient. */
  notify(notice: PortalNotice): Promise<DeliveryResult[]>
  /** For the policy `authentication: 'session'`: the number of logins, and `end` to end the session. */
  readonly session: { readonly logins: number; end(): void }
  readonly deliveries: { readonly succeeded: number; readonly failed: number }
}

interface PortalServiceOptions {
  readonly clock: Clock
  readonly entropy: Entropy
  readonly policies?: PortalPolicies | undefined
  readonly deliver: Deliver
  /** Measures the 3500 ms of a delivery; `clock` by default. */
  readonly timer?: Clock
  /** The headers of the first user's calls; none by default. */
  readonly headers?: Readonly<Record<string, string>>
}

const path = '/portal/api/ext/webhook'

/** Creates a portal without subscriptions. */
export function simulatePortal(options: PortalServiceOptions): PortalSimulator {
  const { clock, entropy, deliver, timer = clock, headers = {}, policies = {} } = options
  const { authentication = 'headers', represents = 'everyone', users: otherUsers = [] } = policies
  const session = new SimulatedSession(clock, entropy, policies.olderTokens ?? 'accept')
  const users = new SimulatedUsers([{ headers, represents }, ...otherUsers], authentication, session)
  const subscriptions = new PortalSubscriptions(clock, policies.silence ?? 'keep')
  const nextId = () => subscriptions.nextId()
  const deliveries = new SimulatedDeliveries({ clock, timer, deliver, nextId, policies })

  const app = new Hono()
  if (authentication === 'session') {
    app.post('/portal/api/autenticar', context => session.logIn(context.req.raw))
    app.post('/portal/api/autenticar/chave-acesso', context => session.logInWithKeys(context.req.raw))
  }
  app.use(async (context, next) => {
    if (users.find(context) === undefined) return portalError(context, 401, 'PUCX-ER0201', 'Não autenticado')
    subscriptions.passTime()
    await next()
    if (authentication === 'session') context.res = session.withFreshToken(new Response(context.res.body, context.res))
    return undefined
  })
  addCreateAndListRoutes(app, subscriptions, users, policies)
  addChangeAndDeleteRoutes(app, subscriptions, users, policies)
  app.get(`${path}/falhas`, context => {
    const data = context.req.query('data')
    const day = data === undefined ? brasiliaDay(clock.now()) : parseDay(data)
    if (day === undefined) return portalError(context, 422, 'DATA', 'Use uma data, ddMMyyyy')
    return context.json(deliveries.failuresOf(users.find(context), day))
  })
  return {
    session,
    deliveries: deliveries.counts,
    fetch: async request => app.fetch(request),
    async notify(notice) {
      checkRecipient(notice)
      subscriptions.passTime()
      const recipient = { tipo: notice.destinatarioTipo, id: notice.destinatarioId }
      const concerned = subscriptions.all.filter(each => {
        return isActive(each) && each.evento === notice.evento && users.represents(each.user, recipient)
      })
      return Promise.all(concerned.map(each => deliveries.deliverTo(each, notice)))
    },
  }
}

function addCreateAndListRoutes(
  app: Hono,
  subscriptions: PortalSubscriptions,
  users: SimulatedUsers,
  { duplicateEvent = 'refuse' }: PortalPolicies,
): void {
  app.post(path, async context => {
    const parsed = subscribeRequestSchema.safeParse(await parseJsonBody(context))
    if (!parsed.success) return portalError(context, 422, 'CAMPO', 'Campo obrigatório ausente ou longo demais')
    const { evento, endpoint, chaveSecreta, chaveAutenticacao } = parsed.data
    const url = URL.parse(endpoint)
    if (url?.protocol !== 'https:' || url.port !== '')
      return portalError(context, 422, 'ENDPOINT', 'Use https na porta 443')
    const user = users.find(context)
    const isDuplicate = subscriptions.ofUser(user).some(each => isActive(each) && each.evento === evento)
    if (duplicateEvent === 'refuse' && isDuplicate)
      return portalError(context, 422, 'PLAT-ER9100', 'Já existe uma assinatura para esse evento')
    const fields = { user: user ?? 0, evento, endpoint, chaveSecreta, chaveAutenticacao }
    return context.json(toAssinatura(subscriptions.add(fields)))
  })
  app.get(path, context => {
    const showsDeleted = context.req.query('exibirInativos') === 'true'
    const listed = subscriptions.ofUser(users.find(context)).filter(each => showsDeleted || isActive(each))
    return context.json(listed.map(toAssinaturaListada))
  })
}

function addChangeAndDeleteRoutes(
  app: Hono,
  subscriptions: PortalSubscriptions,
  users: SimulatedUsers,
  { omittedFields = 'clear', differingId = 'refuse' }: PortalPolicies,
): void {
  const find = (context: Context) => {
    const own = subscriptions.ofUser(users.find(context))
    return own.find(each => isActive(each) && String(each.id) === context.req.param('id'))
  }
  /** Compares the id in the path with the one in the JSON body (section 4). */
  const hasSameId = (subscription: SimulatedSubscription, { id }: { id: number }) =>
    id === subscription.id || differingId === 'path'

  app.put(`${path}/:id`, async context => {
    const found = find(context)
    if (!found) return portalError(context, 404, 'ASSINATURA', 'Assinatura não encontrada')
    const parsed = changeRequestSchema.safeParse(await parseJsonBody(context))
    if (!parsed.success || !hasSameId(found, parsed.data)) return portalError(context, 422, 'CAMPO', 'Campo inválido')
    const { evento, endpoint, chaveSecreta, chaveAutenticacao } = parsed.data
    // A change requires only HTTPS, not the port (section 4, rule 1).
    if (URL.parse(endpoint)?.protocol !== 'https:') return portalError(context, 422, 'ENDPOINT', 'Use https')
    const keeps = omittedFields === 'keep'
    Object.assign(found, {
      evento,
      endpoint,
      chaveSecreta: chaveSecreta ?? (keeps ? found.chaveSecreta : undefined),
      chaveAutenticacao: chaveAutenticacao ?? (keeps ? found.chaveAutenticacao : undefined),
    })
    const answer: AssinaturaAlterada = { id: found.id, evento, endpoint }
    return context.json(answer)
  })
  app.delete(`${path}/:id`, async context => {
    const found = find(context)
    if (!found) return portalError(context, 404, 'ASSINATURA', 'Assinatura não encontrada')
    const parsed = deleteRequestSchema.safeParse(await parseJsonBody(context))
    if (!parsed.success || !hasSameId(found, parsed.data)) return portalError(context, 422, 'CAMPO', 'Campo inválido')
    subscriptions.apply(found, 'deleteRequested')
    return context.body(null, 200)
  })
}

/** The subscriptions of all users. A user sees only that user's (section 4, rule 2). */
class PortalSubscriptions {
  readonly #clock: Clock
  readonly #silence: Silence
  readonly all: SimulatedSubscription[] = []
  #lastId = 1_000

  constructor(clock: Clock, silence: Silence) {
    this.#clock = clock
    this.#silence = silence
  }

  add(fields: Omit<SimulatedSubscription, 'id' | 'life'>): SimulatedSubscription {
    const subscription = { ...fields, id: this.nextId(), life: beginLife(this.#clock.now()) }
    this.all.push(subscription)
    return subscription
  }

  ofUser(user: number | undefined): readonly SimulatedSubscription[] {
    return this.all.filter(each => each.user === user)
  }

  apply(subscription: SimulatedSubscription, type: LifeInput['type']): void {
    subscription.life = applyLifeInput(subscription.life, { type, at: this.#clock.now() }, this.#silence)
  }

  /** Applies the automatic deletion on demand, without a timer. */
  passTime(): void {
    for (const each of this.all) this.apply(each, 'timePassed')
  }

  nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }
}

function checkRecipient({ destinatarioTipo, destinatarioId }: PortalNotice): void {
  if (recipientIdForms[destinatarioTipo].test(destinatarioId)) return
  const message = `Cannot notify: destinatarioId does not have the format of a ${destinatarioTipo}`
  throw new AverbaError('INVALID_INPUT', message, { hint: 'Give it as in the header: without punctuation' })
}

function isActive({ life }: SimulatedSubscription): boolean {
  return life.state === 'active'
}

/** Parses the day of a failure query, `ddMMyyyy`, to `yyyy-MM-dd`; `undefined` when it is not a day. */
function parseDay(text: string): string | undefined {
  const day = text.replace(/^(\d\d)(\d\d)(\d{4})$/, '$3-$2-$1')
  const date = new Date(`${day}T00:00:00Z`)
  const isDay = day !== text && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
  return isDay ? day : undefined
}

function parseJsonBody(context: Context): Promise<unknown> {
  return context.req.json().catch(() => undefined)
}

/** Answers the portal's publicly known error body; the contract shows none. */
function portalError(context: Context, status: 401 | 404 | 422, code: string, message: string): Response {
  return context.json({ code, message }, status)
}

/** The users of the simulated portal: their headers, and the recipients whom they represent. */
class SimulatedUsers {
  readonly #users: readonly PortalUser[]
  readonly #authentication: PortalPolicies['authentication']
  readonly #session: SimulatedSession

  constructor(
    users: readonly PortalUser[],
    authentication: PortalPolicies['authentication'],
    session: SimulatedSession,
  ) {
    this.#users = users
    this.#authentication = authentication
    this.#session = session
  }

  /** The number of the user who makes a call; `undefined` for an unknown caller. */
  find(context: Context): number | undefined {
    const given = context.req.raw.headers
    if (this.#authentication === 'none') return 0
    if (this.#authentication === 'session') return this.#session.isKnown(given) ? 0 : undefined
    const found = this.#users.findIndex(({ headers }) => {
      return Object.entries(headers).every(([name, value]) => given.get(name) === value)
    })
    return found < 0 ? undefined : found
  }

  /**
   * Reports whether a user represents a recipient. All representatives of a CNPJ get its notifications (document 3,
   * section 1); a branch has another CNPJ.
   */
  represents(user: number, { tipo, id }: Recipient): boolean {
    const { represents = 'everyone' } = this.#users[user] ?? {}
    return represents === 'everyone' || represents.some(each => each.tipo === tipo && each.id === id)
  }
}
