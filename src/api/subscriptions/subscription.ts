import { deletionAfter, wholeDaysUntil } from '../../machines/subscription/health.ts'
import type { SubscriptionRow } from '../../views/subscriptions.ts'
import { dayMs, fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant, Json } from '../../vocabulary/message.ts'
import type { ApiContext } from '../api-context.ts'
import type { DueItem } from '../module.ts'

/** A subscription at the portal (document 3, section 2), without its secrets. */
export interface Subscription {
  /** The portal's id; null while it has none. */
  readonly id: number | null
  readonly evento: string
  /** The event that the portal last listed; another one if it was changed there. */
  readonly eventoAtPortal: string
  readonly endpoint: string
  /** False when the portal last listed secrets that are not ours. */
  readonly areSecretsOurs: boolean
  /** The generation of its secrets; `rotate` raises it. */
  readonly generation: number
  readonly state: SubscriptionRow['state']
  readonly health: SubscriptionRow['health']
  /** Known failed deliveries since its registration or last recovery. */
  readonly failures: number
  /** The first known error since the last success, and the whole days with only errors since then. */
  readonly failingSince: Instant | null
  readonly daysOfErrors: number
  /** When the portal will delete it unless a delivery succeeds, and the whole days until then. */
  readonly deletionAt: Instant | null
  readonly daysLeft: number | null
  readonly deletedBy: 'us' | 'portal' | null
  readonly dataExclusao: Instant | null
  readonly motivoExclusao: string | null
}

/** Builds a subscription from its row; `reason` is the opened reason of the portal. */
export function toSubscription(row: SubscriptionRow, reason: Json | undefined, now: number): Subscription {
  const { evento, endpoint, state, health, failures, generation } = row
  const failingSince = state === 'deleted' ? null : row.failing_since
  const deletionAt = failingSince === null ? null : deletionAfter(failingSince)
  return {
    id: row.remote_id,
    evento,
    eventoAtPortal: row.evento_at_portal,
    endpoint,
    areSecretsOurs: row.secrets_are_ours === 1,
    generation,
    state,
    health,
    failures,
    failingSince,
    daysOfErrors: failingSince === null ? 0 : Math.max(0, Math.floor((now - fromInstant(failingSince)) / dayMs)),
    deletionAt,
    daysLeft: deletionAt === null ? null : wholeDaysUntil(deletionAt, toInstant(now)),
    deletedBy: row.deleted_by,
    dataExclusao: row.deleted_at,
    motivoExclusao: typeof reason === 'string' ? reason : null,
  }
}

/** Lists the coming deletions, counted from the first known error since the last success. */
export async function listDueDeletions({ views }: ApiContext): Promise<DueItem[]> {
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
