import { trimEndSlashes } from '../../adapters/http/listing.ts'
import type { Store } from '../../store/store.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { portalStream } from '../../vocabulary/names.ts'
import type { Performers } from '../../vocabulary/performer.ts'
import type { HostOptions } from '../options.ts'

type PortalOptions = NonNullable<HostOptions['portal']>

/** By which address a log knows the portal: the ids of subscriptions and failures there mean nothing at another one. */
function portalAddressOf({ baseUrl, knownAs = baseUrl }: PortalOptions): string {
  return trimEndSlashes(new URL(knownAs).href)
}

/** The address with which a message asks the portal. */
export function addressData(portal: PortalOptions | undefined): { address?: string } {
  return portal ? { address: portalAddressOf(portal) } : {}
}

const addressedTypes = ['portal.listRequested', 'portal.failuresRequested', 'portal.recoveryRequested']

/** The address of the portal that a log belongs to, as the first event tells that asked it; `undefined` before. */
async function portalAddressIn(store: Pick<Store, 'read'>): Promise<string | undefined> {
  const [first] = await store.read({ stream: portalStream, types: addressedTypes, limit: 1 })
  const { address } = (first?.data ?? {}) as { address?: string } // As the portal's machine writes it.
  return address
}

/** Leaves a portal's calls where the log has come to belong to another one since it was opened. */
export function guardByPortalAddress(
  store: Pick<Store, 'read'>,
  portal: PortalOptions,
  performers: Performers,
): Performers {
  let known: string | undefined // Once told, it stays.
  const takes = async () => {
    known ??= await portalAddressIn(store)
    return known === undefined || known === portalAddressOf(portal)
  }
  return Object.fromEntries(
    Object.entries(performers).map(([type, performer]) => [type, { ...performer, takes }]),
  )
}

/**
 * Checks that the configured portal is the one that a log belongs to.
 *
 * @throws {AverbaError} `MISCONFIGURED`
 */
export async function checkPortalAddress(
  store: Pick<Store, 'read'>,
  portal: PortalOptions | undefined,
): Promise<void> {
  if (!portal) return
  const address = await portalAddressIn(store).catch((error: unknown) => {
    // Where that event is damaged, the log is opened all the same, and makes no call of the portal.
    if (error instanceof AverbaError && error.code === 'CORRUPT') return undefined
    throw error
  })
  if (address === undefined || address === portalAddressOf(portal)) return
  throw new AverbaError(
    'MISCONFIGURED',
    `Cannot use portal.baseUrl: this log belongs to the portal at "${address}"`,
    {
      hint: 'Give another portal, as that of another environment, a log of its own. Where the same portal has moved, give that address as portal.knownAs',
    },
  )
}
