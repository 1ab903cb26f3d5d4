import type { RecordedEvent } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import { attempt, type Connection, first, rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import { endOfLog } from '../log/read.ts'
import type { WriterCache } from '../writing/writer-cache.ts'
import { makeServingTable } from './side-table.ts'
import { foldOne, type ViewRow, ViewTable } from './view-table.ts'

/** How far a view has been folded. */
export interface ViewProgress {
  readonly view: string
  readonly version: number
  /** The view shows the log up to this position. */
  readonly position: number
  readonly isRunning: boolean
  readonly reason: string
}

/** Receives changes of the running views after a transaction. */
export interface ViewStateListener {
  /** The views that were running at an append, each as `viewVersionName` gives it. */
  onRunning(running: ReadonlySet<string>): void
  onFailed(view: string): void
}

/**
 * Updates the views in the transaction of each append.
 *
 * The row of `head` lists the running views: their checkpoint is the end of the log. A view leaves the list when it
 * fails, or when a version of the library that does not have it appends. It returns once it has caught up.
 */
export class Projector {
  readonly #connection: Connection
  readonly #projected: readonly { readonly view: View; readonly table: ViewTable }[]
  readonly #names: ReadonlySet<string>
  readonly #listener: ViewStateListener | undefined
  #reportedViews = ''

  constructor(connection: Connection, views: readonly View[], listener?: ViewStateListener) {
    this.#connection = connection
    this.#projected = views.map(view => ({ view, table: new ViewTable(view) }))
    this.#names = new Set(views.map(viewVersionName))
    this.#listener = listener
  }

  /** Creates the tables of new views. A view that is new to a log with events starts out stopped. */
  *createTables(): Steps<void> {
    const position = yield* endOfLog()
    for (const { view } of this.#projected) {
      const { name, version } = view
      const known = yield* first(db.selectFrom('projection').select('version').where('view', '=', name))
      if (known?.version === version) continue
      yield* makeServingTable(this.#connection, view)
      yield* rows(db.deleteFrom('projection').where('view', '=', name))
      const reason = 'not built yet: rebuild it'
      yield* rows(db.insertInto('projection').values({ view: name, version, position: 0, reason }))
      // Otherwise the old version in the head would count as a stop of the new one.
      yield* leaveHead(name)
      if (position === 0) yield* joinHead(view)
    }
  }

  /** Folds new events into the running views. One that fails is rolled back and stopped, in the same transaction. */
  *project(events: readonly RecordedEvent[], known: WriterCache): Steps<void> {
    const before = known.views
    const running = parseRunningViews(before)
    if (before !== this.#reportedViews) {
      this.#reportedViews = before
      queueMicrotask(() => this.#listener?.onRunning(parseRunningViews(before)))
    }
    const from = (events[0]?.position ?? 0) - 1
    for (const name of running) {
      if (this.#names.has(name)) continue
      running.delete(name)
      const reason = 'a version of averba without this view wrote to the log'
      yield* recordStop(name.slice(0, name.indexOf('@')), from, reason)
    }
    for (const { view, table } of this.#projected) {
      if (!running.has(viewVersionName(view))) continue
      const reason = yield* this.#foldInto(view, table, events)
      if (reason === undefined) continue
      running.delete(viewVersionName(view))
      yield* recordStop(view.name, from, reason)
      // After the transaction, since the listener may read the store.
      queueMicrotask(() => this.#listener?.onFailed(view.name))
    }
    known.views = [...running].join(' ')
    if (known.views !== before) yield* rows(db.updateTable('head').set({ views: known.views }))
  }

  *#foldInto(view: View, table: ViewTable, events: readonly RecordedEvent[]): Steps<string | undefined> {
    const changed = new Map<string, ViewRow | undefined>()
    let at: RecordedEvent | undefined
    try {
      for (const event of events) {
        at = event
        const key = view.key(event)
        if (key === undefined) continue
        const isFirst = view.isByStream === true && event.version === 1
        const before = changed.has(key) || isFirst ? changed.get(key) : yield* table.find(key)
        changed.set(key, foldOne(view, key, before, event))
      }
    } catch (error) {
      return describeStop(error, at?.position)
    }
    if (changed.size === 0) return undefined
    const error = yield* attempt(() => table.write(changed.values()))
    return error === undefined
      ? undefined
      : describeStop(error, (yield* findFailingEvent(view, table, events))?.position)
  }
}

function* recordStop(view: string, position: number, reason: string): Steps<void> {
  yield* rows(db.updateTable('projection').set({ position, reason }).where('view', '=', view))
}

/** Finds the first event whose row cannot be made or written, by writing rows singly and rolling them back. */
export function* findFailingEvent(
  view: View,
  table: ViewTable,
  events: readonly RecordedEvent[],
): Steps<RecordedEvent | undefined> {
  let at: RecordedEvent | undefined
  yield* attempt(function* () {
    for (const event of events) {
      at = event
      const key = view.key(event)
      if (key !== undefined) yield* table.write([foldOne(view, key, yield* table.find(key), event)])
    }
    at = undefined
    throw new TypeError('Roll back: the rows were written only to find the failing event')
  })
  return at
}

/** Reads how far all views have come. */
export function* readViewProgress(): Steps<readonly ViewProgress[]> {
  const end = yield* endOfLog()
  const running = yield* readRunningViews()
  const found = yield* rows(db.selectFrom('projection').selectAll().orderBy('view'))
  return found.map(row => {
    const isRunning = running.has(viewVersionName({ name: row.view, version: row.version }))
    return isRunning ? { ...row, isRunning, position: end, reason: '' } : { ...row, isRunning }
  })
}

/** Reads how far a view has come; `undefined` when the log has none of its version. */
export function* readProgressOf({ name, version }: View): Steps<ViewProgress | undefined> {
  return (yield* readViewProgress()).find(each => each.view === name && each.version === version)
}

/** Reads the progress for a process with these views: one that another version has taken over counts as stopped. */
export function* readViewProgressOf(views: readonly View[]): Steps<readonly ViewProgress[]> {
  return (yield* readViewProgress()).map(found => {
    const own = views.find(({ name }) => name === found.view)
    if (!own || own.version === found.version) return found
    const versions = `the log has version ${found.version} of this view, and this process has version ${own.version}`
    return {
      ...found,
      isRunning: false,
      reason: `another version of averba took it over: ${versions}. Replace this process`,
    }
  })
}

/** Lists the running views, each as `viewVersionName` gives it. */
export function* readRunningViews(): Steps<ReadonlySet<string>> {
  return parseRunningViews(
    (yield* first<{ views: string }>({ sql: 'select views from head', parameters: [] }))?.views ?? '',
  )
}

/** Adds a view to the running ones. `onJoined` drops cached lists before the commit: an append may follow at once. */
export function* joinHead(view: View, onJoined?: () => void): Steps<void> {
  const running = new Set(yield* readRunningViews()).add(viewVersionName(view))
  yield* rows(db.updateTable('head').set({ views: [...running].join(' ') }))
  onJoined?.()
}

function* leaveHead(view: string): Steps<void> {
  const running = [...(yield* readRunningViews())].filter(name => !name.startsWith(`${view}@`))
  yield* rows(db.updateTable('head').set({ views: running.join(' ') }))
}

/** A view's name and version, as the head lists it. */
export function viewVersionName({ name, version }: Pick<View, 'name' | 'version'>): string {
  return `${name}@${version}`
}

function parseRunningViews(text: string): Set<string> {
  return new Set(text.split(' ').filter(name => name !== ''))
}

/** Describes why a view stopped, by the error's name only: its message may quote the event. */
export function describeStop(error: unknown, position: number | undefined): string {
  const at = position === undefined ? 'while its rows were written' : `at position ${position}`
  return `${error instanceof Error ? error.name : 'Error'} ${at}`
}
