import { statSync } from 'node:fs'
import { misdirectedCode } from '../../adapters/token/client.ts'
import type { Followers } from '../../engine/following/followers.ts'
import { remainingMs } from '../../machines/token.ts'
import { describeLostErasures } from '../../store/owners/lost-erasures.ts'
import type { TokenRow } from '../../views/tokens.ts'
import { inWords } from '../../vocabulary/error-words.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { Area } from '../area.ts'
import { planSync, type SyncPlan } from '../consents/sync-plan.ts'
import { countStandingUnmade } from '../consents/unmade-changes.ts'
import { type Check, certificates, type Found, own } from '../found.ts'
import type { RefusedNotifications } from '../receiver/refused-notifications.ts'
import type { SubscriptionTroubles } from '../subscriptions/troubles.ts'
import { checkCertificates } from './certificate-checks.ts'
import { countTroubled, type Troubled } from './figures.ts'
import { clockSkewMaxMs, reachServices } from './reach-services.ts'

/** How averba is. */
export interface Health {
  /**
   * It can take work: the store can be read and written, keyring and views are well, and no certificate has expired or
   * is missing. Whatever else is wrong needs a person; another process would not help.
   */
  readonly ready: boolean
  /** Why it is not ready, in words. */
  readonly reasons: readonly string[]
  readonly checks: readonly Check[]
}

/** What to look at. */
export interface HealthOptions {
  /** These alone; all that ask nobody when absent. */
  readonly only?: readonly Check['name'][]
  /** Asks the services too: a connection and a `HEAD /` each, never one of their operations. */
  readonly reach?: boolean
}

/** Without these nothing can be done. */
const vital: ReadonlySet<string> = new Set(['store', 'writing', 'keyring', 'views'])

function isCertificate(name: string): boolean {
  return certificates.some(each => each === name)
}

/** A certificate that ends soon is no obstacle yet; one that cannot be used has no days left. */
function standsInTheWay({ name, ok, daysLeft }: Check): boolean {
  return !ok && (vital.has(name) || (isCertificate(name) && daysLeft === undefined))
}

/** What is looked at. */
interface Looked {
  readonly area: Area
  readonly followers: Followers
  readonly troubles: SubscriptionTroubles
  readonly refused: RefusedNotifications
}

