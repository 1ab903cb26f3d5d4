import { KeyedLock } from '../../runtime/keyed-lock.ts'
import { portalStream } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import { indexRow, remoteIdIn } from '../keyed-index.ts'
import type { Module } from '../module.ts'
import { SubscriptionAlerts } from './alerts.ts'
import { DeclaredSubscriptions } from './declared-subscriptions.ts'
import { recordFailures } from './failures/recovery.ts'
import { RecoverySchedule } from './failures/recovery-schedule.ts'
import { createPortalPerformers } from './performers.ts'
import { checkPortalAddress } from './portal-address.ts'
import { routeSubscriptions } from './routes.ts'
import { AcceptedSecrets } from './secrets/accepted.ts'
import { listDueDeletions } from './subscription.ts'
import { createSubscriptions, type Subscriptions } from './subscriptions.ts'

/** The area of the foreign-trade portal (document 3). */
export interface SubscriptionMethods {
  readonly subscriptions: Subscriptions
}

/** The module of the portal, with what the receiver needs. */
export interface SubscriptionModule extends Module<SubscriptionMethods> {
  readonly declarations: DeclaredSubscriptions
  readonly accepted: AcceptedSecrets
}

/** Creates the module of the portal's subscriptions and failure records. */
export function createSubscriptionModule(context: ApiContext): SubscriptionModule {
  const { options, store } = context
  const { portal } = options
  const declarations = new DeclaredSubscriptions(options)
  const accepted = new AcceptedSecrets(context, declarations)
  const alerts = new SubscriptionAlerts(context, declarations, accepted)
  const schedule = new RecoverySchedule(context)
  const readings = new KeyedLock()
  return {
    declarations,
    accepted,
    methods: { subscriptions: createSubscriptions(context, declarations) },
    checkLog: () => checkPortalAddress(store, portal),
    ...(portal && {
      performers: createPortalPerformers(context, declarations, portal),
      limits: { portal },
      jobs: [{ name: 'recovery', begin: () => schedule.begin(), runDue: () => schedule.runDue() }],
    }),
    routers: {
      'portal.subscriptionsListed': async (_, fact, since) => {
        const { request, withOurSecrets } = await routeSubscriptions(context, declarations, fact, since)
        for (const evento of withOurSecrets) await accepted.history.noteSeenAtPortal(evento)
        return request
      },
      'portal.failuresListed': async (_, fact) => ({ targets: [{ stream: portalStream, message: fact }] }),
      'portal.declined': async ({ stream, type }, fact) => {
        // A declined list does not end the call whose outcome it was to find: the next list does.
        const isList = type === 'portal.listSubscriptions'
        return { targets: [{ stream: isList ? portalStream : stream, message: fact }] }
      },
    },
    chunkRecorders: {
      'portal.failuresListed': (pending, fact, record) => recordFailures(context, readings, pending, fact, record),
    },
    logAlerts: () => alerts.logNew(),
    checks: { subscriptions: () => alerts.check() },
    due: async () => [...schedule.next(), ...(await listDueDeletions(context))],
    indexRows: () => {
      const failures = new Map<string, string>()
      const ofRecord = ({ data }: { data: { failure?: string; remoteId?: unknown } }) => {
        const { failure = '', remoteId } = data
        // Indexed even if our record was destroyed: the portal may list it again.
        const id = remoteIdIn({ id: remoteId as string }) // Checked there.
        if (id !== undefined) failures.set(failure, id)
        return indexRow('failure', id, failure)
      }
      return {
        'subscription.declared': ({ data }) => indexRow('subscription', data.evento, data.subscription),
        'subscription.failing': ofRecord,
        'portal.foreignFailure': ofRecord,
        'subscription.failureRecovered': ({ data }) =>
          indexRow('recovery', failures.get(data.failure ?? ''), data.notification),
      }
    },
  }
}
