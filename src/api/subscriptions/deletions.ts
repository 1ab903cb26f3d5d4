import { deletionAfter } from '../../machines/subscription/health.ts'
import type { Area } from '../area.ts'
import type { Due } from '../due.ts'

/** The deletions ahead, counted from the first error since the last success, as far as errors are known. */
export async function deletionsAhead({ views }: Area): Promise<Due[]> {
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
