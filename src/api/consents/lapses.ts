import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { undefinedIfStopped } from '../../store/views/view-reader.ts'
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
  let failed: PromiseRejectedResult | undefined
  for (let last = { consent: '', at: '' }; ; ) {
    // A stopped view cannot find them; they follow once it has caught up.
    const rows = (await undefinedIfStopped(selectExpired(context, now, last))) ?? []
    const record = ({ consent: stream }: { consent: string }) =>
      engine.record(async () => ({ targets: [{ stream, message }] }))
    // They share commits, and one that fails does not stop the others.
    const results = await Promise.allSettled(rows.map(record))
    failed ??= results.find(each => each.status === 'rejected')
    const end = rows.at(-1)
    if (!end && failed) throw failed.reason
    if (!end) return
    last = end
    await yieldToEventLoop()
  }
}

/** A page of expired consents after the last one, by an index of only these. */
async function selectExpired({ views }: ApiContext, now: Instant, last: { consent: string; at: Instant }) {
  const rows = await views
    .selectFrom('consents')
    .select(['consent', 'lapses_at'])
    .where('lapses_at', '>=', last.at)
    .where('lapses_at', '<=', now)
    .where(eb => eb.or([eb('lapses_at', '>', last.at), eb('consent', '>', last.consent)]))
    .orderBy('lapses_at')
    .orderBy('consent')
    .limit(lapsesPageRows)
    .execute()
  return rows.map(({ consent, lapses_at: at }) => ({ consent, at: at ?? now }))
}

/** Selects the consents that expire after now, the next one first. */
function selectComing({ views, clock }: ApiContext) {
  const open = views.selectFrom('consents').select(['consent', 'lapses_at']).orderBy('lapses_at')
  return open.where('lapses_at', '>', toInstant(clock.now()))
}

/** When the next consent expires. */
export async function nextLapseAt(context: ApiContext): Promise<number> {
  const next = await undefinedIfStopped(selectComing(context).limit(1).executeTakeFirst())
  return next?.lapses_at ? fromInstant(next.lapses_at) : Number.POSITIVE_INFINITY
}

/** The consents that expire until an instant. */
export async function lapsesUntil(context: ApiContext, until: Instant): Promise<DueItem[]> {
  const rows = await selectComing(context).where('lapses_at', '<=', until).execute()
  return rows.flatMap(({ consent, lapses_at: at }) => (at === null ? [] : [{ what: 'expiry', at, id: consent }]))
}
