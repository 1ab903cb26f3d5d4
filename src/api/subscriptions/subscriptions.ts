import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import { deletionAfter, wholeDaysUntil } from '../../machines/subscription/health.ts'
import { type AsyncList, lazyList } from '../../runtime/lazy-list.ts'
import { undefinedIfStopped } from '../../store/views/view-reader.ts'
import type { ViewsHandle } from '../../store/views/views-handle.ts'
import type { SubscriptionRow } from '../../views/subscriptions.ts'
import type { Views } from '../../views/views.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { dayMs, fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant, Json } from '../../vocabulary/message.ts'
import { checkKnownNames, portalStream, streamOf } from '../../vocabulary/names.ts'
import { type CommandOptions, type Outcome, valueOf } from '../../vocabulary/outcome.ts'
import { type ApiContext, findStream } from '../api-context.ts'
import { resolveKnownAt } from '../as-of.ts'
import { type ListedAtPortal, ofType, requireAs } from '../events.ts'
import type { DueItem, Figures } from '../module.ts'
import type { DeclaredSubscriptions } from './declared-subscriptions.ts'
import { createFailures, type Failures, requestPastFailures } from './failures/failures.ts'
import { makePlan, type Plan, type PlannedChange } from './plan.ts'
import { addressData } from './portal-address.ts'
import { readUnreadableIds, secretsDigest, subscriptionRows } from './routes.ts'
import type { SubscriptionSecrets } from './secrets/subscription-secrets.ts'

/** What `apply` may do besides creating, adopting and changing our subscriptions. */
export interface ApplyOptions {
  readonly deletions?: 'refuse' | 'allow'
  /** Takes over foreign subscriptions to declared events. */
  readonly takeOver?: boolean
}

/** The outcome of one change of a plan. A change refused by averba is also `declined`, with the code of the error. */
export type ApplyResult = Outcome<Subscription> & { readonly change: PlannedChange }

/** The portal's subscriptions, kept in step with the option `subscriptions` (document 3). */
export interface Subscriptions extends Failures {
  /**
   * Lists the subscriptions at the portal and plans the changes; it changes nothing there. A subscription is ours when
   * this log created it, adopted it or took it over. One that matches a declared event, endpoint and secrets is
   * adopted. Every other one is foreign and left alone.
   */
  plan(): Promise<Plan>
  /**
   * Makes the changes of the plan. Each has its own outcome: a declined or refused change does not stop the others.
   *
   * @throws {AverbaError} `STALE_PLAN` when the portal or the options have changed since, `PLAN_DELETES` when the plan
   * deletes and `deletions` is not `allow`
   */
  apply(plan: Pick<Plan, 'hash'>, options?: ApplyOptions): Promise<ApplyResult[]>
  /**
   * Rotates an event's derived secret to the next generation. The receiver accepts both while the portal changes, and
   * the old one for another hour.
   *
   * @throws {AverbaError} `NOT_FOUND` for an event that is not declared; `REFUSED` when the secret is given and not
   * derived, when the subscription is not active, or when the portal last listed another endpoint or event than
   * declared: plan and apply first
   */
  rotate(evento: string, commandOptions?: CommandOptions): Promise<Outcome<Subscription>>
  /**
   * Our subscriptions, the oldest first; with `inactive`, the deleted ones too. As last known, or with `knownAt`, a
   * position or an instant, as they were known then.
   *
   * @throws {AverbaError} `INVALID_INPUT` for a future moment
   */
  list(options?: { inactive?: boolean; knownAt?: Instant | number | undefined }): AsyncList<Subscription>
}

interface PortalList {
  readonly listed: readonly ListedAtPortal[]
  readonly unreadable: Plan['unreadable']
}

