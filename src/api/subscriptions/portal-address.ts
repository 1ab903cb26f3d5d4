import { trimEndSlashes } from '../../adapters/http/answer-body.ts'
import type { PortalEffects } from '../../adapters/portal/client.ts'
import { AverbaError, hasCode } from '../../vocabulary/errors.ts'
import { portalStream } from '../../vocabulary/names.ts'
import { makePerformers, type PerformersOf } from '../../vocabulary/performer.ts'
import type { LogStore } from '../events.ts'
import type { HostOptions } from '../options.ts'

type PortalOptions = NonNullable<HostOptions['portal']>

/** The address by which a log identifies the portal: ids of subscriptions and failures are valid at one portal only. */
function portalAddressOf({ baseUrl, knownAs = baseUrl }: PortalOptions): string {
  return trimEndSlashes(new URL(knownAs).href)
}

export function addressData(portal: PortalOptions | undefined): { address?: string } {
  return portal ? { address: portalAddressOf(portal) } : {}
}

const addressedTypes = ['portal.listRequested', 'portal.failuresRequested', 'portal.recoveryRequested'] as const

/** The address of the portal that a log belongs to, from its first request; `undefined` before. */
async function portalAddressIn(store: Pick<LogStore, 'read'>): Promise<string | undefined> {
  const [first] = await store.read({ stream: portalStream, types: addressedTypes, limit: 1 })
  return first?.data.address
}

/** Performs no call when the log has come to belong to another portal since it was opened. */
export function guardByPortalAddress(
  store: Pick<LogStore, 'read'>,
  portal: PortalOptions,
  performers: PerformersOf<PortalEffects>,
): PerformersOf<PortalEffects> {
  let known: string | undefined // It never changes.
  const isOurs = async () => {
    known ??= await portalAddressIn(store)
    return known === undefined || known === portalAddressOf(portal)
  }
  return makePerformers<PortalEffects>(performers, type => {
    const performer = performers[type]
    return { ...performer, takes: async pending => (await isOurs()) && (performer.takes?.(pending) ?? true) }
  })
}

/** Checks that the configured portal is the one that a log belongs to. Throws `MISCONFIGURED`. */
export async function checkPortalAddress(
  store: Pick<LogStore, 'read'>,
  portal: PortalOptions | undefined,
): Promise<void> {
  if (!portal) return
  const address = await portalAddressIn(store).catch((error: unknown) => {
    // A log with this event damaged is opened all the same; it makes no call to the portal.
    if (hasCode(error, 'CORRUPT')) return undefined
    throw error
  })
  if (address === undefined || address === portalAddressOf(portal)) return
  throw new AverbaError('MISCONFIGURED', `Cannot use portal.baseUrl: this log belongs to the portal at "${address}"`, {
    hint: 'Use a separate log for another portal or environment. If the same portal has moved, give the former address as portal.knownAs',
  })
}
