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
  /** The event that the portal was last seen to notify us of: another one if somebody changed it there. */
  readonly eventoAtPortal: string
  readonly endpoint: string
  /** False when the portal was last seen with secrets that are not ours. */
  readonly areSecretsOurs: boolean
  /** The generation of the secrets that it carries; `rotate` raises it. */
  readonly generation: number
  readonly state: SubscriptionRow['state']
  readonly health: SubscriptionRow['health']
  /** Failed deliveries known since it was registered or last recovered. */
  readonly failures: number
  /** The first known error since the last success, and the whole days of nothing but errors since then. */
  readonly failingSince: Instant | null
  readonly daysOfErrors: number
  /** When the portal deletes it unless a delivery succeeds, and the whole days until then. */
  readonly deletionAt: Instant | null
  readonly daysLeft: number | null
  readonly deletedBy: 'us' | 'portal' | null
  readonly dataExclusao: Instant | null
  readonly motivoExclusao: string | null
}

/** Shows a row, as it stands now; `reason` is the portal's, opened. */
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
    daysOfErrors:
      failingSince === null ? 0 : Math.max(0, Math.floor((now - fromInstant(failingSince)) / dayMs)),
    deletionAt,
    daysLeft: deletionAt === null ? null : wholeDaysUntil(deletionAt, toInstant(now)),
    deletedBy: row.deleted_by,
    dataExclusao: row.deleted_at,
    motivoExclusao: typeof reason === 'string' ? reason : null,
  }
}

/** The deletions ahead, counted from the first error since the last success, as far as errors are known. */
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
