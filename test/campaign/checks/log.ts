import { Faults } from '../../../src/proof/faults.ts'
import { checkViews } from '../../../src/store/checks/check-views.ts'
import { Snapshot } from '../../../src/store/database/snapshot.ts'
import { HeaderReader } from '../../../src/store/log/header.ts'
import { readViewProgress } from '../../../src/store/views/projector.ts'
import type { Sqlite } from '../../support/sqlite.ts'
import { useDatabase } from '../../support/use-database.ts'
import type { AcknowledgedCommand, Checks } from '../check.ts'
import { followedTypes } from '../host.ts'
import { TransitionTracker } from '../transitions.ts'

/** How many of the newest commands are repeated at the end, and as many of all, evenly spread. */
const repeatedCount = 15

/** The statuses that may still change. */
const openStatuses = new Set(['pending', 'deferred', 'unknown'])

/** The effects that may have been done at a service since a backup. Readings and local effects do not matter. */
const externalEffects = [
  ...['consentService.changeStatus', 'tokenService.requestToken', 'validationService.validatePerson'],
  ...['portal.changeSubscription', 'portal.deleteSubscription', 'portal.subscribe'],
]

const selectPending = `select stream.name || '/' || event.version || '/' || effect.n from effect
  join event on event.position = effect.position join stream on stream.key = effect.stream
  where effect.is_open = 1 and effect.state <> 'unknown'
  and effect.type in (${externalEffects.map(() => '?').join()})`

export const logChecks: Checks = {
  /** The times of the log never decrease, and the versions of a stream have no gap. */
  'orderly-log': ({ runRecord }, report) => {
    const versions = new Map<string, number>()
    return {
      rolledBack(to) {
        versions.clear()
        for (const { stream, version } of runRecord.log.slice(0, to.position)) versions.set(stream, version)
      },
      recorded({ position, stream, version, at }) {
        const lastAt = runRecord.log.at(-2)?.at ?? ''
        if (at < lastAt) report(`event ${position} has the time ${at}, after an event of ${lastAt}`)
        const before = versions.get(stream) ?? 0
        if (version !== before + 1) report(`version ${version} of ${stream} follows ${before}`)
        versions.set(stream, version)
      },
    }
  },

  /** The follower is called for every event of its types, in order. */
  'follower-order': ({ runRecord }, report) => {
    const done = new Set<number>()
    const types = new Set<string>(followedTypes)
    let last = 0
    return {
      followed({ position }, isDone) {
        // Only the last event may be repeated.
        if (position < last) report(`the follower was called for ${position} after ${last}`)
        if (position > last && last > 0 && !done.has(last))
          report(`the follower continued at ${position} before ${last} was done`)
        last = position
        if (isDone) done.add(position)
      },
      rolledBack(to) {
        last = 0
        for (const each of done) if (each > to.position) done.delete(each)
      },
      async end() {
        for (const { position, type } of runRecord.log)
          if (types.has(type) && !done.has(position)) report(`the follower was never called for ${type} at ${position}`)
        if (runRecord.log.length === 0) runRecord.fail('campaign', 'the log was never read')
      },
    }
  },

  /** Every acknowledged command is in the log at its position, and repeating it gives the same answer. */
  'nothing-lost': ({ runRecord, erased, host }, report) => {
    const acknowledged = new Map<string, AcknowledgedCommand>()
    const compare = (before: AcknowledgedCommand, now: Pick<AcknowledgedCommand, 'position' | 'status'>) => {
      const { commandId, position, status, isVerdict } = before
      if (now.position !== position) report(`${commandId} was at ${position}, but is at ${now.position} now`)
      if (!openStatuses.has(status) && !isVerdict && now.status !== status)
        report(`${commandId} was ${status}, but is ${now.status} now`)
    }
    return {
      acknowledged(now) {
        const before = acknowledged.get(now.commandId)
        if (before) compare(before, now)
        acknowledged.set(now.commandId, now)
      },
      rolledBack(to) {
        for (const [commandId, each] of acknowledged) {
          if (each.position > to.position) acknowledged.delete(commandId)
          // The restore may have lost its end.
          else acknowledged.set(commandId, { ...each, status: 'unknown' })
        }
      },
      async end() {
        const all = [...acknowledged.values()]
        for (const { commandId, position } of all) {
          const found = runRecord.log[position - 1]?.commandId
          if (found !== commandId)
            report(`${commandId} was acknowledged at ${position}, but that event is of ${found ?? 'no command'}`)
        }
        const stride = Math.max(1, Math.floor(all.length / repeatedCount))
        // The CPF of an erased person is unknown, or belongs to a new subject.
        const erasureErrors = erased.size > 0 ? (['NOT_FOUND', 'INVALID_INPUT'] as const) : []
        const chosen = new Set([...all.slice(-repeatedCount), ...all.filter((_, i) => i % stride === 0)])
        for (const each of chosen) {
          const now = await host.askFor(each.again, erasureErrors)
          if (now) compare(each, now)
        }
      },
    }
  },

  /** Effects that were pending in a backup become unknown after its restore, because they may have been done since. */
  'unknown-after-restore': ({ disk, runRecord }, report) => {
    let pending = new Set<unknown>()
    return {
      rolledBack() {
        const select = (database: Sqlite) => database.column(selectPending, ...externalEffects)
        pending = new Set(useDatabase(disk.path, select, { readOnly: true }))
        if (pending.size > 0) runRecord.markReached('pending before a restore')
      },
      recorded({ settles, position }) {
        if (!settles || !pending.has(settles.effect) || settles.as === 'unknown') return
        report(`${settles.effect} was pending before a restore, but is ${settles.as} by the event ${position}`)
      },
    }
  },

  /**
   * The rows of each view equal a replay of the log, and every view is up to date. This reads the file without the
   * engine; the deed `rebuild` checks the engine's own rebuilds.
   */
  'views-equal-replay': (simulated, report) => ({
    async end() {
      const { views } = simulated.version
      await simulated.close()
      await using reading = await Snapshot.open(simulated.disk.path)
      const faults = new Faults()
      await checkViews(reading, views, new HeaderReader({}), faults, async () => true)
      for (const { examples } of faults.list()) for (const example of examples) report(example)
      const progress = await reading.read(readViewProgress)
      for (const { name, version } of views) {
        const found = progress.some(each => each.view === name && each.version === version && each.isRunning)
        if (!found) report(`${name} of version ${version} is not up to date`)
      }
    },
  }),

  /** Never fails: it records which transitions of the machines a run made. */
  'transitions-walked': ({ runRecord }) => {
    const walk = new TransitionTracker()
    return {
      rolledBack: to => walk.startOver(runRecord.log.slice(0, to.position)),
      recorded(event) {
        for (const name of walk.step(event)) runRecord.reached.add(name)
      },
    }
  },
}
