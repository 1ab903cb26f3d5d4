import { existsSync } from 'node:fs'
import type { Area } from './area.ts'
import { AverbaError } from './errors.ts'
import type { Followers } from './followers.ts'
import type { Schedules } from './schedules.ts'
import { planSync } from './sync-plan.ts'

/** One thing that was looked at. */
export interface Check {
  readonly name:
    | 'store'
    | 'keyring'
    | 'views'
    | 'effects'
    | 'followers'
    | 'consents'
    | 'certificate'
    | 'token'
  readonly ok: boolean
  /** What was found, in words without personal data, and what to do when it is not well. */
  readonly detail: string
  readonly daysLeft?: number
}

/** How averba is. */
export interface Health {
  /** It can record: store and keyring are well. What else is not well takes a person, and no other process. */
  readonly ready: boolean
  readonly checks: readonly Check[]
}

/** From when on a certificate that ends is not well. */
const certificateDaysMin = 7

/** Looks at everything that a host or an operator has to know of, without asking a service. Never throws. */
export async function checkHealth({
  area,
  followers,
  schedules,
}: {
  area: Area
  followers: Followers
  schedules: Schedules
}): Promise<Health> {
  const { store, views, options } = area
  const looks: Record<Check['name'], () => Promise<Omit<Check, 'name'> | undefined>> = {
    async store() {
      const [last] = await store.read({ backward: true, limit: 1 })
      return { ok: last !== undefined, detail: `${last?.position ?? 0} events` }
    },
    async keyring() {
      const path = `${options.store}.keys`
      if (options.store === ':memory:' || existsSync(path))
        return { ok: true, detail: store.vault.keyring.id }
      return { ok: false, detail: 'its file is gone: put it back, the log cannot be opened again without it' }
    },
    async views() {
      const stopped = (await store.checkpoints()).filter(each => !each.isRunning).map(each => each.view)
      if (stopped.length === 0) return { ok: true, detail: 'all of them run' }
      return { ok: false, detail: `${stopped.join(', ')} stand still: rebuild them` }
    },
    async effects() {
      const [parked, unknown] = await Promise.all([
        store.effects({ states: ['parked'] }),
        store.effects({ states: ['unknown'] }),
      ])
      const detail = `${parked.length} parked, ${unknown.length} in doubt`
      return {
        ok: parked.length === 0,
        detail: parked.length === 0 ? detail : `${detail}: see effects.retry`,
      }
    },
    async followers() {
      const parked = (await followers.list()).filter(each => each.isParked).map(each => each.name)
      if (parked.length === 0) return { ok: true, detail: 'none is parked' }
      return { ok: false, detail: `${parked.join(', ')} parked: see log.retry and log.skip` }
    },
    async consents() {
      if (!options.consentService) return undefined
      const { ok, detail } = await planSync(area)
      return { ok, detail: ok ? detail : `${detail}: raise requestsPerSecond, or syncEveryMs` }
    },
    async certificate() {
      const daysLeft = await schedules.certificateDaysLeft()
      if (daysLeft === undefined) return undefined
      return { ok: daysLeft >= certificateDaysMin, detail: `it ends in ${daysLeft} days`, daysLeft }
    },
    async token() {
      if (!options.tokenService) return undefined
      const rows = await views.selectFrom('tokens').select('token').where('state', '=', 'locked').execute()
      if (rows.length === 0) return { ok: true, detail: 'not locked' }
      return { ok: false, detail: 'the gateway refused the consumer key and secret: correct them' }
    },
  }
  const checks: Check[] = []
  for (const [name, look] of Object.entries(looks) as [Check['name'], (typeof looks)['store']][]) {
    const found = await look().catch((error: unknown) => ({ ok: false, detail: inWords(error) }))
    if (found) checks.push({ name, ...found })
  }
  const isVital = ({ name }: Check) => name === 'store' || name === 'keyring'
  return { ready: checks.filter(isVital).every(each => each.ok), checks }
}

/** Our own messages hold nothing personal and no secret; of others only the name is said. */
function inWords(error: unknown): string {
  if (error instanceof AverbaError) return error.message
  return error instanceof Error ? error.name : 'unknown'
}
