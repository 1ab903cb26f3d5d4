import { type Context, Hono } from 'hono'
import type { z } from 'zod'
import {
  changeRequestSchema,
  deleteRequestSchema,
  recipientIdForms,
  subscribeRequestSchema,
} from '../../../adapters/portal/wire.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { brasiliaDay } from '../../../vocabulary/brasilia.ts'
import { AverbaError } from '../../../vocabulary/errors.ts'
import type { Memory } from '../memory.ts'
import { refuseOtherMethods } from '../other-methods.ts'
import type { PortalPolicies, ServiceOptions } from '../policies.ts'
import { createDeliveries, type Deliver, type DeliveryResult, type PortalNotice } from './deliveries.ts'
import { createSession } from './session.ts'
import {
  applyLifeInput,
  beginLife,
  type LifeInput,
  type SimulatedSubscription,
  toAssinatura,
  toAssinaturaListada,
} from './subscription.ts'

interface PortalServiceOptions extends ServiceOptions<PortalPolicies> {
  readonly deliver: Deliver
  /** Measures the 3500 ms of a delivery; `clock` by default. */
  readonly timer?: Clock
  /** The headers of the first user's calls; none by default. */
  readonly headers?: Readonly<Record<string, string>>
}

const path = '/portal/api/ext/webhook'

/** An app whose requests know their user: the number in the list of users. */
type PortalApp = Hono<{ Variables: { user: number } }>
type PortalContext = Context<{ Variables: { user: number } }>

/** The webhook portal of document 3: operations, deliveries, failure records, and the automatic deletion. */
export type PortalSimulator = ReturnType<typeof simulatePortal>

/** Creates a portal without subscriptions. What document 3 does not show is a policy of docs/unspecified.md. */
export function simulatePortal(options: PortalServiceOptions) {
  const { clock, memory, deliver, timer = clock, headers = {}, policies = {} } = options
  const { authentication = 'headers', represents = 'everyone', users: otherUsers = [] } = policies
  const session = createSession(options, policies.olderTokens ?? 'accept')
  const users = [{ headers, represents }, ...otherUsers]
  const subscriptions = createSubscriptions(clock, memory, policies)
  const deliveries = createDeliveries({ clock, timer, memory, deliver, nextId: subscriptions.nextId, policies })
  /** The number of the user who makes a call, or -1 for an unknown caller. */
  const findUser = ({ headers: given }: Request) => {
    if (authentication === 'none') return 0
    if (authentication === 'session') return session.isKnown(given) ? 0 : -1
    return users.findIndex(each => Object.entries(each.headers).every(([name, value]) => given.get(name) === value))
  }

  const hostSession: Readonly<Pick<typeof session, 'logins' | 'end'>> = session

  const app: PortalApp = new Hono()
  if (authentication === 'session') {
    app.post('/portal/api/autenticar', context => session.logIn(context.req.raw))
    app.post('/portal/api/autenticar/chave-acesso', context => session.logInWithKeys(context.req.raw))
  }
  app.use(async (context, next) => {
    context.set('user', findUser(context.req.raw))
    if (context.get('user') < 0) {
      const refusal = portalError(401, 'PUCX-ER0201', 'Não autenticado')
      refusal.headers.set('www-authenticate', 'Bearer realm="portal"')
      return refusal
    }
    subscriptions.passTime()
    await next()
    if (authentication === 'session') context.res = session.withFreshToken(context.res)
    return undefined
  })
  addCreateAndListRoutes(app, subscriptions, policies)
  addChangeAndDeleteRoutes(app, subscriptions, policies)
  app.get(`${path}/falhas`, context => {
    const data = context.req.query('data')
    const day = data === undefined ? brasiliaDay(clock.now()) : parseDay(data)
    if (day === undefined) return portalError(422, 'DATA', 'Use uma data, ddMMyyyy')
    return context.json(deliveries.failuresOf(context.get('user'), day))
  })
  refuseOtherMethods(app, () => portalError(405, 'METODO', 'Método não permitido'))
  app.notFound(() => portalError(404, 'CAMINHO', 'Caminho desconhecido'))
  return {
    /** For the policy `authentication: 'session'`: the number of logins, and `end` to end the session. */
    session: hostSession,
    deliveries: deliveries.counts,
    fetch: async (request: Request) => app.fetch(request),
    /** Delivers an event to each active subscription for it whose user represents the recipient. */
    async notify(notice: PortalNotice): Promise<DeliveryResult[]> {
      checkRecipient(notice)
      subscriptions.passTime()
      const { evento, destinatarioTipo, destinatarioId } = notice
      // All representatives of a CNPJ get its notifications (document 3, section 1); a branch has another CNPJ.
      const isFor = ({ represents = 'everyone' }: Partial<(typeof users)[number]> = {}) =>
        represents === 'everyone' ||
        represents.some(({ tipo, id }) => tipo === destinatarioTipo && id === destinatarioId)
      const concerned = subscriptions.all.filter(each => {
        return isActive(each) && each.evento === evento && isFor(users[each.user])
      })
      return Promise.all(concerned.map(each => deliveries.deliverTo(each, notice)))
    },
  }
}

