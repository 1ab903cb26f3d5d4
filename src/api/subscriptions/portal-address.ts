import { hasCode } from '../../vocabulary/errors.ts'
import { portalStream } from '../../vocabulary/names.ts'
import type { LogStore } from '../events.ts'
import type { HostOptions } from '../options.ts'
import { addressOf, checkAddress } from '../service-address.ts'

export function addressData(portal: HostOptions['portal']): { address?: string } {
  return portal ? { address: addressOf(portal) } : {}
}

const addressedTypes = ['portal.listRequested', 'portal.failuresRequested', 'portal.recoveryRequested'] as const

/** Finds the address of the portal that a log belongs to, in its first request; `undefined` before. */
export async function findPortalAddress(store: Pick<LogStore, 'read'>): Promise<string | undefined> {
  const [first] = await store.read({ stream: portalStream, types: addressedTypes, limit: 1 })
  return first?.data.address
}

/** Checks that the configured portal is the one that a log belongs to. Throws `MISCONFIGURED`. */
export async function checkPortalAddress(store: Pick<LogStore, 'read'>, portal: HostOptions['portal']): Promise<void> {
  if (!portal) return
  const known = await findPortalAddress(store).catch((error: unknown) => {
    // A log with this event damaged is opened all the same; it makes no call to the portal.
    if (hasCode(error, 'CORRUPT')) return undefined
    throw error
  })
  checkAddress('portal', addressOf(portal), known)
}
