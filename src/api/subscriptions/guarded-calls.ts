import type { PortalEffects } from '../../adapters/portal/client.ts'
import { guardEffect } from '../../engine/performing/guarded-performer.ts'
import type { PerformersOf } from '../../vocabulary/performer.ts'
import type { ApiContext } from '../api-context.ts'
import type { DeclaredSubscriptions } from './declared-subscriptions.ts'

/** Keeps calls from leaving that would do harm by now: a second registration, and a deletion nobody wants any more. */
export function guardCalls(
  { store }: ApiContext,
  declarations: DeclaredSubscriptions,
  client: PerformersOf<PortalEffects>,
): PerformersOf<PortalEffects> {
  const {
    'portal.subscribe': subscribe,
    'portal.deleteSubscription': remove,
    'portal.listSubscriptions': list,
  } = client

  /** A gateway may have answered for a portal that registered it: the list is read before it is asked for again. */
  const register: typeof subscribe.perform = async (pending, opened, maySend) => {
    const perform = () => subscribe.perform(pending, opened, maySend)
    if (pending.attempts < 2) return perform()
    const listed = await list.perform({ ...pending, data: {} }, {})
    if (listed.status === 'deferred') return listed
    if (listed.fact.type !== 'portal.subscriptionsListed')
      return { status: 'deferred', reason: 'the list of the portal could not be read first' }
    const { evento, endpoint } = pending.data
    const isMade = listed.fact.data.items.some(
      each => !each.isDeleted && each.evento === evento && each.endpoint === endpoint,
    )
    if (!isMade) return perform()
    return { status: 'unknown', reason: 'the portal lists one already', fact: subscribe.lostFact(pending) }
  }

  /** Only what is not declared is deleted: an event that is declared again is wanted. */
  const withdrawn = (pending: Parameters<typeof remove.perform>[0]) => remove.withdrawnFact?.(pending, false)
  const withhold = async (pending: Parameters<typeof remove.perform>[0]) => {
    const fact = declarations.isDeclared(pending.data.evento) ? withdrawn(pending) : undefined
    return fact && (() => ({ status: 'declined', reason: 'its event is declared again', fact }) as const)
  }

  return {
    ...client,
    'portal.subscribe': { ...subscribe, perform: register },
    'portal.deleteSubscription': guardEffect(store, remove, withhold, withdrawn),
  }
}