function addCreateAndListRoutes(
  app: PortalApp,
  subscriptions: PortalSubscriptions,
  { duplicateEvent = 'refuse' }: PortalPolicies,
): void {
  app.post(path, async context => {
    const { data } = subscribeRequestSchema.safeParse(await parseJsonBody(context))
    if (!data || !fitsHeaders(data)) return portalError(422, 'CAMPO', 'Campo ausente ou inválido')
    const { evento, endpoint, chaveSecreta, chaveAutenticacao } = data
    if (parseSecureUrl(endpoint)?.port !== '') return portalError(422, 'ENDPOINT', 'Use https na porta 443')
    const user = context.get('user')
    if (duplicateEvent === 'refuse' && subscriptions.isTaken(user, evento)) return duplicateError()
    return context.json(toAssinatura(subscriptions.add({ user, evento, endpoint, chaveSecreta, chaveAutenticacao })))
  })
  app.get(path, context => {
    const { exibirInativos = 'false' } = context.req.query()
    if (!/^(true|false)$/.test(exibirInativos)) return portalError(400, 'CAMPO', 'Use true ou false')
    const own = subscriptions.ofUser(context.get('user'))
    const listed = own.filter(each => exibirInativos === 'true' || isActive(each))
    return context.json(listed.map(toAssinaturaListada))
  })
}

function addChangeAndDeleteRoutes(
  app: PortalApp,
  subscriptions: PortalSubscriptions,
  { omittedFields = 'clear', differingId = 'refuse', duplicateEvent = 'refuse' }: PortalPolicies,
): void {
  /** Finds the subscription, and compares the id in the path with the one in the JSON body (section 4). */
  const onOwn =
    <T extends { id: number }>(
      schema: z.ZodType<T>,
      act: (context: PortalContext, found: SimulatedSubscription, body: T) => Response,
    ) =>
    async (context: PortalContext) => {
      const own = subscriptions.ofUser(context.get('user'))
      const found = own.find(each => isActive(each) && String(each.id) === context.req.param('id'))
      if (!found) return portalError(404, 'ASSINATURA', 'Assinatura não encontrada')
      const { data } = schema.safeParse(await parseJsonBody(context))
      if (data && (data.id === found.id || differingId === 'path')) return act(context, found, data)
      return portalError(422, 'CAMPO', 'Campo inválido')
    }
  const change = onOwn(changeRequestSchema, (context, found, data) => {
    const { evento, endpoint, chaveSecreta, chaveAutenticacao } = data
    if (!fitsHeaders(data)) return portalError(422, 'CAMPO', 'Campo inválido')
    // A change requires only HTTPS, not the port (section 4, rule 1).
    if (!parseSecureUrl(endpoint)) return portalError(422, 'ENDPOINT', 'Use https')
    const isTaken = evento !== found.evento && subscriptions.isTaken(context.get('user'), evento)
    if (duplicateEvent === 'refuse' && isTaken) return duplicateError()
    const kept = omittedFields === 'keep' ? found : undefined
    found.evento = evento
    found.endpoint = endpoint
    found.chaveSecreta = chaveSecreta === undefined ? kept?.chaveSecreta : chaveSecreta
    found.chaveAutenticacao = chaveAutenticacao === undefined ? kept?.chaveAutenticacao : chaveAutenticacao
    return context.json({ id: found.id, evento, endpoint })
  })
  const remove = onOwn(deleteRequestSchema, (context, found) => {
    subscriptions.apply(found, 'deleteRequested')
    return context.body(null, 200)
  })
  app.put(`${path}/:id{[0-9]+}`, change)
  app.delete(`${path}/:id{[0-9]+}`, remove)
}

type PortalSubscriptions = ReturnType<typeof createSubscriptions>

/** The subscriptions of all users. A user sees only that user's (section 4, rule 2). */
function createSubscriptions(clock: Clock, memory: Memory, { silence }: PortalPolicies) {
  const all = memory.keep<SimulatedSubscription[]>('subscriptions', [])
  const ids = memory.keep('portalIds', { last: 1_000 })
  const nextId = () => ++ids.last
  const apply = (subscription: SimulatedSubscription, type: LifeInput['type']) => {
    subscription.life = applyLifeInput(subscription.life, { type, at: clock.now() }, silence)
  }
  return {
    all,
    nextId,
    apply,
    add(fields: Omit<SimulatedSubscription, 'id' | 'life'>): SimulatedSubscription {
      const subscription = { ...fields, id: nextId(), life: beginLife(clock.now()) }
      all.push(subscription)
      return subscription
    },
    ofUser: (user: number) => all.filter(each => each.user === user),
    /** Reports whether a user has an active subscription to an event. */
    isTaken: (user: number, evento: string) =>
      all.some(each => each.user === user && isActive(each) && each.evento === evento),
    /** Applies the automatic deletion on demand, without a timer. */
    passTime() {
      for (const each of all) apply(each, 'timePassed')
    },
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

/** Parses an endpoint as document 3 says it, in words of its own: so a mistake of the client is found here. */
function parseSecureUrl(endpoint: string): URL | undefined {
  const [scheme, empty, authority = ''] = endpoint.split(/[/?#]/, 3)
  const isPlain = [...endpoint].every(each => each > ' ' && each < '\x7f' && each !== '\\')
  const isSecure = isPlain && scheme?.toLowerCase() === 'https:' && empty === '' && authority !== ''
  return isSecure && !authority.includes('@') ? (URL.parse(endpoint) ?? undefined) : undefined
}

/** Checks that a notification's headers can carry the event and the keys unchanged. */
function fitsHeaders(request: z.infer<typeof subscribeRequestSchema>): boolean {
  const values = [request.evento, request.chaveSecreta ?? '', request.chaveAutenticacao ?? '']
  try {
    return values.every(value => new Headers({ value }).get('value') === value)
  } catch {
    return false
  }
}

function duplicateError(): Response {
  return portalError(422, 'PLAT-ER9100', 'Já existe uma assinatura para esse evento')
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
function portalError(status: 400 | 401 | 404 | 405 | 422, code: string, message: string): Response {
  return Response.json({ code, message }, { status })
}