/** Looks at everything that a host or an operator has to know of. Never throws. */
export async function checkHealth(
  { area, followers, troubles, refused }: Looked,
  { only, reach = false }: HealthOptions = {},
): Promise<Health> {
  const { store, rows, views, options, clock } = area
  const looks: Record<(typeof own)[number], () => Promise<Found | undefined>> = {
    async store() {
      const last = await store.readLast()
      return { ok: last !== undefined, detail: `${last?.position ?? 0} events` }
    },
    async writing() {
      await store.trial.make(store.secrets.leases)
      return { ok: true, detail: 'it can be written' }
    },
    async keyring() {
      const path = `${options.store}.keys`
      if (options.store === ':memory:' || (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0)
        return { ok: true, detail: store.vault.keyring.id }
      return {
        ok: false,
        detail: 'its file is gone or empty: put it back, the log cannot be opened again without it',
      }
    },
    async times() {
      const at = (await store.readLast())?.at ?? toInstant(clock.now())
      if (fromInstant(at) - clock.now() <= clockSkewMaxMs)
        return { ok: true, detail: 'no event is ahead of the clock' }
      const until = 'what is recorded until then bears that time, and retention counts its days from it'
      return { ok: false, detail: `the last event is of ${at}, ahead of the clock: ${until}` }
    },
    async erasures() {
      const lost = describeLostErasures(await store.owners.lostErasures())
      return { ok: lost === undefined, detail: lost ?? 'none is lost' }
    },
    async views() {
      const stopped = (await store.checkpoints()).filter(each => !each.isRunning)
      if (stopped.length === 0) return { ok: true, detail: 'all of them run' }
      const each = stopped.map(({ view, because }) => `${view} stands still: ${because}`).join('; ')
      return { ok: false, detail: `${each}: run brings back what can be, and so does rebuild` }
    },
    async effects() {
      return foundOwed(await store.countOwed(), await area.engine.left())
    },
    async followers() {
      const parked = (await followers.list()).filter(each => each.isParked).map(each => each.name)
      const troubled = [...followers.troubles].map(([name, why]) => `${name} cannot go on: ${inWords(why)}`)
      const waiting = parked.length > 0 ? [`${parked.join(', ')} parked: see log.retry and log.skip`] : []
      if (waiting.length + troubled.length === 0) return { ok: true, detail: 'none is parked' }
      return { ok: false, detail: [...waiting, ...troubled].join('; ') }
    },
    async notifications() {
      return foundTroubled(await countTroubled(views))
    },
    async consents() {
      if (!options.consentService) return undefined
      return foundFresh(await planSync(area), await countStandingUnmade(area))
    },
    async token() {
      if (!options.tokenService) return undefined
      const stream = `token-${options.tokenService.credential ?? 'default'}`
      const row = await rows.find('tokens', stream)
      const wrong = row && wrongOf(row, toInstant(clock.now()))
      if (wrong !== undefined) return { ok: false, detail: wrong }
      const [asked] = await store.effects({ stream, states: ['deferred'] })
      if (!asked?.because.startsWith(misdirectedCode)) return { ok: true, detail: 'not locked' }
      return {
        ok: false,
        detail: `${asked.because}: correct tokenService.url, then effects.retry("${asked.id}")`,
      }
    },
    subscriptions: () => troubles.look(),
    async receiver() {
      const isConcerned = options.receiver || (options.subscriptions ?? []).length > 0
      return isConcerned ? refused.look() : undefined
    },
  }
  const checks: Check[] = []
  for (const name of own) {
    if (only && !only.includes(name)) continue
    const found = await looks[name]().catch((error: unknown) => ({ ok: false, detail: inWords(error) }))
    if (found) checks.push({ name, ...found })
  }
  if (!only || only.some(isCertificate)) checks.push(...(await checkCertificates(options, clock)))
  if (reach) checks.push(...(await reachServices(options, clock)))
  const inTheWay = checks.filter(standsInTheWay)
  return {
    ready: inTheWay.length === 0,
    reasons: inTheWay.map(each => `${each.name}: ${each.detail}`),
    checks,
  }
}

/** What is wrong with a token, in words. Once a wait is over, the next call asks. */
function wrongOf({ state, waits_until }: TokenRow, now: Instant): string | undefined {
  if (state !== 'locked' && remainingMs(waits_until ?? '', now) === 0) return undefined
  const wait = `nobody asks for another before ${waits_until}: find out why calls are answered 401`
  if (state === 'locked') return 'the gateway refused the consumer key and secret: correct them'
  if (state === 'repeated') return `the gateway gave the rejected token again, and ${wait}`
  if (state === 'rejected')
    return `one token after the other is refused soon after the gateway gives it, and ${wait}`
  return undefined
}

/**
 * A summary of the calls that have not ended. Doubt is not a fault of the log, but a person has to know of it. `left`
 * names those that are due and wait for a process with another address.
 */
export function foundOwed(
  owed: readonly { readonly state: string; readonly count: number }[],
  left: readonly string[] = [],
): Found {
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
export function foundTroubled({ failing, parked }: Troubled): Found {
  const detail = `${parked} parked, ${failing} to be tried again`
  if (parked === 0) return { ok: true, detail }
  return { ok: false, detail: `${detail}: mend the handler, then notifications.replay({ parked: true })` }
}

/** How fresh consents are kept, which stand against a no of ours that was not made, and what to do about both. */
function foundFresh(plan: SyncPlan, unmade: number): Found {
  const { ok, detail, overdue, requestsPerSecond, neededPerSecond } = plan
  const isTight = requestsPerSecond !== null && neededPerSecond > requestsPerSecond
  const advice = [
    isTight && 'raise requestsPerSecond, or syncEveryMs',
    overdue > 0 &&
      'effects.list(), and subject.readDeclined and subject.synced in the log, say why, where run or settle does',
  ].filter(each => each !== false)
  const fresh = ok ? detail : `${detail}: ${advice.join('; ')}`
  if (unmade === 0) return { ok, detail: fresh }
  const stand =
    unmade === 1
      ? '1 denial or revocation was not made, and the consent stands: revoke it'
      : `${unmade} denials or revocations were not made, and the consents stand: revoke them`
  return { ok: false, detail: `${stand}; ${fresh}` }
}
