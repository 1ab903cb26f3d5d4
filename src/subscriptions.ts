import { brasiliaDay, readIso } from './adapters/brasilia.ts'
import type { Falha } from './adapters/portal/wire.ts'
import type { Area } from './area.ts'
import { fromInstant } from './clock.ts'
import type { Delivery } from './decisions.ts'
import type { Desired } from './desired.ts'
import { AverbaError } from './errors.ts'
import type { Instant } from './message.ts'
import { type Outcome, valueOf } from './outcome.ts'
import { type Change, type ListedAtPortal, makePlan, type Plan } from './plan.ts'
import { type AnsweredFailure, digestOf, portalStream } from './subscription-routes.ts'
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
  /**
   * Reads the failure records of a day in Brasilia (`yyyy-MM-dd`) and returns them. Without a day the portal
   * decides by its own clock which day it is.
   */
  failures(options?: { day?: string }): Promise<Failure[]>
}

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
    return { stream, targets: [{ stream, message, isNew: true }], claims: [claim] }
  }

  async function make(
    verb: 'register' | 'change' | 'delete',
    change: Change,
  ): Promise<Outcome<Subscription>> {
    const { evento, endpoint } = change
    const message = { type: `subscription.${verb}`, data: verb === 'delete' ? {} : { endpoint } }
    return commands.send(
      { method: `subscriptions.${verb}`, evento, endpoint },
      async () => {
        const { stream, targets, claims = [] } = await declare(evento, endpoint)
        return { targets: [...targets, { stream, message }], claims }
      },
      {},
      () => subscriptionOf(evento),
    )
  }

  /** Makes one change of a plan; nothing for what is left alone. */
  async function carryOut(change: Change): Promise<Outcome<Subscription> | undefined> {
    switch (change.action) {
      case 'create':
        return make('register', change)
      case 'change':
      case 'delete':
        return make(change.action, change)
      case 'adopt':
        return adopt(change, await remoteIdOf(area, change))
      case 'leave':
        return undefined
    }
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

  /** The failures that an answer had. Our clock says nothing about the day that the portal meant. */
  async function thoseOf(answered: readonly AnsweredFailure[], rows: readonly FailureRow[]) {
    const ids = new Set(answered.map(each => each.remoteId))
    // Only what failed when one of them failed needs to be opened.
    const times = new Set(answered.map(each => each.failedAt))
    const candidates = await Promise.all(rows.filter(row => times.has(row.failed_at)).map(toFailure))
    return candidates.filter(each => ids.has(each.id))
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
        const outcome = await carryOut(change)
        if (outcome) outcomes.push(outcome)
      }
      return outcomes
    },
    async list({ inactive = false } = {}) {
      const rows = await views.selectFrom('subscriptions').selectAll().orderBy('subscription').execute()
      return Promise.all(rows.filter(row => inactive || row.state !== 'deleted').map(toSubscription))
    },
    async failures({ day } = {}) {
      area.require('portal')
      if (day !== undefined && !isDay(day)) {
        throw new AverbaError('INVALID_INPUT', 'Cannot read failures: the day is not a date', {
          hint: 'Use yyyy-MM-dd',
        })
      }
      const message = { type: 'portal.listFailures', data: { day: day ?? null } }
      const deliver = async () => ({ targets: [{ stream: portalStream, message }] })
      const outcome = await commands.send(
        { method: 'subscriptions.failures', day: day ?? null },
        deliver,
        {},
        async ended => (await store.open(`${ended.id}/answered`)) as unknown as AnsweredFailure[], // Sealed so.
      )
      const answered = valueOf(outcome)
      const rows = await views.selectFrom('failures').selectAll().orderBy('failure').execute()
      return day === undefined
        ? thoseOf(answered, rows)
        : Promise.all(rows.filter(row => dayOf(row) === day).map(toFailure))
    },
  }
}

/** The day in Brasilia on which a delivery failed. */
function dayOf({ failed_at }: FailureRow): string | undefined {
  return failed_at === null ? undefined : brasiliaDay(fromInstant(failed_at))
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && readIso(`${text}T00:00:00Z`)?.startsWith(text) === true
}

/** The portal's id of the subscription that a plan adopts, from the list that the plan was made of. */
async function remoteIdOf(area: Area, { evento, endpoint }: Change): Promise<number> {
  const [listed] = await area.store.read({
    stream: portalStream,
    types: ['portal.listed'],
    backward: true,
    limit: 1,
  })
  const list = listed && (await area.store.open(`${listed.id}/list`))
  const rows = (list ?? []) as ListedAtPortal[] // Sealed below.
  const found = rows.find(row => row.evento === evento && row.endpoint === endpoint && !row.isDeleted)
  if (!found) throw new TypeError('A plan adopts what the portal does not list')
  return found.remoteId
}
