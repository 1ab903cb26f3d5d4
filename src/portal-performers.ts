import { hash } from 'node:crypto'
import type { Performers } from './adapters/performer.ts'
import { createPortalClient } from './adapters/portal/client.ts'
import type { SessionShare } from './adapters/portal/shared-session.ts'
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
  const { baseUrl, authenticate, ca } = portal
  const login = typeof authenticate === 'object' ? authenticate : undefined
  const { certificate } = login ?? {}
  return createPortalClient({
    baseUrl,
    authenticate,
    clock: area.clock,
    fetch: waysOut.open('portal', { ...(ca !== undefined && { ca }), ...(certificate && { certificate }) }),
    secretsOf: desired.secretsOf.bind(desired),
    ...(login && { share: shareSession(area, baseUrl, login.profile) }),
  })
}

/**
 * Shares the portal's session with the other processes of the file: sealed, disposable, and never in the log. Another
 * portal, or another profile there, is another session.
 */
function shareSession({ store, clock }: Area, baseUrl: string, profile: string): SessionShare {
  const name = `portal-session-${hash('sha256', `${baseUrl}\0${profile}`, 'hex').slice(0, 16)}`
  return {
    find: async () => (await store.secrets.find(name))?.value,
    // The newest counts, by the clock: of two that are kept at once either will do.
    keep: value => store.secrets.keep(name, { generation: clock.now(), value }),
    take: () => store.secrets.leases.take(name),
    release: () => store.secrets.leases.release(name),
  }
}
