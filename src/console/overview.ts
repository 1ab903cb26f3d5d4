import { type Averba, type Call, type Figures, type Health, type Subscription, systemClock } from '../index.ts'
import { dayMs, toInstant } from '../vocabulary/instant.ts'
import type { EffectState } from '../vocabulary/message.ts'

/** Consents that expire within so many days are counted. */
export const expiringDays = 7

export interface Overview {
  readonly figures: Figures
  readonly health: Health
  /** Consents that expire within `expiringDays`. */
  readonly expiring: number
  /** Those that we did not delete ourselves. */
  readonly subscriptions: readonly Subscription[]
  readonly needs: readonly Need[]
}

/** Something that a person has to see to. */
export interface Need {
  /** The name of a failed check, or what is in doubt or gone. */
  readonly what: Health['checks'][number]['name'] | 'undecided' | 'deleted'
  /** What was found, and what to do: in English, as the checks say it; otherwise what it is about. */
  readonly detail: string
}

/** Reads the state of a log at a glance. No service is contacted. */
export async function readOverview(averba: Averba): Promise<Overview> {
  const [figures, health] = [await averba.figures(), await averba.health()]
  const until = toInstant(systemClock.now() + expiringDays * dayMs)
  const counted = averba.views.selectFrom('consents').where('lapses_at', '<=', until)
  const [row] = await counted.select(({ fn }) => fn.countAll<number>().as('count')).execute()
  const all = await averba.subscriptions.list({ inactive: true })
  const subscriptions = all.filter(({ deletedBy }) => deletedBy !== 'us')
  const unknown = await averba.effects.list({ state: 'unknown' })
  const undecided = unknown.filter(({ waiting }) => waiting?.for === 'person')
  const needs = needsOf(health, subscriptions, undecided)
  return { figures, health, expiring: Number(row?.count ?? 0), subscriptions, needs }
}

function needsOf(health: Health, subscriptions: readonly Subscription[], undecided: readonly Call[]): Need[] {
  const failed = health.checks.filter(({ ok }) => !ok)
  return [
    ...failed.map(({ name, detail }) => ({ what: name, detail })),
    // Also without a configuration, which the check of subscriptions needs.
    ...subscriptions
      .filter(({ deletedBy }) => deletedBy === 'portal')
      .map(({ evento }) => ({ what: 'deleted', detail: evento }) as const),
    ...(undecided.length === 0 ? [] : [{ what: 'undecided', detail: String(undecided.length) } as const]),
  ]
}

export function countCalls({ effects }: Figures): ReadonlyMap<EffectState, number> {
  const counts = new Map<EffectState, number>()
  for (const { state, count } of effects) counts.set(state, (counts.get(state) ?? 0) + count)
  return counts
}
