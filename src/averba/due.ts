import type { Area } from '../api/area.ts'
import { deletionAfter } from '../machines/subscription/health.ts'
import { toInstant } from '../vocabulary/instant.ts'
import type { Instant, Owed } from '../vocabulary/message.ts'
import type { Schedules } from './schedules.ts'

/** Something that will happen by itself if nothing else does. */
export interface Due {
  /**
   * - `call`: a call that is owed, or put off, goes.
   * - `sync`: the consents of a person are read again.
   * - `harvest`: the portal's failures and list are read.
   * - `expiry`: a consent's `dataExpiracao` comes.
   * - `deletion`: the portal deletes a subscription that has had nothing but errors (document 3, section 7).
   */
  readonly what: 'call' | 'sync' | 'harvest' | 'expiry' | 'deletion'
  readonly at: Instant
  /** The call's id, or the stream of the consent or the subscription. */
  readonly id: string
}

/** What will happen by itself until an instant, the first first. */
export async function listDue(area: Area, schedules: Schedules, until: Instant): Promise<Due[]> {
  const { store } = area
  const owed = await store.effects({ states: ['owed', 'deferred'] })
  const calls = owed.map(
    each => ({ what: isRecurring(each) ? 'sync' : 'call', at: each.dueAt, id: each.id }) as const,
  )
  const harvestAt = schedules.nextHarvest()
  const harvest =
    harvestAt === undefined ? [] : [{ what: 'harvest', at: harvestAt, id: 'portal-main' } as const]
  const all: Due[] = [...calls, ...harvest, ...(await expiries(area, until)), ...(await deletions(area))]
  return all.filter(each => each.at <= until).sort((a, b) => (a.at < b.at ? -1 : 1))
}

function isRecurring({ data }: Owed): boolean {
  return typeof data === 'object' && data !== null && 'everyMs' in data
}

async function expiries({ views, clock }: Area, until: Instant): Promise<Due[]> {
  const rows = await views
    .selectFrom('consents')
    .select(['consent', 'lapses_at'])
    .where('lapses_at', '>', toInstant(clock.now()))
    .where('lapses_at', '<=', until)
    .execute()
  return rows.flatMap(({ consent, lapses_at: at }) =>
    at === null ? [] : [{ what: 'expiry', at, id: consent }],
  )
}

/** Counted from the first error since the last success, as far as errors are known. */
async function deletions({ views }: Area): Promise<Due[]> {
  const failing = await views
    .selectFrom('subscriptions')
    .select(['subscription', 'failing_since'])
    .where('remote_id', 'is not', null)
    .where('failing_since', 'is not', null)
    .execute()
  return failing.flatMap(({ subscription: id, failing_since: since }) =>
    since === null ? [] : [{ what: 'deletion', at: deletionAfter(since), id } as const],
  )
}
