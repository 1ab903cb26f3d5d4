import type { Machine } from '../../machines/definition/machine.ts'
import type { Follower } from '../../store/ledger/follower-table.ts'
import { endOfLog } from '../../store/log/read.ts'
import { describeLostErasures, findLostErasures } from '../../store/owners/keyring-faults.ts'
import { describeError } from '../../vocabulary/error-words.ts'
import { clockSkewMaxMs, dayMs, fromInstant, toInstant, wrongClockMs } from '../../vocabulary/instant.ts'
import { parseEffectId, serviceNames, serviceOf } from '../../vocabulary/names.ts'
import { type ApiContext, effectPages } from '../api-context.ts'
import { logForeignAnswers } from '../foreign-answers.ts'
import { checkPending, type HealthChecks } from '../health-check.ts'
import type { DueItem, Figures, Module, PendingFigure } from '../module.ts'
import { createEffects, type Effects } from './effects.ts'
import { createLog, type Log } from './log.ts'

export type { Effects } from './effects.ts'
export type { Log } from './log.ts'

export function createLogModule(
  context: ApiContext,
  machines: readonly Machine[],
): Module<{ log: Log; effects: Effects }> {
  const { store } = context
  logForeignAnswers(context)
  return {
    methods: { log: createLog(context, machines), effects: createEffects(context) },
    checks: logChecks(context),
    due: async until => {
      const items: DueItem[] = []
      for await (const page of effectPages(store, ['pending', 'deferred']))
        for (const { id, data, dueAt: at } of page) {
          if (at === undefined || at > until) continue
          const isRecurring = typeof data === 'object' && data !== null && 'everyMs' in data
          items.push({ what: isRecurring ? 'sync' : 'call', at, id })
        }
      return items
    },
    figures: () => readLogFigures(context),
  }
}

const keyEffects = ['keys.rotate', 'keys.destroyEpochs']

/** How far the clock of a host and that of the server may differ. */
const clockFaultMs = 2_000

/** The first of some names, for a command: one that a shell may take for something else is not written into it. */
function nameIn([name = '']: readonly string[]): string {
  return /^[\w.@:/-]+$/.test(name) ? name : '<name>'
}

function logChecks({ store, followers, clock, engine }: ApiContext): HealthChecks {
  return {
    async store() {
      const last = await store.readLast()
      const fault = await store.findClockFault(wrongClockMs)
      if (fault !== undefined) return { ok: false, detail: `it takes no new work: ${fault}: set both by NTP` }
      return { ok: last !== undefined, detail: `it holds ${last?.position ?? 0} events` }
    },
    async writing() {
      await store.checkKnown()
      await store.secrets.leases.tryWriting()
      return { ok: true, detail: 'it can be written' }
    },
    async keyring() {
      const { keyring } = store.vault
      try {
        await store.checkKeyring()
        return { ok: true, detail: keyring.id }
      } catch (error) {
        return { ok: false, detail: describeError(error) }
      }
    },
    async times() {
      const fault = await store.findClockFault(clockFaultMs)
      if (fault !== undefined) return { ok: false, detail: `${fault}: set both by NTP` }
      const at = (await store.readLast())?.at ?? toInstant(clock.now())
      if (fromInstant(at) - clock.now() <= clockSkewMaxMs) return { ok: true, detail: 'no event is ahead of the clock' }
      const consequence = 'events recorded until then get that time, and retention counts its days from it'
      return { ok: false, detail: `the last event is of ${at}, ahead of the clock: ${consequence}` }
    },
    async erasures() {
      const { erased } = store.vault.keyring
      const lost = describeLostErasures(await store.database.read(() => findLostErasures(store.headers, erased)))
      if (lost !== undefined) return { ok: false, detail: lost }
      const states = ['pending', 'started', 'deferred'] as const
      const areOpen = (await store.countPending()).some(({ type }) => keyEffects.includes(type))
      const open = areOpen ? await store.effects({ states, types: keyEffects }) : []
      for (const { id, state, dueAt, position, reason } of open) {
        if (state === 'pending' && dueAt !== undefined && fromInstant(dueAt) > clock.now()) continue
        const event = await store.readAt(position)
        const since = event?.effects?.[parseEffectId(id)[2]]?.dueAt ?? event?.at
        if (since === undefined || clock.now() - fromInstant(since) <= dayMs) continue
        const why = state === 'deferred' ? reason : 'no process makes its calls'
        return { ok: false, detail: `an erasure is not complete for over a day: see effects.get("${id}"): ${why}` }
      }
      return { ok: true, detail: 'no erasure was lost' }
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
      const all = await followers.list()
      const parked = all.filter(each => each.isParked).map(each => each.name)
      const elsewhere = all.filter(each => each.takenUntil !== null).map(each => each.name)
      const troubled = [...followers.troubles].map(([name, why]) => `${name} cannot continue: ${describeError(why)}`)
      const abandoned = (await followers.listAbandoned(all)).map(each => each.name)
      const waiting = [
        ...(parked.length > 0
          ? [`${parked.join(', ')} parked: use log.retry("${nameIn(parked)}") or log.skip("${nameIn(parked)}")`]
          : []),
        ...(abandoned.length > 0
          ? [
              `no process has run ${abandoned.join(', ')} for a day: run it, or use log.unfollow("${nameIn(abandoned)}")`,
            ]
          : []),
      ]
      if (waiting.length + troubled.length === 0) {
        const others = elsewhere.length > 0 ? `; in another process: ${elsewhere.join(', ')}` : ''
        return { ok: true, detail: `no follower is parked${others}` }
      }
      return { ok: false, detail: [...waiting, ...troubled].join('; ') }
    },
  }
}

type LogFigures = Pick<Figures, 'position' | 'effects' | 'underWay' | 'views' | 'followers'>

async function readLogFigures({ store, engine }: ApiContext): Promise<LogFigures> {
  const position = await store.database.read(endOfLog)
  const followed = await store.followers.list()
  const behind = (at: number) => Math.max(0, position - at)
  // A saved position may lag behind events of other types: what counts is the next one of its own.
  const behindOf = async ({ position: at, types }: Follower) => {
    const next = await store.followers.next(at, types ?? undefined)
    return next === undefined ? 0 : behind(next - 1)
  }
  return {
    position,
    effects: sumFigures(
      (await store.countPending()).map(({ type, state, count }) => ({
        service: serviceNames.find(name => name === serviceOf(type)) ?? 'other',
        effectClass: engine.classOf(type) ?? 'other',
        state,
        count,
      })),
    ),
    underWay: engine.inFlight,
    views: (await store.viewProgress()).map(({ view, isRunning, position: at }) => {
      return { view, behind: behind(at), isRunning }
    }),
    followers: {
      count: followed.length,
      parked: followed.filter(each => each.isParked).length,
      behindMax: Math.max(0, ...(await Promise.all(followed.map(behindOf)))),
    },
  }
}

function sumFigures(figures: readonly PendingFigure[]): PendingFigure[] {
  const sums = new Map<string, PendingFigure>()
  for (const figure of figures) {
    const key = `${figure.service} ${figure.effectClass} ${figure.state}`
    sums.set(key, { ...figure, count: figure.count + (sums.get(key)?.count ?? 0) })
  }
  return [...sums.values()]
}
