import { hash } from 'node:crypto'
import { createPortalClient } from '../../adapters/portal/client.ts'
import type { LoginShare } from '../../adapters/portal/shared-session.ts'
import type { SharedText } from '../../adapters/portal/shared-text.ts'
import type { Performers } from '../../vocabulary/performer.ts'
import type { ApiContext } from '../api-context.ts'
import type { HostOptions } from '../options.ts'
import type { DeclaredSubscriptions } from './declared-subscriptions.ts'
import { guardByPortalAddress } from './portal-address.ts'

/** Creates the performers of the portal's calls. With a login, connections present its certificate. */
export function createPortalPerformers(
  context: ApiContext,
  declarations: DeclaredSubscriptions,
  portal: NonNullable<HostOptions['portal']>,
): Performers {
  const { baseUrl, authenticate, ca, failuresBytesMax } = portal
  const login = typeof authenticate === 'object' ? authenticate : undefined
  const sessionOf = (identity: string) => sharedName(context, 'portal-session', baseUrl, identity)
  const client = createPortalClient({
    baseUrl,
    authenticate,
    clock: context.clock,
    fetch: context.http.open('portal', { ca, certificate: login?.certificate }),
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