export function createSubscriptions(
  context: ApiContext,
  declarations: DeclaredSubscriptions,
  secrets: SubscriptionSecrets,
): Subscriptions {
  const { commands, rows, store } = context

  function listAtPortal(): Promise<Outcome<PortalList>> {
    return commands.send(
      { method: 'subscriptions.plan' },
      async () => {
        const message = { type: 'portal.list', data: addressData(context.options.portal) }
        return { targets: [{ stream: portalStream, message }] }
      },
      {},
      async ended => ({
        listed: await requireAs(store, 'list', `${ended.id}/list`),
        unreadable: await readUnreadableIds(context, ofType(ended, 'portal.listed')),
      }),
    )
  }

  async function comparePortal(): Promise<{ plan: Plan; listed: PortalList['listed'] }> {
    context.require('portal')
    const { listed, unreadable } = valueOf(await listAtPortal())
    const held = await subscriptionRows(context)
    const ours = new Map(held.flatMap(row => (row.remote_id === null ? [] : [[row.remote_id, row.evento] as const])))
    const wanted = declarations.all.map(async ({ evento, endpoint, recreate }) => {
      const generation = await secrets.generationOf(evento)
      const digest = secretsDigest(context, await secrets.secretsOf(evento, { endpoint, generation }))
      const row = held.find(each => each.evento === evento)
      const isGivenUp = recreate === 'announce' && row?.state === 'deleted' && row.deleted_by === 'portal'
      return { evento, endpoint, secrets: digest, generation, isGivenUp }
    })
    return { plan: makePlan(await Promise.all(wanted), listed, ours, unreadable), listed }
  }

  async function declareIfNew(evento: string, endpoint: string): Promise<DecisionRequest & { stream: string }> {
    const known = await findStream(store, 'subscription', evento)
    if (known !== undefined) return { stream: known, targets: [] }
    const subscription = context.createId()
    const stream = streamOf('subscription', subscription)
    const message = { type: 'subscription.declare', data: { subscription, evento, endpoint } }
    const indexEntry = { kind: 'subscription', digest: store.digest('subscription', evento), value: subscription }
    return { stream, targets: [{ stream, message, isNew: true }], indexEntries: [indexEntry] }
  }

  function sendChange(
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
        const { stream, targets, indexEntries = [] } = await declareIfNew(evento, endpoint)
        const past = follows ? [await requestPastFailures(context)] : []
        return { targets: [...targets, { stream, message }, ...past], indexEntries }
      },
      commandOptions,
      () => readSubscription(evento),
    )
  }

  async function applyChange(change: PlannedChange, listed: readonly ListedAtPortal[]): Promise<Outcome<Subscription>> {
    const found = listed.find(each => each.remoteId === change.id)
    if (change.isTaken && found) {
      await adopt('takeOver', change, found)
      return sendChange('change', change)
    }
    if (change.action === 'adopt' && found) return adopt('adopt', change, found)
    if (change.action === 'delete' || change.action === 'change') return sendChange(change.action, change)
    // Also recover what an earlier subscription lost, perhaps one of another log.
    const follows = listed.some(each => each.isDeleted && each.evento === change.evento)
    return sendChange('register', change, {}, follows)
  }

  /** Adopts a listed subscription, which needs no call to the portal. */
  async function adopt(
    verb: 'adopt' | 'takeOver',
    { evento }: PlannedChange,
    { secrets: _, ...found }: ListedAtPortal,
  ): Promise<Outcome<Subscription>> {
    const { endpoint, remoteId } = found
    const data = { ...found, deletedAt: null, readAt: toInstant(context.clock.now()) }
    const message = { type: `subscription.${verb}`, data }
    const handled = await commands.record({ method: `subscriptions.${verb}`, evento, remoteId }, async () => {
      const { stream, targets, indexEntries = [] } = await declareIfNew(evento, endpoint)
      return { targets: [...targets, { stream, message }, await requestPastFailures(context)], indexEntries }
    })
    const { position, effect, replayed } = handled
    return { position, effect, replayed, status: 'settled', value: await readSubscription(evento) }
  }

  async function readSubscription(evento: string): Promise<Subscription> {
    const stream = await findStream(store, 'subscription', evento)
    const row = stream === undefined ? undefined : await rows.find('subscriptions', stream)
    if (!row) throw new TypeError(`The subscription to "${evento}" is not in its view`)
    return openSubscription(row)
  }

  async function openSubscription(row: SubscriptionRow, now = context.clock.now()): Promise<Subscription> {
    const reason = row.reason === null ? undefined : await store.open(row.reason)
    return toSubscription(row, reason, now)
  }

  return {
    plan: async () => (await comparePortal()).plan,
    async apply(given, options = {}) {
      checkKnownNames(options, ['deletions', 'takeOver'], { noun: 'option' })
      const { deletions = 'refuse', takeOver = false } = options
      if (typeof given.hash !== 'string')
        throw new AverbaError('INVALID_INPUT', 'Cannot apply the plan: this is no plan', {
          hint: 'Pass what subscriptions.plan() resolves with: it is a promise',
        })
      const { plan, listed } = await comparePortal()
      if (plan.hash !== given.hash) {
        const cannot = 'Cannot apply the plan: the portal or the options have changed since'
        throw new AverbaError('STALE_PLAN', cannot, { hint: 'Make a new plan: subscriptions.plan()' })
      }
      if (deletions !== 'allow' && plan.changes.some(change => change.action === 'delete'))
        throw new AverbaError('PLAN_DELETES', 'Cannot apply the plan: it deletes subscriptions', {
          hint: "Check the plan, then pass { deletions: 'allow' } or --allow-deletions",
        })
      const applied: ApplyResult[] = []
      for (const change of plan.changes) {
        if (change.action === 'leave' && !(change.isTaken && takeOver)) continue
        applied.push({ change, ...(await applyChange(change, listed).catch(toDeclined)) })
      }
      return applied
    },
    async rotate(evento, commandOptions = {}) {
      context.require('portal')
      const declared = declarations.all.find(each => each.evento === evento)
      if (!declared) {
        const hint = 'Name an event of the option subscriptions'
        throw new AverbaError('NOT_FOUND', 'Cannot rotate: no subscription to this event is declared', { hint })
      }
      if (!declarations.isDerived(evento))
        throw new AverbaError('REFUSED', 'Cannot rotate: the secret of this event is not derived', {
          hint: 'Change a given secret at its source, then plan and apply. To derive it, use receiver.secretFrom',
        })
      return sendChange('rotate', declared, commandOptions)
    },
    list: ({ inactive = false, knownAt } = {}) =>
      lazyList(async function* () {
        const past = knownAt === undefined ? undefined : await resolveKnownAt(context, knownAt)
        const all = await (past ? rows.asOf('subscriptions', { position: past.position }) : subscriptionRows(context))
        const wanted = all.filter(row => inactive || row.state !== 'deleted')
        const now = past && fromInstant(past.at)
        yield await Promise.all(wanted.map(row => openSubscription(row, now))) // One page: they are few.
      }),
    ...createFailures(context, listAtPortal),
  }
}

