import type { RecordedEvent } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import { attempt, type Connection, first, rows, type Steps } from '../database/connection.ts'
import type { Schema } from '../database/schema.ts'
import { endOfLog } from '../log/position-before.ts'
import type { WriterCache } from '../writing/writer-cache.ts'
import { makeServingTable } from './side-table.ts'
import { foldOne, type ViewRow, ViewTable } from './view-table.ts'

/** How far a view has come. */
export interface ViewCheckpoint {
  readonly view: string
  readonly version: number
  /** It shows the log as it was here. */
  readonly position: number
  readonly isRunning: boolean
  /** Why it stands still. */
  readonly reason: string
}

/** Told of views once a transaction is over. */
export interface ViewHearer {
  /** The views that stood at the end of the log at an append, each by `nameOf`. */
  hear(running: ReadonlySet<string>): void
  /** A view that failed in this process. */
  hearStopped(view: string): void
}

/**
 * Keeps the views in step with the log, in the transaction of each append.
 *
 * The row of the head names the views at the end of the log: their checkpoint is the log's own. A view leaves that list
 * when it fails, or when a version of the library that does not know it appends, and returns to it only when it has
 * caught up.
 */
export class Projector {
  readonly #connection: Connection
  readonly #projected: readonly { readonly view: View; readonly table: ViewTable }[]
  readonly #names: ReadonlySet<string>
  readonly #hearer: () => ViewHearer | undefined
  #heard = ''

  constructor(
    connection: Connection,
    views: readonly View[],
    hearer: () => ViewHearer | undefined = () => undefined,
  ) {
    this.#connection = connection
    this.#projected = views.map(view => ({ view, table: new ViewTable(view) }))
    this.#names = new Set(views.map(nameOf))
    this.#hearer = hearer
  }

  /** Makes the tables of views that are new. A view that is new to an old log starts out stopped. */
  *createTables(): Steps<void> {
    const db = this.#connection.compiler
    const position = yield* endOfLog()
    for (const { view } of this.#projected) {
      const { name, version } = view
      const known = yield* first(db.selectFrom('projection').select('version').where('view', '=', name))
      if (known?.version === version) continue
      yield* makeServingTable(this.#connection, view)
      yield* rows(db.deleteFrom('projection').where('view', '=', name))
      const reason = 'not built yet: rebuild it'
      yield* rows(db.insertInto('projection').values({ view: name, version, position: 0, reason }))
      // The former version no longer runs: left in the head, it would be taken for a stop of this one.
      yield* leaveHead(name)
      if (position === 0) yield* joinHead(view)
    }
  }

  /**
   * Folds new events into every running view. One that fails stops alone: its rows are undone to where they were before
   * these events, and the mark that says so is committed with them. The others are at the end of the log again, which
   * needs no writing.
   */
  *project(events: readonly RecordedEvent[], known: WriterCache): Steps<void> {
    const before = known.views
    const running = readViews(before)
    if (before !== this.#heard) {
      this.#heard = before
      queueMicrotask(() => this.#hearer()?.hear(readViews(before)))
    }
    const from = (events[0]?.position ?? 0) - 1
    for (const name of running) {
      if (this.#names.has(name)) continue
      running.delete(name)
      const reason = 'a version of averba that does not know it wrote the log'
      yield* rows({ sql: stopOne, parameters: [from, reason, name.slice(0, name.indexOf('@'))] })
    }
    for (const { view, table } of this.#projected) {
      if (!running.has(nameOf(view))) continue
      const reason = yield* this.#foldInto(view, table, events)
      if (reason === undefined) continue
      running.delete(nameOf(view))
      yield* rows({ sql: stopOne, parameters: [from, reason, view.name] })
      // Told once the transaction is over: the listener may read the store.
      queueMicrotask(() => this.#hearer()?.hearStopped(view.name))
    }
    known.views = [...running].join(' ')
    if (known.views !== before) yield* rows({ sql: setViews, parameters: [known.views] })
  }

  /** Folds events into one view. Gives the reason where it failed. */
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
      : describeStop(error, (yield* findFailing(view, table, events))?.position)
  }
}

/** The first event whose row cannot be made or written, found one by one: they had been written together. */
export function* findFailing(
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
    throw new TypeError('Together they failed: none of it may stay')
  })
  return at
}

/** How far every view has come. */
export function* readCheckpoints(): Steps<readonly ViewCheckpoint[]> {
  const end = yield* endOfLog()
  const running = yield* readRunning()
  const found = yield* rows<Schema['projection']>({ sql: selectProjections, parameters: [] })
  return found.map(row => {
    const isRunning = running.has(nameOf({ name: row.view, version: row.version }))
    return isRunning ? { ...row, isRunning, position: end, reason: '' } : { ...row, isRunning }
  })
}

/** The same for a process that reads these views: one that another version took over counts as stopped there. */
export function* readCheckpointsOf(views: readonly View[]): Steps<readonly ViewCheckpoint[]> {
  return (yield* readCheckpoints()).map(found => {
    const own = views.find(({ name }) => name === found.view)
    if (!own || own.version === found.version) return found
    const versions = `version ${found.version} of it, and this process reads version ${own.version}`
    return { ...found, isRunning: false, reason: `another version of averba has ${versions}: replace it` }
  })
}

/** Which views stand at the end of the log, each by `nameOf`. */
export function* readRunning(): Steps<ReadonlySet<string>> {
  return readViews((yield* first<{ views: string }>({ sql: selectViews, parameters: [] }))?.views ?? '')
}

/** Adds a view to those at the end of the log. */
export function* joinHead(view: View): Steps<void> {
  const head = yield* first<{ views: string }>({ sql: selectViews, parameters: [] })
  const running = readViews(head?.views ?? '').add(nameOf(view))
  yield* rows({ sql: setViews, parameters: [[...running].join(' ')] })
}

/** Removes every version of a view from those at the end of the log. */
function* leaveHead(view: string): Steps<void> {
  const head = yield* first<{ views: string }>({ sql: selectViews, parameters: [] })
  const running = [...readViews(head?.views ?? '')].filter(name => !name.startsWith(`${view}@`))
  yield* rows({ sql: setViews, parameters: [running.join(' ')] })
}

/** A view by name and version, as the head lists it. */
export function nameOf({ name, version }: Pick<View, 'name' | 'version'>): string {
  return `${name}@${version}`
}

/** The names of the views that stand at the end of the log, each with its version. */
function readViews(text: string): Set<string> {
  return new Set(text.split(' ').filter(name => name !== ''))
}

/** Why a view stands still: only the error's name, since its message may quote the event. */
export function describeStop(error: unknown, position: number | undefined): string {
  const at = position === undefined ? 'where its rows were written' : `at position ${position}`
  return `${error instanceof Error ? error.name : 'Error'} ${at}`
}

const selectViews = 'select views from head'
const selectProjections = 'select view, version, position, reason from projection order by view'
const setViews = 'update head set views = ?'
const stopOne = 'update projection set position = ?, reason = ? where view = ?'
