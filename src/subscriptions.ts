import { brasiliaDay } from './adapters/brasilia.ts'
import type { ListedFailure, ListedSubscription, Secrets } from './adapters/portal/protocol.ts'
import type { Falha } from './adapters/portal/wire.ts'
import type { Area } from './area.ts'
import { fromInstant } from './clock.ts'
import type { Delivery, Target } from './decisions.ts'
import type { Desired } from './desired.ts'
import { AverbaError } from './errors.ts'
import type { Carried, Instant } from './message.ts'
import { type Outcome, valueOf } from './outcome.ts'
import { type Change, type ListedAtPortal, makePlan, type Plan } from './plan.ts'
import type { FailureRow } from './views/failures.ts'
import type { SubscriptionRow } from './views/subscriptions.ts'

/** A subscription at the portal (document 3, section 2), without its secrets. */
export interface Subscription {
  /** The portal's id; null while it has none. */
  readonly id: number | null
  readonly evento: string
  readonly endpoint: string
  readonly state: SubscriptionRow['state']
  readonly health: SubscriptionRow['health']
  /** Failed deliveries that are known since it was registered or last recovered. */
  readonly failures: number
  readonly deletedBy: 'us' | 'portal' | null
  readonly dataExclusao: Instant | null
  readonly motivoExclusao: string | null
}

/** A failed delivery as the portal recorded it (document 3, section 2), content included. */
export interface Failure extends Pick<Falha, 'id' | 'descricao' | 'evento' | 'conteudo'> {
  readonly data: Instant | null
}

/** The portal's subscriptions, kept in step with the option `subscriptions` (document 3). */
export interface Subscriptions {
  /** Lists at the portal and shows what would have to change. Changes nothing there. */
  plan(): Promise<Plan>
  /**
   * Makes the changes of this very plan.
   *
   * @throws {AverbaError} `STALE_PLAN` when the portal or the options have changed since, `PLAN_DELETES`
   * when it deletes and `deletions` is not `allow`
   */
  apply(plan: Plan, options?: { deletions?: 'refuse' | 'allow' }): Promise<Outcome<Subscription>[]>
  /** Our subscriptions as last known, the deleted ones only when asked for. */
  list(options?: { inactive?: boolean }): Promise<Subscription[]>
  /** Reads the failure records of a day in Brasilia (`yyyy-MM-dd`, today by default) and returns them. */
  failures(options?: { day?: string }): Promise<Failure[]>
}

const portalStream = 'portal-main'

