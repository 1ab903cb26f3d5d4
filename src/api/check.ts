import type { ServiceName } from '../vocabulary/service-name.ts'

/** What is looked at in this process and its file, without asking anybody. */
export const own = [
  ...([
    'store',
    'writing',
    'keyring',
    'times',
    'erasures',
    'views',
    'effects',
    'followers',
    'notifications',
    'consents',
    'token',
    'subscriptions',
    'receiver',
  ] as const),
]

/** The certificates that are looked at. */
export const certificates = ['certificate', 'portalCertificate', 'receiverCertificate'] as const

/** The services that are reached for, and what their answers say of our clock. */
type ReachedService = ServiceName | 'clock'

/** What was found at one thing. */
export interface CheckResult {
  readonly ok: boolean
  /** What was found, in words without personal data, and what to do when it is not well. */
  readonly detail: string
  readonly daysLeft?: number
}

/** One thing that was looked at. */
export interface HealthCheck extends CheckResult {
  readonly name: (typeof own)[number] | (typeof certificates)[number] | ReachedService | 'configuration'
}

/** What is looked at, by name: `undefined` where the options do not concern it. */
export type HealthChecks = Readonly<
  Partial<Record<HealthCheck['name'], () => Promise<CheckResult | undefined>>>
>

/**
 * A summary of the calls that have not ended. Doubt is not a fault of the log, but a person has to know of it. `left`
 * names those that are due and wait for a process with another address.
 */
export function checkPending(
  owed: readonly { readonly state: string; readonly count: number }[],
  left: readonly string[] = [],
): CheckResult {
  const count = (state: string) =>
    owed.filter(each => each.state === state).reduce((sum, each) => sum + each.count, 0)
  const parked = count('parked')
  const unknown = count('unknown')
  const see = [
    ...(parked > 0 ? ['effects.retry'] : []),
    ...(unknown > 0 ? ["effects.list({ state: 'unknown' })"] : []),
  ]
  const detail = `${parked} parked, ${unknown} in doubt`
  const told = see.length > 0 ? `${detail}: see ${see.join(' and ')}` : detail
  if (left.length === 0) return { ok: parked === 0, detail: told }
  const waits = `${left.length} due that were asked of another address or service, ${left[0]} the first`
  const advice =
    'run a process with the one that they were asked of, name it as knownAs where it has moved, or hold them by effects.park'
  return { ok: false, detail: `${told}; ${waits}: ${advice}` }
}

/** A summary of the notifications that a handler has failed at. */
export function checkHandlers({
  failing,
  parked,
}: {
  readonly failing: number
  readonly parked: number
}): CheckResult {
  const detail = `${parked} parked, ${failing} to be tried again`
  if (parked === 0) return { ok: true, detail }
  return { ok: false, detail: `${detail}: mend the handler, then notifications.replay({ parked: true })` }
}
