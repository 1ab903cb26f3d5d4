import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { unlessStopped } from '../../store/views/view-reader.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { ApiContext } from '../api-context.ts'
import type { DueItem } from '../module.ts'

/** How many expired consents are looked up at once. */
const pageRows = 200

/** Tells consents whose time is over what time it is. The view only says whom to tell. */
export async function passTime(context: ApiContext): Promise<void> {
  const { clock, engine } = context
  const now = toInstant(clock.now())
  const message = { type: 'consent.passTime', data: { now } }
  let failed: PromiseRejectedResult | undefined
  for (let last = { consent: '', at: '' }; ; ) {
    // While the view stands still, nobody knows whom to tell: they are told once it has caught up.
    const rows = (await unlessStopped(lapsing(context, now, last))) ?? []
    const tell = ({ consent: stream }: { consent: string }) =>
      engine.record(async () => ({ targets: [{ stream, message }] }))
    // They meet in the same commits, and one that cannot be told holds up no other.
    const told = await Promise.allSettled(rows.map(tell))
    failed ??= told.find(each => each.status === 'rejected')
    const end = rows.at(-1)
    if (!end && failed) throw failed.reason
    if (!end) return
    last = end
    await yieldToEventLoop()
  }
}

/** A page of expired consents, after the last one: an index leads to them and holds no others. */
async function lapsing({ views }: ApiContext, now: Instant, last: { consent: string; at: Instant }) {
  const rows = await views
    .selectFrom('consents')
    .select(['consent', 'lapses_at'])
    .where('lapses_at', '>=', last.at)
    .where('lapses_at', '<=', now)
    .where(eb => eb.or([eb('lapses_at', '>', last.at), eb('consent', '>', last.consent)]))
    .orderBy('lapses_at')
    .orderBy('consent')
    .limit(pageRows)
    .execute()
  return rows.map(({ consent, lapses_at: at }) => ({ consent, at: at ?? now }))
}

/** The consents that come to their end until an instant. */
export async function lapsesUntil({ views, clock }: ApiContext, until: Instant): Promise<DueItem[]> {
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