/** Makes the area `subscriptions`. */
export function createSubscriptions(area: Area, desired: Desired): Subscriptions {
  const { commands, store, views } = area

  async function plan(): Promise<Plan> {
    area.require('portal')
    const outcome = await commands.send(
      { method: 'subscriptions.plan' },
      async () => ({ targets: [{ stream: portalStream, message: { type: 'portal.list', data: {} } }] }),
      {},
      async ended => (await store.open(`${ended.id}/list`)) as ListedAtPortal[], // Sealed below.
    )
    const listed = valueOf(outcome)
    const rows = await views.selectFrom('subscriptions').select('remote_id').execute()
    const ours = new Set(rows.map(row => row.remote_id).filter(id => id !== null))
    const wanted = desired.all.map(async ({ evento, endpoint }) => {
      return { evento, endpoint, secrets: digestOf(area, await desired.secretsOf(evento)) }
    })
    return makePlan(await Promise.all(wanted), listed, ours)
  }

  async function rowOf(evento: string): Promise<SubscriptionRow | undefined> {
    return views.selectFrom('subscriptions').selectAll().where('evento', '=', evento).executeTakeFirst()
  }

  /** The stream of an event's subscription, and what declares it when it is new. */
  async function declare(evento: string, endpoint: string): Promise<Delivery & { stream: string }> {
    const known = await store.lookUp('subscription', evento)
    if (known !== undefined) return { stream: `subscription-${known}`, targets: [] }
    const subscription = area.createId()
    const stream = `subscription-${subscription}`
    const message = { type: 'subscription.declare', data: { subscription, evento, endpoint } }
    const claim = { kind: 'subscription', digest: store.digest('subscription', evento), value: subscription }
    return { stream, targets: [{ stream, message }], claims: [claim] }
  }

  async function make(change: Change): Promise<Outcome<Subscription>> {
    const { action, evento, endpoint } = change
    const verbs = { create: 'register', change: 'change', delete: 'delete' } as const
    const verb = verbs[action as keyof typeof verbs] // The others do not come here.
    const message = { type: `subscription.${verb}`, data: verb === 'delete' ? {} : { endpoint } }
    return commands.send(
      { method: `subscriptions.${action}`, evento, endpoint },
      async () => {
        const { stream, targets, claims = [] } = await declare(evento, endpoint)
        return { targets: [...targets, { stream, message }], claims }
      },
      {},
      () => subscriptionOf(evento),
    )
  }

  /** Takes over what the portal lists already: nothing is owed to the outside. */
  async function adopt({ evento, endpoint }: Change, remoteId: number): Promise<Outcome<Subscription>> {
    const reading = {
      remoteId,
      endpoint,
      areSecretsOurs: true,
      isDeleted: false,
      deletedAt: null,
      lastSuccessAt: null,
    }
    const handled = await commands.record({ method: 'subscriptions.adopt', evento, remoteId }, async () => {
      const { stream, targets, claims = [] } = await declare(evento, endpoint)
      return {
        targets: [...targets, { stream, message: { type: 'subscription.adopt', data: reading } }],
        claims,
      }
    })
    const { position, effect, replayed } = handled
    return { position, effect, replayed, status: 'settled', value: await subscriptionOf(evento) }
  }

  async function subscriptionOf(evento: string): Promise<Subscription> {
    const row = await rowOf(evento)
    if (!row) throw new TypeError(`The subscription to "${evento}" is not in its view`)
    return toSubscription(row)
  }

  async function toSubscription(row: SubscriptionRow): Promise<Subscription> {
    const { evento, endpoint, state, health, failures } = row
    const reason = row.reason === null ? undefined : await store.open(row.reason)
    return {
      id: row.remote_id,
      evento,
      endpoint,
      state,
      health,
      failures,
      deletedBy: row.deleted_by,
      dataExclusao: row.deleted_at,
      motivoExclusao: typeof reason === 'string' ? reason : null,
    }
  }

  async function toFailure(row: FailureRow): Promise<Failure> {
    const { id, descricao, evento, conteudo } = (await store.open(row.record)) as Falha // Sealed below.
    return { id, data: row.failed_at, descricao, evento, conteudo }
  }

  return {
    plan,
    async apply(given, { deletions = 'refuse' } = {}) {
      if (deletions !== 'allow' && given.changes.some(change => change.action === 'delete')) {
        throw new AverbaError('PLAN_DELETES', 'Cannot apply the plan: it deletes subscriptions', {
          hint: "Look at it once more, then pass { deletions: 'allow' }",
        })
      }
      const now = await plan()
      if (now.hash !== given.hash) {
        throw new AverbaError(
          'STALE_PLAN',
          'Cannot apply the plan: the portal or the options have changed since',
          {
            hint: 'Make a new plan',
          },
        )
      }
      const outcomes: Outcome<Subscription>[] = []
      for (const change of given.changes) {
        if (change.action === 'leave') continue
        const remoteId = change.action === 'adopt' ? await remoteIdOf(area, change) : undefined
        outcomes.push(remoteId === undefined ? await make(change) : await adopt(change, remoteId))
      }
      return outcomes
    },
    async list({ inactive = false } = {}) {
      const rows = await views.selectFrom('subscriptions').selectAll().orderBy('subscription').execute()
      return Promise.all(rows.filter(row => inactive || row.state !== 'deleted').map(toSubscription))
    },
    async failures({ day } = {}) {
      area.require('portal')
      if (day !== undefined && !/^\d{4}-\d{2}-\d{2}$/.test(day)) {
        throw new AverbaError('INVALID_INPUT', 'Cannot read failures: the day is not a date', {
          hint: 'Use yyyy-MM-dd',
        })
      }
      const message = { type: 'portal.listFailures', data: { day: day ?? null } }
      const deliver = async () => ({ targets: [{ stream: portalStream, message }] })
      valueOf(
        await commands.send(
          { method: 'subscriptions.failures', day: day ?? null },
          deliver,
          {},
          async () => undefined,
        ),
      )
      const wanted = day ?? brasiliaDay(area.clock.now())
      const rows = await views.selectFrom('failures').selectAll().orderBy('failure').execute()
      const ofDay = rows.filter(
        row => row.failed_at !== null && brasiliaDay(fromInstant(row.failed_at)) === wanted,
      )
      return Promise.all(ofDay.map(toFailure))
    },
  }
}

