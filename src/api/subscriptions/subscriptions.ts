import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import { type AsyncList, lazyList } from '../../runtime/lazy-list.ts'
import type { SubscriptionRow } from '../../views/subscriptions.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import { portalStream, streamOf } from '../../vocabulary/names.ts'
import { type CommandOptions, type Outcome, valueOf } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import type { DeclaredSubscriptions } from './declared-subscriptions.ts'
import { createFailures, type Failures, readPast } from './failures/failures.ts'
import { type ListedAtPortal, makePlan, type Plan, type PlannedChange } from './plan.ts'
import { addressedTo } from './portal-address.ts'
import { digestOf, subscriptionRows, unreadableIn } from './routes.ts'
import { type Subscription, showSubscription } from './subscription.ts'

/** What applying a plan may do, beyond creating, adopting and changing what is ours. */
export interface ApplyOptions {
  readonly deletions?: 'refuse' | 'allow'
  /** Makes subscriptions to declared events ours, whoever made them. */
  readonly takeOver?: boolean
}

/** What became of one change of a plan. What we refuse is `declined` too, with the code of our error. */
export type ApplyResult = Outcome<Subscription> & { readonly change: PlannedChange }

/** The portal's subscriptions, kept in step with the option `subscriptions` (document 3). */
export interface Subscriptions extends Failures {
  /**
   * Lists at the portal and shows what would have to change. Changes nothing there. A subscription is ours when this
   * log made it, adopted it or took it over; what matches a declared one in event, endpoint and secrets is adopted;
   * every other one is foreign, and left alone.
   */
  plan(): Promise<Plan>
  /**
   * Makes the changes of this very plan. Each ends by itself: one that is declined or refused stops no other.
   *
   * @throws {AverbaError} `STALE_PLAN` when the portal or the options have changed since, `PLAN_DELETES`
   * when it deletes and `deletions` is not `allow`
   */
  apply(plan: Pick<Plan, 'hash'>, options?: ApplyOptions): Promise<ApplyResult[]>
  /**
   * Gives an event the next generation of its derived secret. The receiver takes both while the portal changes, and the
   * old one for an hour after it has.
   *
   * @throws {AverbaError} `REFUSED` when its secret is given and not derived, it is not active, or the portal was last
   * seen with another endpoint or event than is declared: plan and apply first
   */
  rotate(evento: string, commandOptions?: CommandOptions): Promise<Outcome<Subscription>>
  /** Our subscriptions as last known, the oldest first, the deleted ones only when asked for. */
  list(options?: { inactive?: boolean }): AsyncList<Subscription>
}

/** What the portal lists, and what would have to change. */
interface PortalComparison {
  readonly plan: Plan
  readonly listed: readonly ListedAtPortal[]
  readonly unreadable: readonly (number | null)[]
}

const pageRows = 100

