import type { PortalEffects } from '../../adapters/portal/client.ts'
import { readTrace } from '../../engine/performing/attempt-trace.ts'
import type { PerformersOf } from '../../vocabulary/performer.ts'
import type { LogStore } from '../events.ts'
import type { DeclaredSubscriptions } from './declared-subscriptions.ts'

/** Keeps calls from leaving that would do harm by now, or from here: without a declaration there are no secrets. */
export function guardCalls(
  store: Pick<LogStore, 'read'>,
  declarations: DeclaredSubscriptions,
  client: PerformersOf<PortalEffects>,
): PerformersOf<PortalEffects> {
  const {
    'portal.subscribe': subscribe,
    'portal.changeSubscription': change,
    'portal.deleteSubscription': remove,
    'portal.listSubscriptions': list,
  } = client

  /** A gateway may have answered for a portal that registered it: the list is read before it is asked for again. */
  const register: typeof subscribe.perform = async (pending, opened, maySend) => {
    const perform = () => subscribe.perform(pending, opened, maySend)
    if (!(await readTrace(store, pending)).wasAnswered) return perform()
    const listed = await list.perform({ ...pending, data: {} }, {})
    if (listed.status === 'deferred') return listed
    if (listed.fact.type !== 'portal.subscriptionsListed')
      return { status: 'deferred', reason: 'the list of the portal could not be read first' }
    const [{ evento, endpoint }, { items }] = [pending.data, listed.fact.data]
    const isMade = items.some(each => !each.isDeleted && each.evento === evento && each.endpoint === endpoint)
    if (!isMade) return perform()
    return { status: 'unknown', reason: 'the portal lists one already', fact: subscribe.lostFact(pending) }
  }

  /** Only what is not declared is deleted. Another process may be of a newer configuration, and leave it out. */
  const removeUndeclared: typeof remove.perform = async (pending, opened, maySend) =>
    declarations.isDeclared(pending.data.evento)
      ? { status: 'deferred', reason: 'this process declares its event: give the deletion up, or stop declaring it' }
      : remove.perform(pending, opened, maySend)

  const takes = ({ data }: { data: { evento: string } }) => declarations.isDeclared(data.evento)
  return {
    ...client,
    'portal.subscribe': { ...subscribe, takes, perform: register },
    'portal.changeSubscription': { ...change, takes },
    'portal.deleteSubscription': { ...remove, perform: removeUndeclared },
  }
}
