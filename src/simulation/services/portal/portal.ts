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
import { type SimulatedSubscription, writeListed, writeSubscription } from './subscription.ts'
import { beginLife, type LifeInput, live } from './subscription-life.ts'

/**
 * The webhook portal as document 3 describes it: five operations, deliveries, failure records, and the
 * automatic deletion. What it does not show is a policy of docs/unspecified.md.
 */
export interface PortalSimulator {
  fetch(request: Request): Promise<Response>
  /** Delivers an event to every active subscription for it whose user represents the recipient. */
  notify(notice: PortalNotice): Promise<DeliveryResult[]>
  /** Where the policy `authentication` is `session`: how often somebody logged in, and a way to end it. */
  readonly session: { readonly logins: number; end(): void }
  /** What happened to deliveries so far. */
  readonly deliveries: { readonly succeeded: number; readonly failed: number }
}

interface PortalServiceOptions {
  readonly clock: Clock
  readonly entropy: Entropy
  readonly policies?: PortalPolicies
  /** How notifications leave. */
  readonly deliver: Deliver
  /** Counts the 3500 ms of a delivery; `clock` by default. */
  readonly timer?: Clock
  /** The headers that a call of the first user must carry; none by default. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Makes a portal without subscriptions. */
export function simulatePortal(options: PortalServiceOptions): PortalSimulator {
  const { clock, entropy, deliver, timer = clock, headers = {}, policies = {} } = options
  const {
    authentication = 'headers',
    olderTokens = 'accept',
    represents = 'everyone',
    users: others = [],
    duplicateEvent = 'refuse',
    omittedFields = 'clear',
    differingId = 'refuse',
    silence = 'keep',
  } = policies
  const subscriptions: SimulatedSubscription[] = []
  const users = new SimulatedUsers([{ headers, represents }, ...others])
  const deliveries = new SimulatedDeliveries({ clock, timer, deliver, nextId, policies })
  let lastId = 1_000

  const app = new Hono()
  const path = '/portal/api/ext/webhook'

  const session = new SimulatedSession(clock, entropy, olderTokens)
  if (authentication === 'session') {
    app.post('/portal/api/autenticar', context => session.logIn(context.req.raw))
    app.post('/portal/api/autenticar/chave-acesso', context => session.logInWithKeys(context.req.raw))
  }

  app.use(async (context, next) => {
    if (userOf(context.req.raw.headers) === undefined)
      return refuse(context, 401, 'PUCX-ER0201', 'Não autenticado')
    passTime()
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
    const subscription = {
      id: nextId(),
      user: userOf(context.req.raw.headers) ?? 0,
      evento,
      endpoint,
      chaveSecreta,
      chaveAutenticacao,
      life: beginLife(clock.now()),
    }
    subscriptions.push(subscription)
    return context.json(writeSubscription(subscription))
  })
  app.get(path, context => {
    const showsDeleted = context.req.query('exibirInativos') === 'true'
    return context.json(
      ownOf(context)
        .filter(each => showsDeleted || isActive(each))
        .map(writeListed),
    )
  })
  app.get(`${path}/falhas`, context => {
    const data = context.req.query('data')
    const day = data === undefined ? brasiliaDay(clock.now()) : readDay(data)
    if (day === undefined) return refuse(context, 422, 'DATA', 'Use uma data, ddMMyyyy')
    return context.json(deliveries.failuresOf(userOf(context.req.raw.headers), day))
  })
  app.put(`${path}/:id`, async context => {
    const found = ownOf(context).find(each => isActive(each) && String(each.id) === context.req.param('id'))
    if (!found) return refuse(context, 404, 'ASSINATURA', 'Assinatura não encontrada')
    const parsed = changeRequestSchema.safeParse(await bodyOf(context))
    if (!parsed.success || !isOf(found, parsed.data)) return refuse(context, 422, 'CAMPO', 'Campo inválido')
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
  app.delete(`${path}/:id`, async context => {
    const found = ownOf(context).find(each => isActive(each) && String(each.id) === context.req.param('id'))
    if (!found) return refuse(context, 404, 'ASSINATURA', 'Assinatura não encontrada')
    const parsed = deleteRequestSchema.safeParse(await bodyOf(context))
    if (!parsed.success || !isOf(found, parsed.data)) return refuse(context, 422, 'CAMPO', 'Campo inválido')
    happen(found, 'deleteRequested')
    return context.body(null, 200)
  })

  /** The id is in the path and in a JSON field (section 4). */
  function isOf(found: SimulatedSubscription, { id }: { id: number }): boolean {
    return id === found.id || differingId === 'path'
  }

  /** The number of the user that headers belong to; `undefined` for a stranger. */
  function userOf(given: Headers): number | undefined {
    if (authentication === 'none') return 0
    if (authentication === 'session') return session.isKnown(given) ? 0 : undefined
    return users.find(given)
  }

  /** Section 4, rule 2: a user sees the subscriptions of that user. */
  function ownOf(context: Context): SimulatedSubscription[] {
    const user = userOf(context.req.raw.headers)
    return subscriptions.filter(each => each.user === user)
  }

  function happen(subscription: SimulatedSubscription, type: LifeInput['type']): void {
    subscription.life = live(subscription.life, { type, at: clock.now() }, silence)
  }

  /** The automatic deletion is worked out on demand, so no timer is needed. */
  function passTime(): void {
    for (const each of subscriptions) happen(each, 'timePassed')
  }

  function nextId(): number {
    lastId += 1
    return lastId
  }

  return {
    session,
    deliveries: deliveries.counts,
    fetch: async request => app.fetch(request),
    async notify(notice) {
      checkRecipient(notice)
      passTime()
      const recipient = { tipo: notice.destinatarioTipo, id: notice.destinatarioId }
      const concerned = subscriptions.filter(each => {
        return isActive(each) && each.evento === notice.evento && users.represents(each.user, recipient)
      })
      return Promise.all(concerned.map(each => deliveries.deliverTo(each, notice)))
    },
  }
}

function checkRecipient({ destinatarioTipo, destinatarioId }: PortalNotice): void {
  if (recipientIdForms[destinatarioTipo].test(destinatarioId)) return
  const cannot = `Cannot notify: destinatarioId has not the form of a ${destinatarioTipo}`
  throw new AverbaError('INVALID_INPUT', cannot, {
    hint: 'Give it as the header has it: without punctuation',
  })
}

function isActive({ life }: SimulatedSubscription): boolean {
  return life.state === 'active'
}

/** Reads a day of the failure query, `ddMMyyyy`, as `yyyy-MM-dd`; `undefined` when there is no such day. */
function readDay(text: string): string | undefined {
  const day = text.replace(/^(\d\d)(\d\d)(\d{4})$/, '$3-$2-$1')
  const date = new Date(`${day}T00:00:00Z`)
  const isDay = day !== text && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
  return isDay ? day : undefined
}

function bodyOf(context: Context): Promise<unknown> {
  return context.req.json().catch(() => undefined)
}

/** The portal's error body as publicly known; the contract shows none. */
function refuse(context: Context, status: 401 | 404 | 422, code: string, message: string): Response {
  return context.json({ code, message }, status)
}

/** The users of the simulated portal: who calls, and whose notifications each of them gets. */
class SimulatedUsers {
  readonly #users: readonly PortalUser[]

  constructor(users: readonly PortalUser[]) {
    this.#users = users
  }

  /** The number of the user whose headers a call carries; `undefined` for a stranger. */
  find(given: Headers): number | undefined {
    const found = this.#users.findIndex(({ headers }) => {
      return Object.entries(headers).every(([name, value]) => given.get(name) === value)
    })
    return found < 0 ? undefined : found
  }

  /**
   * Reports whether a user represents a recipient. Notifications go to all representatives of a CNPJ
   * (document 3, section 1); a branch is another CNPJ.
   */
  represents(user: number, { tipo, id }: Recipient): boolean {
    const { represents = 'everyone' } = this.#users[user] ?? {}
    return represents === 'everyone' || represents.some(each => each.tipo === tipo && each.id === id)
  }
}
