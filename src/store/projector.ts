import { sql } from 'kysely'
import type { Recorded } from '../message.ts'
import { canonicalJson } from '../proof/canonical-json.ts'
import type { Cell, View } from '../view.ts'
import { type Connection, first, rows, type Steps } from './connection.ts'
import { readPage } from './read.ts'

/** A row of any view, by column. */
type Row = Record<string, Cell>

/** What a rebuild of one view found. */
export interface Rebuilt {
  readonly view: string
  readonly rows: number
  /** Rows that differed from the serving view: 0 means equal. */
  readonly differences: number
}

/** Keeps the views in step with the log, in the transaction of each append. */
export class Projector {
  readonly #connection: Connection
  readonly #views: readonly View[]
  readonly #onStopped: (view: string) => void

  constructor(
    connection: Connection,
    views: readonly View[],
    onStopped: (view: string) => void = () => undefined,
  ) {
    this.#connection = connection
    this.#views = views
    this.#onStopped = onStopped
  }

  /** Makes the tables of views that are new. A view that is new to an old log starts out stopped. */
  *createTables(): Steps<void> {
    const db = this.#connection.compiler
    const head = yield* first(db.selectFrom('head').select('position'))
    for (const view of this.#views) {
      const known = yield* first(db.selectFrom('projection').select('version').where('view', '=', view.name))
      if (known?.version === view.version) continue
      yield* rows(sql`drop table if exists ${sql.table(view.name)}`.compile(db))
      yield* rows(sql.raw(tableOf(view, this.#connection.dialect)).compile(db))
      yield* rows(db.deleteFrom('projection').where('view', '=', view.name))
      const isNew = (head?.position ?? 0) > 0
      yield* rows(
        db.insertInto('projection').values({
          view: view.name,
          version: view.version,
          position: 0,
          state: isNew ? 'stopped' : 'running',
          because: isNew ? 'not built yet: rebuild it' : '',
        }),
      )
    }
  }

  /** Folds events into every running view. One that fails stops alone, and says at which event. */
  *project(events: readonly Recorded[], position: number): Steps<void> {
    const db = this.#connection.compiler
    const running = yield* rows(db.selectFrom('projection').select('view').where('state', '=', 'running'))
    const names = new Set(running.map(row => row.view))
    for (const view of this.#views.filter(each => names.has(each.name))) {
      const changed = new Map<string, Row | undefined>()
      try {
        yield* this.#fold(view, events, changed)
      } catch (error) {
        yield* this.#stop(view, events, error)
        continue
      }
      for (const row of changed.values()) if (row) yield* upsert(this.#connection, view, row)
    }
    yield* rows(db.updateTable('projection').set({ position }).where('state', '=', 'running'))
  }

  *#fold(view: View, events: readonly Recorded[], changed: Map<string, Row | undefined>): Steps<void> {
    for (const event of events) {
      const key = view.key(event)
      if (key === undefined) continue
      const before = changed.has(key) ? changed.get(key) : yield* find(this.#connection, view, key)
      changed.set(key, foldOne(view, key, before, event))
    }
  }

  *#stop(view: View, events: readonly Recorded[], error: unknown): Steps<void> {
    const because = `${error instanceof Error ? error.name : 'Error'} at position ${events[0]?.position ?? 0}`
    const update = this.#connection.compiler.updateTable('projection').set({ state: 'stopped', because })
    yield* rows(update.where('view', '=', view.name))
    this.#onStopped(view.name)
  }

  /** The views that do not follow the log. */
  *stopped(): Steps<string[]> {
    const query = this.#connection.compiler
      .selectFrom('projection')
      .select('view')
      .where('state', '=', 'stopped')
    return (yield* rows(query)).map(row => row.view)
  }

  /**
   * Builds one view anew from the whole log, compares it with the serving rows and takes their place, in
   * one transaction. The log is read in pages before, so that appends go on meanwhile.
   */
  async rebuild(view: View, onProgress?: (position: number) => void): Promise<Rebuilt> {
    const built = new Map<string, Row | undefined>()
    let position = 0
    for (;;) {
      const page = await this.#connection.read(() => readPage(this.#connection, { after: position }))
      if (page.length === 0) break
      position = foldInMemory(view, page, built)
      onProgress?.(position)
    }
    return this.#connection.transact(() => this.#swap(view, position, built))
  }

  *#swap(view: View, from: number, built: Map<string, Row | undefined>): Steps<Rebuilt> {
    const connection = this.#connection
    const db = connection.compiler
    let position = from
    for (;;) {
      const page = yield* readPage(connection, { after: position })
      if (page.length === 0) break
      position = foldInMemory(view, page, built)
    }
    const serving = yield* rows(sql<Row>`select * from ${sql.table(view.name)}`.compile(db))
    const [key = ''] = Object.keys(view.columns)
    const before = new Map(serving.map(row => [String(row[key]), row]))
    const after = [...built.values()].filter(row => row !== undefined)
    yield* rows(sql`delete from ${sql.table(view.name)}`.compile(db))
    for (const row of after) yield* upsert(connection, view, row)
    const running = { state: 'running' as const, because: '', position }
    yield* rows(db.updateTable('projection').set(running).where('view', '=', view.name))
    return { view: view.name, rows: after.length, differences: countDifferences(view, before, built) }
  }
}

function foldInMemory(view: View, page: readonly Recorded[], built: Map<string, Row | undefined>): number {
  for (const event of page) {
    const key = view.key(event)
    if (key !== undefined) built.set(key, foldOne(view, key, built.get(key), event))
  }
  return page.at(-1)?.position ?? 0
}

function foldOne(view: View, key: string, before: Row | undefined, event: Recorded): Row | undefined {
  const row = view.fold(before, event) as Row | undefined // A view's row holds cells only.
  const [column = ''] = Object.keys(view.columns)
  if (row && row[column] !== key) throw new TypeError(`The view "${view.name}" keeps a row under another key`)
  return row
}

function countDifferences(view: View, before: Map<string, Row>, after: Map<string, Row | undefined>): number {
  const text = (row: Row | undefined) => (row ? canonicalJson(onlyColumns(view, row)) : '')
  const keys = new Set([...before.keys(), ...after.keys()])
  return [...keys].filter(key => text(before.get(key)) !== text(after.get(key))).length
}

function onlyColumns(view: View, row: Row): Row {
  return Object.fromEntries(Object.keys(view.columns).map(column => [column, row[column] ?? null]))
}

function* find(connection: Connection, view: View, key: string): Steps<Row | undefined> {
  const [column = ''] = Object.keys(view.columns)
  const query = sql<Row>`select * from ${sql.table(view.name)} where ${sql.ref(column)} = ${key}`
  return yield* first(query.compile(connection.compiler))
}

function* upsert(connection: Connection, view: View, row: Row): Steps<void> {
  const columns = Object.keys(view.columns)
  const [key = '', ...others] = columns
  const values = sql.join(columns.map(column => row[column] ?? null))
  const names = sql.join(columns.map(column => sql.ref(column)))
  const updates = sql.join(others.map(column => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`))
  const query = sql`insert into ${sql.table(view.name)} (${names}) values (${values})
    on conflict (${sql.ref(key)}) do update set ${updates}`
  yield* rows(query.compile(connection.compiler))
}

function tableOf(view: View, dialect: Connection['dialect']): string {
  const types = { text: 'text', integer: dialect === 'sqlite' ? 'integer' : 'bigint' }
  const columns = Object.entries(view.columns).map(([name, type], i) => {
    return `${name} ${types[type]}${i === 0 ? ' primary key' : ''}`
  })
  return `create table ${view.name} (${columns.join(', ')}) ${dialect === 'sqlite' ? 'strict' : ''}`
}