/** The portal's id of the subscription that a plan adopts, from the list that the plan was made of. */
async function remoteIdOf(area: Area, { evento, endpoint }: Change): Promise<number | undefined> {
  const [listed] = await area.store.read({
    stream: portalStream,
    types: ['portal.listed'],
    backward: true,
    limit: 1,
  })
  const list = listed && (await area.store.open(`${listed.id}/list`))
  const rows = (list ?? []) as ListedAtPortal[] // Sealed below.
  return rows.find(row => row.evento === evento && row.endpoint === endpoint && !row.isDeleted)?.remoteId
}

/** Stands for a pair of secrets: comparable, and of no use to anyone without the keyring. */
function digestOf(area: Area, { chaveSecreta = '', chaveAutenticacao = '' }: Secrets): string {
  return Buffer.from(area.store.digest('secrets', `${chaveSecreta}\0${chaveAutenticacao}`)).toString('hex')
}

/** Tells each of our subscriptions what the portal's list says of it. Secrets end here. */
export async function routeSubscriptions(area: Area, desired: Desired, fact: Carried): Promise<Delivery> {
  const { list } = fact.data as { list: readonly ListedSubscription[] } // As the client reads it.
  const rows = await area.views.selectFrom('subscriptions').selectAll().execute()
  const targets: Target[] = []
  for (const row of rows) {
    const listed = list.find(each => each.remoteId === row.remote_id)
    if (listed)
      targets.push({ stream: row.subscription, message: await observation(area, desired, row, listed) })
    else targets.push({ stream: row.subscription, message: await adoption(area, desired, row, list) })
  }
  const plain: ListedAtPortal[] = list.map(({ remoteId, evento, endpoint, secrets, isDeleted }) => {
    return { remoteId, evento, endpoint, secrets: digestOf(area, secrets), isDeleted }
  })
  const deleted = list.filter(each => each.isDeleted).length
  const parts = { list: { owner: portalStream, value: plain } }
  const data = { active: list.length - deleted, deleted }
  const message = { type: 'portal.subscriptionsListed', data, parts }
  return { targets: [...targets, { stream: portalStream, message }] }
}

async function observation(
  area: Area,
  desired: Desired,
  row: SubscriptionRow,
  listed: ListedSubscription,
): Promise<Carried> {
  const { remoteId, endpoint, secrets, isDeleted, deletedAt, lastSuccessAt, reason } = listed
  const areSecretsOurs = digestOf(area, secrets) === digestOf(area, await desired.secretsOf(row.evento))
  return {
    type: 'subscription.observe',
    data: { remoteId, endpoint, areSecretsOurs, isDeleted, deletedAt, lastSuccessAt },
    ...(reason !== null && { parts: { reason: { owner: row.subscription, value: reason } } }),
  }
}

/** A registration whose answer was lost is found again by its content, or is certainly not there. */
async function adoption(
  area: Area,
  desired: Desired,
  row: SubscriptionRow,
  list: readonly ListedSubscription[],
): Promise<Carried> {
  const secrets = digestOf(area, await desired.secretsOf(row.evento))
  const same = list.find(each => {
    const isAlike = each.evento === row.evento && each.endpoint === row.endpoint && !each.isDeleted
    return row.state === 'registering' && isAlike && digestOf(area, each.secrets) === secrets
  })
  if (!same) return { type: 'subscription.miss', data: {} }
  const { remoteId, endpoint, isDeleted, deletedAt, lastSuccessAt } = same
  return {
    type: 'subscription.adopt',
    data: { remoteId, endpoint, areSecretsOurs: true, isDeleted, deletedAt, lastSuccessAt },
  }
}

/** Sends each failure record to the subscription for its event; those of others are kept too. */
export async function routeFailures(area: Area, fact: Carried): Promise<Delivery> {
  const { failures } = fact.data as { failures: readonly ListedFailure[] } // As the client reads it.
  const targets: Target[] = []
  const claims = []
  for (const { remoteId, evento, failedAt, record } of failures) {
    const failure = area.createId()
    const known = await area.store.lookUp('subscription', evento)
    const stream = known === undefined ? portalStream : `subscription-${known}`
    const parts = { failure: { owner: stream, value: record } }
    if (known !== undefined) {
      const data = { failure, remoteId, failedAt, evento }
      targets.push({ stream, message: { type: 'subscription.observeFailure', data, parts } })
    } else if ((await area.store.lookUp('failure', String(remoteId))) === undefined) {
      claims.push({ kind: 'failure', digest: area.store.digest('failure', String(remoteId)), value: failure })
      const data = { failure, evento, failedAt }
      targets.push({ stream, message: { type: 'portal.observeForeignFailure', data, parts } })
    }
  }
  const message = { type: 'portal.failuresListed', data: { read: failures.length } }
  return { targets: [...targets, { stream: portalStream, message }], claims }
}