/** Makes the area `subscriptions`. */
export function createSubscriptions(context: ApiContext, desired: DeclaredSubscriptions): Subscriptions {
  const { commands, rows, store } = context

  function listAtPortal(): Promise<Outcome<Pick<PortalComparison, 'listed' | 'unreadable'>>> {
    return commands.send(
      { method: 'subscriptions.plan' },
      async () => {
        const message = { type: 'portal.list', data: addressedTo(context.options.portal) }
        return { targets: [{ stream: portalStream, message }] }
      },
      {},
      async ended => ({
        listed: (await store.open(`${ended.id}/list`)) as ListedAtPortal[], // Sealed so by the router.
        unreadable: await unreadableIn(context, ended),
      }),
    )
  }

  /** A plan, and the list that it was made of. */
  async function look(): Promise<PortalComparison> {
    context.require('portal')
    const { listed, unreadable } = valueOf(await listAtPortal())
    const held = await subscriptionRows(context)
    const ours = new Map(
      held.flatMap(row => (row.remote_id === null ? [] : [[row.remote_id, row.evento] as const])),
    )
    const wanted = desired.all.map(async ({ evento, endpoint, recreate }) => {
      const generation = await desired.generationOf(evento)
      const secrets = digestOf(context, await desired.secretsOf(evento, { endpoint, generation }))
      const row = held.find(each => each.evento === evento)
      const isGivenUp = recreate === 'announce' && row?.state === 'deleted' && row.deleted_by === 'portal'
      return { evento, endpoint, secrets, generation, isGivenUp }
    })
    const plan = makePlan(await Promise.all(wanted), listed, ours, unreadable)
    return { plan, listed, unreadable }
  }

  /** The stream of an event's subscription, with the message that declares it when it is new. */
  async function declare(evento: string, endpoint: string): Promise<DecisionRequest & { stream: string }> {
    const known = await store.lookUp('subscription', evento)
    if (known !== undefined) return { stream: streamOf('subscription', known), targets: [] }
    const subscription = context.createId()
    const stream = streamOf('subscription', subscription)
    const message = { type: 'subscription.declare', data: { subscription, evento, endpoint } }
    const claim = { kind: 'subscription', digest: store.digest('subscription', evento), value: subscription }
    return { stream, targets: [{ stream, message, isNew: true }], claims: [claim] }
  }

  function make(
    verb: 'register' | 'change' | 'delete' | 'rotate',
    { evento, endpoint }: Pick<PlannedChange, 'evento' | 'endpoint'>,
    commandOptions: CommandOptions = {},
    follows = false,
  ): Promise<Outcome<Subscription>> {
    const data = { endpoint, ...(follows && { follows }) }
    const message = { type: `subscription.${verb}`, data: verb === 'delete' ? {} : data }
    return commands.send(
      { method: `subscriptions.${verb}`, evento, endpoint },
      async () => {
        const { stream, targets, claims = [] } = await declare(evento, endpoint)
        const past = follows ? [await readPast(context)] : []
        return { targets: [...targets, { stream, message }, ...past], claims }
      },
      commandOptions,
      () => subscriptionOf(evento),
    )
  }

  /** Makes one change of a plan. */
  async function carryOut(
    change: PlannedChange,
    listed: readonly ListedAtPortal[],
  ): Promise<Outcome<Subscription>> {
    const found = listed.find(each => each.remoteId === change.id)
    if (change.isTaken && found) {
      await adopt('takeOver', change, found)
      return make('change', change)
    }
    if (change.action === 'adopt' && found) return adopt('adopt', change, found)
    if (change.action === 'delete' || change.action === 'change') return make(change.action, change)
    // What an earlier one lost, perhaps another log's, is lost to this one too.
    const follows = listed.some(each => each.isDeleted && each.evento === change.evento)
    return make('register', change, {}, follows)
  }

  /** Makes ours what the portal lists already: nothing is owed to the outside. */
  async function adopt(
    verb: 'adopt' | 'takeOver',
    { evento }: PlannedChange,
    { remoteId, endpoint, generation, lastSuccessAt, registeredAt }: ListedAtPortal,
  ): Promise<Outcome<Subscription>> {
    const seen = {
      remoteId,
      evento,
      endpoint,
      generation,
      isDeleted: false,
      deletedAt: null,
      lastSuccessAt,
      registeredAt,
    }
    const data = { ...seen, readAt: toInstant(context.clock.now()) }
    const message = { type: `subscription.${verb}`, data }
    const handled = await commands.record({ method: `subscriptions.${verb}`, evento, remoteId }, async () => {
      const { stream, targets, claims = [] } = await declare(evento, endpoint)
      return { targets: [...targets, { stream, message }, await readPast(context)], claims }
    })
    const { position, effect, replayed } = handled
    return { position, effect, replayed, status: 'settled', value: await subscriptionOf(evento) }
  }

  async function subscriptionOf(evento: string): Promise<Subscription> {
    const known = await store.lookUp('subscription', evento)
    const row =
      known === undefined ? undefined : await rows.find('subscriptions', streamOf('subscription', known))
    if (!row) throw new TypeError(`The subscription to "${evento}" is not in its view`)
    return toSubscription(row)
  }

  async function toSubscription(row: SubscriptionRow): Promise<Subscription> {
    const reason = row.reason === null ? undefined : await store.open(row.reason)
    return showSubscription(row, reason, context.clock.now())
  }

  async function* pagesOf(inactive: boolean) {
    const wanted = (await subscriptionRows(context)).filter(row => inactive || row.state !== 'deleted')
    for (let from = 0; from < wanted.length; from += pageRows)
      yield await Promise.all(wanted.slice(from, from + pageRows).map(toSubscription))
  }

  return {
    plan: async () => (await look()).plan,
    async apply(given, { deletions = 'refuse', takeOver = false } = {}) {
      const { plan, listed } = await look()
      if (plan.hash !== given.hash) {
        const cannot = 'Cannot apply the plan: the portal or the options have changed since'
        throw new AverbaError('STALE_PLAN', cannot, {
          hint: 'Make a new plan: averba plan, or subscriptions.plan()',
        })
      }
      if (deletions !== 'allow' && plan.changes.some(change => change.action === 'delete')) {
        throw new AverbaError('PLAN_DELETES', 'Cannot apply the plan: it deletes subscriptions', {
          hint: "Look at it once more, then pass { deletions: 'allow' }, or --allow-deletions",
        })
      }
      const applied: ApplyResult[] = []
      for (const change of plan.changes) {
        if (change.action === 'leave' && !(change.isTaken && takeOver)) continue
        applied.push({ change, ...(await carryOut(change, listed).catch(refused)) })
      }
      return applied
    },
    async rotate(evento, commandOptions = {}) {
      context.require('portal')
      const declared = desired.all.find(each => each.evento === evento)
      if (!declared || !desired.isDerived(evento)) {
        throw new AverbaError('REFUSED', 'Cannot rotate: the secret of this event is not derived', {
          hint: 'Change a given secret where it comes from, then plan and apply. To derive it: receiver.secretFrom',
        })
      }
      return make('rotate', declared, commandOptions)
    },
    list: ({ inactive = false } = {}) => lazyList(() => pagesOf(inactive)),
    ...createFailures(context, listAtPortal),
  }
}

/** A refused change, as when another process is at it, leaves the others alone. */
function refused(error: unknown): Outcome<Subscription> {
  if (!(error instanceof AverbaError) || !['REFUSED', 'CONFLICT', 'MISCONFIGURED'].includes(error.code))
    throw error
  const problem = { status: 0, code: error.code, title: error.message }
  return { position: 0, effect: '', replayed: false, status: 'declined', problem }
}
