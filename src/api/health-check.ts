import type { ViewsHandle } from '../store/views/views-handle.ts'
import type { Views } from '../views/views.ts'
import type { ServiceName } from '../vocabulary/names.ts'
import { describeForeign, type ForeignCount } from './foreign-answers.ts'

/** The checks of this process and its store, which make no request. */
export const localChecks = [
  ...(['store', 'writing', 'keyring', 'times', 'erasures', 'views', 'effects', 'followers'] as const),
  ...(['notifications', 'consents', 'token', 'subscriptions', 'receiver'] as const),
]

/** The checks of certificates. */
export const tlsChecks = ['certificate', 'portalCertificate', 'receiverCertificate'] as const

type ServiceCheck = ServiceName | 'clock'

/** The checks of an examination alone. */
export const examinedChecks = ['configuration', 'answers', 'ports'] as const

/** The result of one check. */
export interface CheckResult {
  readonly ok: boolean
  /** What was found, without personal data, and what to do when it is not ok. Of an answer, long numbers are masked. */
  readonly detail: string
  readonly daysLeft?: number
}

/** The result of one check, with its name. */
export interface HealthCheck extends CheckResult {
  readonly name:
    | (typeof localChecks)[number]
    | (typeof tlsChecks)[number]
    | ServiceCheck
    | (typeof examinedChecks)[number]
}

/** Checks by name; the result is `undefined` when the options do not concern the check. */
export type HealthChecks = Readonly<Partial<Record<HealthCheck['name'], () => Promise<CheckResult | undefined>>>>

/**
 * Summarizes the calls that have not ended. Unknown outcomes are reported, but do not fail the check. `left` has the
 * ids of the due calls that wait for a process with another configuration.
 */
export function checkPending(pending: readonly ForeignCount[], left: readonly string[] = []): CheckResult {
  const count = (state: string) =>
    pending.filter(each => each.state === state).reduce((sum, each) => sum + each.count, 0)
  const parked = count('parked')
  const unknown = count('unknown')
  const see = [
    ...(parked > 0 ? ["effects.list({ state: 'parked' })"] : []),
    ...(unknown > 0 ? ["effects.list({ state: 'unknown' })"] : []),
  ]
  const detail = `${parked} parked, ${unknown} with an unknown outcome`
  const summary = see.length > 0 ? `${detail}: see ${see.join(' and ')}` : detail
  const foreign = describeForeign(pending)
  if (foreign.length > 0) return { ok: false, detail: [...foreign, summary].join('; ') }
  if (left.length === 0) return { ok: parked === 0, detail: summary }
  const waiting = `${left.length} due calls are of another address, service or declaration (first: ${left[0]})`
  const advice =
    'run a process configured for it, name the former address in knownAs if the service has moved, end them with effects.withdraw, or hold them with effects.park'
  return { ok: false, detail: `${summary}; ${waiting}: ${advice}` }
}

/** How many notifications a handler failed for. */
export interface HandlerTroubles {
  readonly failing: number
  readonly parked: number
}

export function checkHandlers({ failing, parked }: HandlerTroubles): CheckResult {
  const detail = `${parked} parked, ${failing} to be retried`
  if (parked === 0) return { ok: true, detail }
  return {
    ok: false,
    detail: `${detail}: fix the handler, then call notifications.replay({ failed: true }), or notifications.skip("<id>")`,
  }
}

/** Counts the notifications that handlers fail for, or that were parked. */
export function selectTroubled(views: Pick<ViewsHandle<Pick<Views, 'notifications'>>, 'selectFrom'>) {
  const counted = views.selectFrom('notifications').select(({ fn }) => ['trouble', fn.countAll<number>().as('count')])
  return counted.where('trouble', 'is not', null).groupBy('trouble')
}

export function toTroubles(
  rows: readonly { readonly trouble: string | null; readonly count: number }[],
): HandlerTroubles {
  const of = (state: keyof HandlerTroubles) => rows.find(each => each.trouble === state)?.count ?? 0
  return { failing: of('failing'), parked: of('parked') }
}
