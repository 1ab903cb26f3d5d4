import { hash } from 'node:crypto'
import { createPortalClient, type PortalEffects } from '../../adapters/portal/client.ts'
import type { PortalLogin } from '../../adapters/portal/login.ts'
import type { SharedLogin } from '../../adapters/portal/shared-session.ts'
import type { SharedText } from '../../adapters/portal/shared-text.ts'
import { KeyedLock } from '../../runtime/locks.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import { portalStream } from '../../vocabulary/names.ts'
import type { PerformersOf } from '../../vocabulary/performer.ts'
import type { ApiContext } from '../api-context.ts'
import type { Recorded } from '../events.ts'
import { indexRow, type Module, remoteIdIn } from '../module.ts'
import type { HostOptions } from '../options.ts'
import { addressOf, guardByAddress } from '../service-address.ts'
import { createAlerts } from './alerts.ts'
import { DeclaredSubscriptions } from './declared-subscriptions.ts'
import { createRecoveryJob } from './failures/failures.ts'
import { recordFailures } from './failures/recovery.ts'
import { guardCalls } from './guarded-calls.ts'
import { checkPortalAddress, findPortalAddress } from './portal-address.ts'
import { routeSubscriptions } from './routes.ts'
import { createSubscriptionSecrets, type SubscriptionSecrets } from './secrets/subscription-secrets.ts'
import { createSubscriptions, listDueDeletions, readDeliveryFigures, type Subscriptions } from './subscriptions.ts'

export type { Subscriptions } from './subscriptions.ts'

export interface SubscriptionModule extends Module<{ subscriptions: Subscriptions }> {
  readonly declarations: DeclaredSubscriptions
  readonly secrets: SubscriptionSecrets
}

export function createSubscriptionModule(context: ApiContext): SubscriptionModule {
  const { options, store } = context
  const { portal } = options
  const declarations = new DeclaredSubscriptions(options)
  const secrets = createSubscriptionSecrets(context, declarations)
  const alerts = createAlerts(context, declarations, secrets)
  const recovery = createRecoveryJob(context)
  const readings = new KeyedLock()
  return {
    declarations,
    secrets,
    methods: { subscriptions: createSubscriptions(context, declarations, secrets) },
    checkLog: () => checkPortalAddress(store, portal),
    ...(portal && {
      performers: createPortalPerformers(context, secrets, portal, declarations),
      limits: { portal },
      jobs: [recovery],
    }),
    routers: {
      'portal.subscriptionsListed': async (_, fact, since) => {
        const { request, withOurSecrets } = await routeSubscriptions(context, declarations, secrets, fact, since)
        for (const evento of withOurSecrets) await secrets.noteSeenAtPortal(evento)
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
    logAlerts: alerts.logNew,
    figures: async () => ({ deliveries: await readDeliveryFigures(context) }),
    checks: { subscriptions: alerts.check },
    async due() {
      const isRun = portal !== undefined && options.schedules !== false
      const at = isRun ? await recovery.nextAt() : undefined
      const next = at === undefined ? [] : [{ what: 'recovery', at: toInstant(at), id: portalStream } as const]
      return [...next, ...(await listDueDeletions(context))]
    },
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
  secrets: SubscriptionSecrets,
  portal: NonNullable<HostOptions['portal']>,
  declarations: DeclaredSubscriptions,
): PerformersOf<PortalEffects> {
  const { baseUrl, authenticate, failuresBytesMax, answerBytesMax, timeoutMs, answers } = portal
  const client = createPortalClient({
    baseUrl,
    authenticate: typeof authenticate === 'object' ? shareLogin(context, baseUrl, authenticate) : authenticate,
    clock: context.clock,
    fetch: context.http.open('portal'),
    answers,
    answerBytesMax,
    timeoutMs,
    secretsOf: secrets.secretsOf.bind(secrets),
    closedTimes: shareText(context, `portal-closed-${hash('sha256', baseUrl, 'hex').slice(0, 16)}`),
    ...(failuresBytesMax !== undefined && { failuresBytesMax }),
  })
  const { store } = context
  return guardByAddress(guardCalls(store, declarations, client), addressOf(portal), () => findPortalAddress(store))
}

/** The name of a text shared by the processes of the store, per portal and login or profile: sealed and disposable. */
function sharedName({ store }: ApiContext, kind: string, baseUrl: string, whose: string): string {
  return `${kind}-${store.digestHex(kind, `${baseUrl}\0${whose}`)}`
}

function shareLogin(context: ApiContext, baseUrl: string, login: PortalLogin): SharedLogin {
  const { leases } = context.store.secrets
  const name = sharedName(context, 'portal-login', baseUrl, login.roleType)
  const sessionOf = (identity: string) => sharedName(context, 'portal-session', baseUrl, identity)
  return {
    login,
    shareOf: identity => shareText(context, sessionOf(identity)),
    logins: {
      ...shareText(context, name),
      takeLease: () => leases.take(name),
      underLease: work => context.store.leaseKeeper.keep({ lease: name }, work).finally(() => leases.release(name)),
      digestIdentity: sessionOf,
    },
  }
}

function shareText({ store: { secrets } }: ApiContext, name: string): SharedText {
  return { find: async () => (await secrets.find(name))?.value, change: make => secrets.change(name, make) }
}
