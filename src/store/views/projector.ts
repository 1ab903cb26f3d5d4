import type { RecordedEvent } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import { attempt, type Connection, first, rows, type Steps, together } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import type { HeaderReader } from '../log/header.ts'
import { endOfLog } from '../log/read.ts'
import type { ForeignEvent } from '../log/tail.ts'
import type { WriterCache } from '../writing/writer-cache.ts'
import { makeServingTables } from './side-table.ts'
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
    const known = yield* rows(db.selectFrom('projection').select(['view', 'version']))
    const versions = new Map(known.map(({ view, version }) => [view, version]))
    const views = this.#projected.map(({ view }) => view).filter(({ name, version }) => versions.get(name) !== version)
    if (views.length === 0) return
    yield* makeServingTables(this.#connection, views)
    const names = views.map(({ name }) => name)
    yield* rows(db.deleteFrom('projection').where('view', 'in', names))
    const reason = 'not built yet: rebuild it'
    const stopped = views.map(({ name, version }) => ({ view: name, version, position: 0, reason }))
    yield* rows(db.insertInto('projection').values(stopped))
    // Otherwise an old version in the head would count as a stop of the new one.
    yield* changeRunning(running => {
      const others = [...running].filter(each => !names.some(name => each.startsWith(`${name}@`)))
      return position === 0 ? [...others, ...views.map(viewVersionName)] : others
    })
  }

  /** Forgets the rows that events of another process have changed. */
  forgetRows(events: readonly ForeignEvent[], headers: HeaderReader, { viewRows }: WriterCache): void {
    if (viewRows.size === 0) return
    for (const stored of events) {
      try {
        const event = headers.read(stored)
        for (const { view } of this.#projected) {
          const key = view.key(event)
          if (key !== undefined) viewRows.get(view.name)?.delete(key)
        }
      } catch {
        // An event of a newer version, or one that a view fails at.
        viewRows.clear()
      }
    }
  }

  /** Folds new events into the views, and stops one that fails; with `isTrusting` it fails the transaction. */
  *project(events: readonly RecordedEvent[], known: WriterCache, isTrusting: boolean): Steps<void> {
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
    const foldings = this.#projected
      .filter(({ view }) => running.has(viewVersionName(view)))
      .map(({ view, table }) => new AppendFolding(view, table, events, rowsOf(known, view)))
    yield* together(foldings.map(folding => folding.readRows()))
    for (const folding of foldings) {
      const { view } = folding
      const reason = yield* folding.write(isTrusting)
      if (reason === undefined) continue
      known.viewRows.delete(view.name)
      running.delete(viewVersionName(view))
      yield* recordStop(view.name, from, reason)
      // After the transaction, since the listener may read the store.
      queueMicrotask(() => this.#listener?.onFailed(view.name))
    }
    known.views = [...running].join(' ')
    if (known.views !== before) yield* rows(db.updateTable('head').set({ views: known.views }))
  }
}

function rowsOf({ viewRows }: WriterCache, { name }: View): Map<string, ViewRow | undefined> {
  const known = viewRows.get(name) ?? new Map<string, ViewRow | undefined>()
  viewRows.set(name, known)
  return known
}

/** The folding of new events into one view. */
class AppendFolding {
  readonly view: View
  readonly #table: ViewTable
  readonly #events: readonly RecordedEvent[]
  readonly #keyed: { readonly key: string; readonly event: RecordedEvent }[] = []
  /** The rows that change, and those that are known from earlier writes. */
  readonly #rows = new Map<string, ViewRow | undefined>()
  readonly #known: Map<string, ViewRow | undefined>
  #stop: string | undefined

  constructor(view: View, table: ViewTable, events: readonly RecordedEvent[], known: Map<string, ViewRow | undefined>) {
    this.#known = known
    this.view = view
    this.#table = table
    this.#events = events
    for (const event of events)
      this.#try(event, () => {
        const key = view.key(event)
        if (key !== undefined) this.#keyed.push({ key, event })
      })
  }

  /** Reads the rows that will change, all at once: one statement after the other would be slow over a network. */
  *readRows(): Steps<void> {
    const keys = new Set<string>()
    for (const { key, event } of this.#keyed) {
      if (this.view.isByStream === true && event.version === 1) this.#rows.set(key, undefined)
      else if (this.#known.has(key)) this.#rows.set(key, this.#known.get(key))
      else if (!this.#rows.has(key)) keys.add(key)
    }
    if (keys.size === 0) return
    const found = yield* together([...keys].map(key => this.#table.find(key)))
    for (const [i, key] of [...keys].entries()) this.#rows.set(key, found[i])
  }

  /** Folds the events and writes the rows. Returns why the view stops, if it does. */
  *write(isTrusting: boolean): Steps<string | undefined> {
    for (const { key, event } of this.#keyed)
      this.#try(event, () => this.#rows.set(key, foldOne(this.view, key, this.#rows.get(key), event)))
    if (this.#stop !== undefined || this.#rows.size === 0) return this.#stop
    const write = () => this.#table.write(this.#rows.values())
    const error = isTrusting ? yield* write() : yield* attempt(write)
    if (error === undefined) {
      for (const [key, row] of this.#rows) this.#known.set(key, row)
      return undefined
    }
    return describeStop(error, (yield* findFailingEvent(this.view, this.#table, this.#events))?.position)
  }

  /** Stops the view at the first event that fails. */
  #try(event: RecordedEvent, work: () => unknown): void {
    if (this.#stop !== undefined) return
    try {
      work()
    } catch (error) {
      this.#stop = describeStop(error, event.position)
    }
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
      if (key === undefined) continue
      yield* table.write([foldOne(view, key, yield* table.find(key), event)])
      // A write that fails is told at the next answer.
      yield* table.find(key)
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

export function* readRunningViews(): Steps<ReadonlySet<string>> {
  return parseRunningViews(
    (yield* first<{ views: string }>({ sql: 'select views from head', parameters: [] }))?.views ?? '',
  )
}

/** Adds a view to the running ones: `onJoined` makes this process's writer forget its rows, before the commit. */
export function* joinHead(view: View, onJoined?: () => void): Steps<void> {
  yield* changeRunning(running => new Set(running).add(viewVersionName(view)))
  onJoined?.()
}

/** Changes which views are running, and makes the writers of other processes forget their rows. */
function* changeRunning(change: (running: ReadonlySet<string>) => Iterable<string>): Steps<void> {
  const views = [...change(yield* readRunningViews())].join(' ')
  yield* rows(db.updateTable('head').set(eb => ({ views, fence: eb('fence', '+', 1) })))
}

export function viewVersionName({ name, version }: Pick<View, 'name' | 'version'>): string {
  return `${name}@${version}`
}

function parseRunningViews(text: string): Set<string> {
  return new Set(text.split(' ').filter(name => name !== ''))
}

/** Describes why a view stopped, by the error's code or name only: its message may quote the event. */
export function describeStop(error: unknown, position: number | undefined): string {
  const at = position === undefined ? 'while its rows were written' : `at position ${position}`
  const { name, code }: { name: string; code?: unknown } = error instanceof Error ? error : new Error()
  return `${name === 'Error' ? String(code ?? name) : name} ${at}`
}
