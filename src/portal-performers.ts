import { hash } from 'node:crypto'
import type { Performers } from './adapters/performer.ts'
import { createPortalClient } from './adapters/portal/client.ts'
import type { SessionShare, SharedText } from './adapters/portal/shared-session.ts'
import type { Area } from './area.ts'
import type { Desired } from './desired.ts'
import type { AverbaOptions } from './options.ts'
import type { WaysOut } from './ways-out.ts'

/** Performs the portal's calls: with a login, over connections that present its certificate. */
export function createPortalPerformers(
  area: Area,
  desired: Desired,
  portal: NonNullable<AverbaOptions['portal']>,
  waysOut: WaysOut,
): Performers {
  const { baseUrl, authenticate, ca, failuresBytesMax } = portal
  const login = typeof authenticate === 'object' ? authenticate : undefined
  const { certificate } = login ?? {}
  return createPortalClient({
    baseUrl,
    authenticate,
    clock: area.clock,
    fetch: waysOut.open('portal', { ...(ca !== undefined && { ca }), ...(certificate && { certificate }) }),
    secretsOf: desired.secretsOf.bind(desired),
    closedTimes: shareText(area, `portal-closed-${digestOf(baseUrl)}`),
    ...(failuresBytesMax !== undefined && { failuresBytesMax }),
    ...(login && { shareOf: identity => shareSession(area, baseUrl, identity) }),
  })
}

/**
 * Shares the portal's session with the other processes of the file: sealed, disposable, and never in the log. Another
 * portal, or another one who logs in there, is another session.
 */
function shareSession(area: Area, baseUrl: string, identity: string): SessionShare {
  const digest = Buffer.from(area.store.digest('portal-session', `${baseUrl}\0${identity}`))
  const name = `portal-session-${digest.toString('hex')}`
  return {
    ...shareText(area, name),
    take: () => area.store.secrets.leases.take(name),
    release: () => area.store.secrets.leases.release(name),
  }
}

function shareText({ store: { secrets } }: Area, name: string): SharedText {
  return {
    find: async () => (await secrets.find(name))?.value,
    change: make => secrets.change(name, make),
  }
}

function digestOf(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 16)
}
