import { hash } from 'node:crypto'
import { createPortalClient, type PortalEffects } from '../../adapters/portal/client.ts'
import type { LoginShare } from '../../adapters/portal/shared-session.ts'
import type { SharedText } from '../../adapters/portal/shared-text.ts'
import { KeyedLock } from '../../runtime/locks.ts'
import { portalStream } from '../../vocabulary/names.ts'
import type { PerformersOf } from '../../vocabulary/performer.ts'
import type { ApiContext } from '../api-context.ts'
import type { Recorded } from '../events.ts'
import { indexRow, remoteIdIn } from '../keyed-index.ts'
import type { Module } from '../module.ts'
import type { HostOptions } from '../options.ts'
import { SubscriptionAlerts } from './alerts.ts'
import { DeclaredSubscriptions } from './declared-subscriptions.ts'
import { recordFailures } from './failures/recovery.ts'
import { RecoverySchedule } from './failures/recovery-schedule.ts'
import { checkPortalAddress, guardByPortalAddress } from './portal-address.ts'
import { routeSubscriptions } from './routes.ts'
import { AcceptedSecrets } from './secrets/accepted.ts'
import { createSubscriptions, listDueDeletions, type Subscriptions } from './subscriptions.ts'

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
      jobs: [
        {
          name: 'recovery',
          begin: () => schedule.begin(),
          runDue: () => schedule.runDue(),
          nextAt: async () => schedule.nextAt(),
        },
      ],
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
      const ofRecord = ({
        data: { failure, remoteId },
      }: Recorded<'subscription.failing' | 'portal.foreignFailure'>) => {
        // Indexed even if our record was destroyed: the portal may list it again.
        const id = remoteIdIn({ id: remoteId })
        if (id !== undefined) failures.set(failure, id)
        return indexRow('failure', id, failure)
      }
      return {
        'subscription.declared': ({ data }) => indexRow('subscription', data.evento, data.subscription),
        'subscription.failing': ofRecord,
        'portal.foreignFailure': ofRecord,
        'subscription.failureRecovered': ({ data }) =>
          indexRow('recovery', failures.get(data.failure), data.notification),
      }
    },
  }
}

/** Creates the performers of the portal's calls. With a login, connections present its certificate. */
function createPortalPerformers(
  context: ApiContext,
  declarations: DeclaredSubscriptions,
  portal: NonNullable<HostOptions['portal']>,
): PerformersOf<PortalEffects> {
  const { baseUrl, authenticate, failuresBytesMax } = portal
  const login = typeof authenticate === 'object' ? authenticate : undefined
  const sessionOf = (identity: string) => sharedName(context, 'portal-session', baseUrl, identity)
  const client = createPortalClient({
    baseUrl,
    authenticate,
    clock: context.clock,
    fetch: context.http.open('portal'),
    secretsOf: declarations.secretsOf.bind(declarations),
    closedTimes: shareText(context, `portal-closed-${shortHash(baseUrl)}`),
    ...(failuresBytesMax !== undefined && { failuresBytesMax }),
    ...(login && {
      shareOf: identity => shareText(context, sessionOf(identity)),
      logins: shareLogins(context, sharedName(context, 'portal-login', baseUrl, login.roleType), sessionOf),
    }),
  })
  return guardByPortalAddress(context.store, portal, client)
}

/** The name of a text shared by the processes of the store, per portal and login or profile: sealed and disposable. */
function sharedName({ store }: ApiContext, kind: string, baseUrl: string, whose: string): string {
  return `${kind}-${Buffer.from(store.digest(kind, `${baseUrl}\0${whose}`)).toString('hex')}`
}

function shareLogins(context: ApiContext, name: string, digestIdentity: LoginShare['digestIdentity']): LoginShare {
  const { leases } = context.store.secrets
  return {
    ...shareText(context, name),
    takeLease: () => leases.take(name),
    releaseLease: () => leases.release(name),
    digestIdentity,
  }
}

function shareText({ store: { secrets } }: ApiContext, name: string): SharedText {
  return {
    find: async () => (await secrets.find(name))?.value,
    change: make => secrets.change(name, make),
  }
}

function shortHash(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 16)
}
