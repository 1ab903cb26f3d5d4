import { type Averba, type Call, type Figures, type Health, type Subscription, systemClock } from '../index.ts'
import { dayMs, fromInstant, toInstant } from '../vocabulary/instant.ts'
import type { EffectState, Instant } from '../vocabulary/message.ts'
import { readPastRows, takeFirst } from './stream-row.ts'

/** Consents that expire within so many days are counted. */
export const expiringDays = 7

/** Consents that expire soon are counted, and subscriptions that we deleted ourselves are left out. */
export type Overview = Awaited<ReturnType<typeof readOverview>>

/** Something that a person has to see to. */
export interface Need {
  /** The name of a failed check, or what is in doubt or gone. */
  readonly what: Health['checks'][number]['name'] | 'undecided' | 'deleted'
  /** What was found, and what to do: in English, as the checks say it; otherwise what it is about. */
  readonly detail: string
}

/** Reads the state of a log at a glance. No service is contacted. */
export async function readOverview(averba: Averba) {
  const [figures, health] = [await averba.figures(), await averba.health()]
  const counted = averba.views.selectFrom('consents').where('lapses_at', '<=', await expiryLimit(averba))
  const [row] = await counted.select(({ fn }) => fn.countAll<number>().as('count')).execute()
  const subscriptions = await listSubscriptions(averba)
  const unknown = await averba.effects.list({ state: 'unknown' })
  const needs = needsOf(health.checks, subscriptions, unknown)
  return { figures, health, expiring: Number(row?.count ?? 0), subscriptions, needs }
}

/** Reads the same at a past moment, as far as the log tells it: checks and followers are of now. */
export async function readPastOverview(averba: Averba, knownAt: Instant | number) {
  const until = await expiryLimit(averba, knownAt)
  const consents = await readPastRows(averba, 'consents', knownAt)
  const expiring = consents.filter(({ lapses_at: at }) => at !== null && at <= until).length
  const notifications = await readPastRows(averba, 'notifications', knownAt)
  const parked = notifications.filter(({ state }) => state === 'parked').length
  const open = await averba.effects.list({ state: 'open', knownAt })
  const subscriptions = await listSubscriptions(averba, knownAt)
  const figures = { effects: open.map(({ state }) => ({ state, count: 1 })), notifications: { parked } }
  return { figures, expiring, subscriptions, needs: needsOf([], subscriptions, open) }
}

/** Until when a consent expires within `expiringDays` of now, or of a past moment. */
export async function expiryLimit({ log }: Averba, knownAt?: Instant | number): Promise<Instant> {
  const [event] = typeof knownAt === 'number' ? await takeFirst(log.read({ after: Math.max(0, knownAt - 1) }), 1) : []
  const at = typeof knownAt === 'string' ? knownAt : event?.at
  return toInstant((at === undefined ? systemClock.now() : fromInstant(at)) + expiringDays * dayMs)
}

async function listSubscriptions({ subscriptions }: Averba, knownAt?: Instant | number): Promise<Subscription[]> {
  return (await subscriptions.list({ inactive: true, knownAt })).filter(({ deletedBy }) => deletedBy !== 'us')
}

function needsOf(checks: Health['checks'], subscriptions: readonly Subscription[], calls: readonly Call[]): Need[] {
  const undecided = calls.filter(({ waiting }) => waiting?.for === 'person').length
  return [
    ...checks.filter(({ ok }) => !ok).map(({ name, detail }) => ({ what: name, detail })),
    // Also without a configuration, which the check of subscriptions needs.
    ...subscriptions
      .filter(({ deletedBy }) => deletedBy === 'portal')
      .map(({ evento }) => ({ what: 'deleted', detail: evento }) as const),
    ...(undecided === 0 ? [] : [{ what: 'undecided', detail: String(undecided) } as const]),
  ]
}

export function countCalls(effects: readonly Pick<Figures['effects'][number], 'state' | 'count'>[]) {
  const counts = new Map<EffectState, number>()
  for (const { state, count } of effects) counts.set(state, (counts.get(state) ?? 0) + count)
  return counts
}
