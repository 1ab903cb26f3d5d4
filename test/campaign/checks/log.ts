import { Faults } from '../../../src/proof/faults.ts'
import { checkViews } from '../../../src/store/checks/check-views.ts'
import { Snapshot } from '../../../src/store/database/snapshot.ts'
import { HeaderReader } from '../../../src/store/log/header.ts'
import { readViewProgress } from '../../../src/store/views/projector.ts'
import type { Sqlite } from '../../support/sqlite.ts'
import { useDatabase } from '../../support/use-database.ts'
import type { AcknowledgedCommand, CreateCheck } from '../check.ts'
import { followedTypes } from '../host.ts'
import { RewindableMap } from '../rewindable-map.ts'
import { TransitionTracker } from '../transitions.ts'

/** The times of the log never decrease, and the versions of a stream have no gap. */
export const orderlyLog: CreateCheck = (_, report) => {
  const versions = new RewindableMap<string, number>()
  const times: string[] = []
  return {
    rolledBack(to) {
      versions.rewind(to.position)
      times.splice(to.position)
    },
    recorded({ position, stream, version, at }) {
      const lastAt = times.at(-1) ?? ''
      if (at < lastAt) report(`event ${position} has the time ${at}, after an event of ${lastAt}`)
      times.push(at)
      const before = versions.get(stream) ?? 0
      if (version !== before + 1) report(`version ${version} of ${stream} follows ${before}`)
      versions.set(position, stream, version)
    },
  }
}

/** A follower is called for every event of its types, in order. */
export const followerOrder: CreateCheck = (simulated, report) => {
  const done = new Map<string, Set<number>>()
  const types = new Map([['livro', new Set<string>(followedTypes)]])
  const last = new Map<string, number>()
  const recorded: { readonly position: number; readonly type: string }[] = []
  return {
    followed(name, { position }, isDone) {
      const own = done.get(name) ?? new Set<number>()
      done.set(name, own)
      const before = last.get(name) ?? 0
      // Only the last event may be repeated.
      if (position < before) report(`${name} was called for ${position} after ${before}`)
      if (position > before && before > 0 && !own.has(before))
        report(`${name} continued at ${position} before ${before} was done`)
      last.set(name, position)
      if (isDone) own.add(position)
    },
    rolledBack(to) {
      recorded.splice(recorded.findLastIndex(({ position }) => position <= to.position) + 1)
      last.clear()
      for (const own of done.values()) for (const each of own) if (each > to.position) own.delete(each)
    },
    recorded: ({ position, type }) => void recorded.push({ position, type }),
    async end() {
      for (const [name, wanted] of types) {
        const own = done.get(name)
        const missed = recorded.filter(each => wanted.has(each.type) && !own?.has(each.position))
        for (const { position, type } of missed) report(`${name} was never called for ${type} at ${position}`)
      }
      if (recorded.length === 0) simulated.runRecord.fail('campaign', 'the log was never read')
    },
  }
}

/** How many of the newest commands are repeated at the end, and as many of all, evenly spread. */
const repeatedCount = 15

/** The statuses that may still change. */
const openStatuses = new Set(['pending', 'deferred', 'unknown'])

/** Every acknowledged command is in the log at its position, and repeating it gives the same answer. */
export const nothingLost: CreateCheck = (simulated, report) => {
  const acknowledged = new Map<string, AcknowledgedCommand>()
  const commandAt = new Map<number, string | undefined>()
  return {
    acknowledged(now) {
      const before = acknowledged.get(now.commandId)
      if (before) compare(before, now)
      acknowledged.set(now.commandId, now)
    },
    rolledBack(to) {
      for (const position of commandAt.keys()) if (position > to.position) commandAt.delete(position)
      for (const [commandId, each] of acknowledged) {
        if (each.position > to.position) acknowledged.delete(commandId)
        // The restore may have lost its end.
        else acknowledged.set(commandId, { ...each, status: 'unknown' })
      }
    },
    recorded: ({ position, commandId }) => void commandAt.set(position, commandId),
    async end() {
      for (const { commandId, position } of acknowledged.values()) {
        const found = commandAt.get(position)
        if (found !== commandId)
          report(`${commandId} was acknowledged at ${position}, but that event is of ${found ?? 'no command'}`)
      }
      const all = [...acknowledged.values()]
      const stride = Math.max(1, Math.floor(all.length / repeatedCount))
      // The CPF of an erased person is unknown, or belongs to a new subject.
      const erasureErrors = simulated.erased.size > 0 ? (['NOT_FOUND', 'INVALID_INPUT'] as const) : []
      const chosen = new Set([...all.slice(-repeatedCount), ...all.filter((_, i) => i % stride === 0)])
      for (const each of chosen) {
        const now = await simulated.host.askFor(each.again, erasureErrors)
        if (now) compare(each, now)
      }
    },
  }

  function compare(before: AcknowledgedCommand, now: Pick<AcknowledgedCommand, 'position' | 'status'>): void {
    const { commandId, position, status, isVerdict } = before
    if (now.position !== position) report(`${commandId} was at ${position}, but is at ${now.position} now`)
    if (!openStatuses.has(status) && !isVerdict && now.status !== status)
      report(`${commandId} was ${status}, but is ${now.status} now`)
  }
}

/** The effects that may have been done at a service since a backup. Readings and local effects do not matter. */
const externalEffects = [
  'consentService.changeStatus',
  'portal.changeSubscription',
  'portal.deleteSubscription',
  'portal.subscribe',
  'tokenService.requestToken',
  'validationService.validatePerson',
]

/** Effects that were pending in a backup become unknown after its restore, because they may have been done since. */
export const unknownAfterRestore: CreateCheck = (simulated, report) => {
  let pending = new Set<string>()
  return {
    rolledBack() {
      pending = pendingEffects(simulated.disk.path)
      if (pending.size > 0) simulated.runRecord.markReached('pending before a restore')
    },
    recorded({ settles, position }) {
      if (!settles || !pending.has(settles.effect) || settles.as === 'unknown') return
      report(`${settles.effect} was pending before a restore, but is ${settles.as} by the event ${position}`)
    },
  }
}

/** The ids of the pending effects of a log. */
function pendingEffects(path: string): Set<string> {
  const sql = `select stream.name || '/' || event.version || '/' || effect.n from effect
    join event on event.position = effect.position join stream on stream.key = effect.stream
    where effect.is_open = 1 and effect.state <> 'unknown'
    and effect.type in (${externalEffects.map(() => '?').join()})`
  const select = (database: Sqlite) => database.column(sql, ...externalEffects)
  return new Set(useDatabase(path, select, { readOnly: true }) as string[]) // The selected column.
}

/**
 * The rows of each view equal a replay of the log, and every view is up to date. This reads the file without the engine;
 * the deed `rebuild` checks the engine's own rebuilds.
 */
export const viewsEqualReplay: CreateCheck = (simulated, report) => ({
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
})

/** Never fails: it records which transitions of the machines a run made. */
export const transitionsWalked: CreateCheck = simulated => {
  const walk = new TransitionTracker()
  return {
    rolledBack: to => walk.rewind(to.position),
    recorded(event) {
      for (const name of walk.step(event)) simulated.runRecord.reached.add(name)
    },
  }
}
