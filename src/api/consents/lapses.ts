import { readPages } from '../../runtime/lazy-list.ts'
import { undefinedIfStopped } from '../../store/views/view-reader.ts'
import type { ConsentRow } from '../../views/consents.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { ApiContext } from '../api-context.ts'
import type { DueItem } from '../module.ts'

const lapsesPageRows = 200

/** Sends the current time to each expired consent. The view only finds them; the machine decides. */
export async function expireConsents(context: ApiContext): Promise<void> {
  const { clock, engine } = context
  const now = toInstant(clock.now())
  const message = { type: 'consent.passTime', data: { now } }
  const record = ({ consent: stream }: { consent: string }) =>
    engine.record(async () => ({ targets: [{ stream, message }] }))
  let failed: PromiseRejectedResult | undefined
  // A stopped view cannot find them; they follow once it has caught up.
  const read = async (last?: Expired) => (await undefinedIfStopped(selectExpired(context, now, last))) ?? []
  for await (const rows of readPages(lapsesPageRows, read)) {
    // They share commits, and one that fails does not stop the others.
    const results = await Promise.allSettled(rows.map(record))
    failed ??= results.find(each => each.status === 'rejected')
  }
  if (failed) throw failed.reason
}

type Expired = Pick<ConsentRow, 'consent' | 'lapses_at'>

/** A page of expired consents after the last one, by an index of only these. */
function selectExpired({ views }: ApiContext, now: Instant, last?: Expired) {
  const at = last?.lapses_at ?? ''
  return views
    .selectFrom('consents')
    .select(['consent', 'lapses_at'])
    .where('lapses_at', '>=', at)
    .where('lapses_at', '<=', now)
    .where(eb => eb.or([eb('lapses_at', '>', at), eb('consent', '>', last?.consent ?? '')]))
    .orderBy('lapses_at')
    .orderBy('consent')
    .limit(lapsesPageRows)
    .execute()
}

/** Selects the consents that expire after now, the next one first. */
function selectComing({ views, clock }: ApiContext) {
  const open = views.selectFrom('consents').select(['consent', 'lapses_at']).orderBy('lapses_at')
  return open.where('lapses_at', '>', toInstant(clock.now()))
}

export async function nextLapseAt(context: ApiContext): Promise<number> {
  const next = await undefinedIfStopped(selectComing(context).limit(1).executeTakeFirst())
  return next?.lapses_at ? fromInstant(next.lapses_at) : Number.POSITIVE_INFINITY
}

export async function lapsesUntil(context: ApiContext, until: Instant): Promise<DueItem[]> {
  const rows = await selectComing(context).where('lapses_at', '<=', until).execute()
  return rows.flatMap(({ consent, lapses_at: at }) => (at === null ? [] : [{ what: 'expiry', at, id: consent }]))
}
