import { statSync } from 'node:fs'
import { describeLostErasures } from '../../store/owners/lost-erasures.ts'
import { describeError } from '../../vocabulary/error-words.ts'
import { clockSkewMaxMs, fromInstant, toInstant } from '../../vocabulary/instant.ts'
import { keyringPath } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import { checkPending, type HealthChecks } from '../health-check.ts'

/** Checks of the log's own file and process. */
export function logChecks({ store, followers, options, clock, engine }: ApiContext): HealthChecks {
  return {
    async store() {
      const last = await store.readLast()
      return { ok: last !== undefined, detail: `${last?.position ?? 0} events` }
    },
    async writing() {
      await store.trial.run(store.secrets.leases)
      return { ok: true, detail: 'it can be written' }
    },
    async keyring() {
      const path = keyringPath(options.store)
      if (options.store === ':memory:' || (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0)
        return { ok: true, detail: store.vault.keyring.id }
      return {
        ok: false,
        detail: 'its file is missing or empty: restore it, because the log cannot be opened again without it',
      }
    },
    async times() {
      const at = (await store.readLast())?.at ?? toInstant(clock.now())
      if (fromInstant(at) - clock.now() <= clockSkewMaxMs) return { ok: true, detail: 'no event is ahead of the clock' }
      const consequence = 'events recorded until then get that time, and retention counts its days from it'
      return { ok: false, detail: `the last event is of ${at}, ahead of the clock: ${consequence}` }
    },
    async erasures() {
      const lost = describeLostErasures(await store.owners.lostErasures())
      return { ok: lost === undefined, detail: lost ?? 'no erasure was lost' }
    },
    async views() {
      const stopped = (await store.viewProgress()).filter(each => !each.isRunning)
      if (stopped.length === 0) return { ok: true, detail: 'all views run' }
      const each = stopped.map(({ view, reason }) => `${view} has stopped: ${reason}`).join('; ')
      return { ok: false, detail: `${each}: run or rebuild recovers what it can` }
    },
    async effects() {
      return checkPending(await store.countPending(), await engine.listLeftToOthers())
    },
    async followers() {
      const parked = (await followers.list()).filter(each => each.isParked).map(each => each.name)
      const troubled = [...followers.troubles].map(([name, why]) => `${name} cannot continue: ${describeError(why)}`)
      const waiting = parked.length > 0 ? [`${parked.join(', ')} parked: use log.retry or log.skip`] : []
      if (waiting.length + troubled.length === 0) return { ok: true, detail: 'no follower is parked' }
      return { ok: false, detail: [...waiting, ...troubled].join('; ') }
    },
  }
}