/** Turns a refusal, as by a concurrent process, into an outcome, so that the other changes are made. */
function toDeclined(error: unknown): Outcome<Subscription> {
  if (!(error instanceof AverbaError) || !['REFUSED', 'CONFLICT', 'MISCONFIGURED'].includes(error.code)) throw error
  const problem = { status: 0, code: error.code, title: error.message }
  return { position: 0, effect: '', replayed: false, status: 'declined', problem }
}

/** A subscription at the portal (document 3, section 2), without its secrets. */
export interface Subscription {
  /** The portal's id; null while it has none. */
  readonly id: number | null
  readonly evento: string
  /** The event that the portal last listed; another one if it was changed there. */
  readonly eventoAtPortal: string
  readonly endpoint: string
  /** False when the portal last listed secrets that are not ours. */
  readonly areSecretsOurs: boolean
  /** The generation of its secrets; `rotate` raises it. */
  readonly generation: number
  readonly state: SubscriptionRow['state']
  /** Whether deliveries succeed; unknown until one was reported, and once it is deleted. */
  readonly health: SubscriptionRow['health']
  /** Known failed deliveries since its registration or last recovery. */
  readonly failures: number
  /** The first known error since the last success, and the whole days with only errors since then. */
  readonly failingSince: Instant | null
  readonly daysOfErrors: number
  /** When the portal will delete it unless a delivery succeeds, and the whole days until then. */
  readonly deletionAt: Instant | null
  readonly daysLeft: number | null
  readonly deletedBy: 'us' | 'portal' | null
  /** When the portal registered it, and when a delivery last succeeded, as last listed; null if it showed neither. */
  readonly dataRegistro: Instant | null
  readonly dataUltimoSucesso: Instant | null
  readonly dataExclusao: Instant | null
  readonly motivoExclusao: string | null
}

/** Builds a subscription from its row; `reason` is the opened reason of the portal. */
function toSubscription(row: SubscriptionRow, reason: Json | undefined, now: number): Subscription {
  const { evento, endpoint, state, failures, generation } = row
  const isDeleted = state === 'deleted'
  const failingSince = isDeleted ? null : row.failing_since
  const deletionAt = failingSince === null ? null : deletionAfter(failingSince)
  return {
    id: row.remote_id,
    evento,
    eventoAtPortal: row.evento_at_portal,
    endpoint,
    areSecretsOurs: row.secrets_are_ours === 1,
    generation,
    state,
    health: isDeleted ? 'unknown' : row.health,
    failures,
    failingSince,
    daysOfErrors: failingSince === null ? 0 : Math.max(0, Math.floor((now - fromInstant(failingSince)) / dayMs)),
    deletionAt,
    daysLeft: deletionAt === null ? null : wholeDaysUntil(deletionAt, toInstant(now)),
    deletedBy: row.deleted_by,
    dataRegistro: row.registered_at,
    dataUltimoSucesso: row.last_success_at,
    dataExclusao: row.deleted_at,
    motivoExclusao: typeof reason === 'string' ? reason : null,
  }
}

/** Reads when a delivery of any of our active subscriptions last succeeded, as the portal last listed them. */
export async function readDeliveryFigures({ views }: Pick<ApiContext, 'views'>): Promise<Figures['deliveries']> {
  const query = lastSuccesses(views).limit(1).executeTakeFirst()
  return { lastSuccessAt: (await undefinedIfStopped(query))?.last_success_at ?? null }
}

/** Selects when deliveries last succeeded, by event, the newest first. */
export function lastSuccesses(views: Pick<ViewsHandle<Pick<Views, 'subscriptions'>>, 'selectFrom'>) {
  const active = views
    .selectFrom('subscriptions')
    .select(['evento', 'last_success_at'])
    .where('remote_id', 'is not', null)
  return active.where('last_success_at', 'is not', null).orderBy('last_success_at', 'desc')
}

/** Lists the coming deletions, counted from the first known error since the last success. */
export async function listDueDeletions({ views }: ApiContext): Promise<DueItem[]> {
  const failing = await views
    .selectFrom('subscriptions')
    .select(['subscription', 'failing_since'])
    .where('remote_id', 'is not', null)
    .where('failing_since', 'is not', null)
    .execute()
  return failing.flatMap(({ subscription: id, failing_since: since }) =>
    since === null ? [] : [{ what: 'deletion', at: deletionAfter(since), id } as const],
  )
}
