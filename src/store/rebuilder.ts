import { type Clock, giveWay } from '../clock.ts'
import { AverbaError } from '../errors.ts'
import type { Instant } from '../message.ts'
import type { View } from '../view.ts'
import { type Connection, first, rows, type Steps } from './connection.ts'
import { readHeader } from './header.ts'
import { joinHead, readCheckpoints } from './projector.ts'
import { readPage, readTexts } from './read.ts'
import { selectPosition } from './schema.ts'
import type { Schemas } from './schemas.ts'
import { createViewIndexes, createViewTable, foldOne, type Row, ViewTable } from './view-table.ts'

/** What a rebuild of one view found. */
export interface Rebuilt {
  readonly view: string
  readonly rows: number
  /** Rows that differed from the serving view: 0 means equal, where they were compared. */
  readonly differences: number
  /** Keys of some rows that differed: ids of ours, never personal data. */
  readonly examples: readonly string[]
}

/** How a rebuild goes. */
export interface RebuildOptions {
  /** Told of each page, with the position it has come to and the end of the log as it began. */
  readonly onProgress?: (position: number, end: number) => void
  /** Ends it between two pages. What was built is kept, and the next rebuild goes on from there. */
  readonly signal?: AbortSignal
  /** Counts the rows that differ from the serving ones: yes when absent. */
  readonly compare?: boolean
}

/** Up to where a view is built: the last position, or the last instant, that counts. */
export interface AsOf {
  readonly position?: number
  readonly at?: Instant
}

/** How many rows are held before they are written: what bounds the memory of a rebuild. */
const rowsMax = 100_000
/** Few enough that what a page leaves behind is collected young. */
const pageRows = 250
/** A crash loses no more work than this. */
const saveEveryMs = 30_000
const examplesMax = 10

/** What a rebuilder is made of. */
export interface RebuilderParts {
  readonly connection: Connection
  readonly schemas: Schemas
  readonly clock: Clock
  /** Told in the transaction that lets a view stand at the end of the log again, before its commit. */
  readonly onRejoined: () => void
}

/** Builds views anew from the log, beside the serving rows, and puts them in their place at once. */
export class Rebuilder {
  readonly #connection: Connection
  readonly #schemas: Schemas
  readonly #clock: Clock
  readonly #onRejoined: () => void

  constructor(parts: RebuilderParts) {
    this.#connection = parts.connection
    this.#schemas = parts.schemas
    this.#clock = parts.clock
    this.#onRejoined = parts.onRejoined
  }

  /**
   * Builds one view from the beginning, or from where an interrupted rebuild was saved, compares it with the
   * serving rows and takes their place in one transaction. Appends go on meanwhile.
   *
   * @returns `undefined` when the signal ended it
   */
  async rebuild(
    view: View,
    { onProgress, signal, compare = true }: RebuildOptions = {},
  ): Promise<Rebuilt | undefined> {
    const next = `${view.name}_next`
    const connection = this.#connection
    const begun = await connection.transact(() => begin(connection, view, next))
    const end = await connection.read(() => headPosition())
    const table = new ViewTable(view, next)
    const built = new Map<string, Row | undefined>()
    let { position } = begun
    let savedAt = this.#clock.now()
    let saved = position
    const save = async () => {
      await connection.transact(() => saveRows(table, built, view, saved, position))
      saved = position
    }
    while (!signal?.aborted) {
      const from = position
      position = await connection.read(() => this.#foldPage(view, table, built, from))
      if (position > from) onProgress?.(position, Math.max(position, end))
      // What comes while others append is folded with the swap: waiting for a page without any could take for ever.
      if (position - from < pageRows)
        return this.#rejoined(() => this.#swap(view, table, built, saved, position, compare))
      await giveWay()
      if (built.size < rowsMax && this.#clock.now() - savedAt < saveEveryMs) continue
      await save()
      savedAt = this.#clock.now()
    }
    await save()
    return undefined
  }

  /** The rows of a view as they were at a position or an instant of the log: built in memory, and kept nowhere. */
  async buildAsOf(view: View, { position, at }: AsOf): Promise<Row[]> {
    const built = new Map<string, Row | undefined>()
    const last = position ?? (await this.#connection.read(() => headPosition()))
    for (let after = 0; ; ) {
      const page = await this.#connection.read(() => readPage(this.#connection, this.#schemas, { after }))
      const until = page.filter(event => event.position <= last && (at === undefined || event.at <= at))
      for (const event of until) {
        const key = view.key(event)
        if (key !== undefined) built.set(key, foldOne(view, key, built.get(key), event))
      }
      after = page.at(-1)?.position ?? 0
      if (page.length === 0 || until.length < page.length) break
      await giveWay()
    }
    return [...built.values()].filter(row => row !== undefined)
  }

  /**
   * Brings a view that stopped up to the end of the log from where it stands, outside appends, and lets it
   * rejoin in one transaction. Another process may do the same: what it did counts.
   *
   * @throws what the view throws: it stays where it is
   */
  async catchUp(view: View): Promise<void> {
    const connection = this.#connection
    const table = new ViewTable(view)
    for (;;) {
      const built = new Map<string, Row | undefined>()
      const page = await connection.read(() => this.#foldNext(view, table, built))
      if (!page) return
      const { from, until } = page
      if (until - from >= pageRows) await connection.transact(() => moveOn(table, built, view, from, until))
      else await this.#rejoined(() => this.#rejoin(view, table, from))
      await giveWay()
    }
  }

  /** Whoever remembers which views run has to forget it before the commit: right after it, the next append begins. */
  async #rejoined<T>(steps: () => Steps<T>): Promise<T> {
    const onRejoined = this.#onRejoined
    return this.#connection.transact(function* () {
      const result = yield* steps()
      onRejoined()
      return result
    })
  }

  *#rejoin(view: View, table: ViewTable, from: number): Steps<void> {
    if ((yield* stoppedAt(view)) !== from) return
    const built = new Map<string, Row | undefined>()
    yield* this.#foldToEnd(view, table, built, from)
    yield* table.write(built.values())
    yield* joinHead(view)
  }

  /** Folds the next page of a view that stands still; `undefined` when it runs. */
  *#foldNext(
    view: View,
    table: ViewTable,
    built: Map<string, Row | undefined>,
  ): Steps<{ from: number; until: number } | undefined> {
    const from = yield* stoppedAt(view)
    if (from === undefined) return undefined
    return { from, until: yield* this.#foldPage(view, table, built, from) }
  }

  *#foldToEnd(
    view: View,
    table: ViewTable,
    built: Map<string, Row | undefined>,
    from: number,
  ): Steps<number> {
    let position = from
    for (;;) {
      const next = yield* this.#foldPage(view, table, built, position)
      if (next === position) return position
      position = next
    }
  }

  /** Folds one page into the rows held in memory, and says how far it came. */
  *#foldPage(view: View, table: ViewTable, built: Map<string, Row | undefined>, from: number): Steps<number> {
    const page = yield* readTexts(this.#connection, { after: from, limit: pageRows })
    let position = from
    for (const { header } of page) {
      const event = readHeader(header, this.#schemas)
      position = event.position
      const key = view.key(event)
      if (key === undefined) continue
      const held = built.get(key)
      const before = held ?? (built.has(key) ? undefined : yield* table.find(key))
      const row = foldOne(view, key, before, event)
      if (held && row) keep(held, row)
      else built.set(key, row)
    }
    return position
  }

  *#swap(
    view: View,
    table: ViewTable,
    built: Map<string, Row | undefined>,
    saved: number,
    from: number,
    isCompared: boolean,
  ): Steps<Rebuilt> {
    yield* checkAlone(view, saved)
    yield* this.#foldToEnd(view, table, built, from)
    yield* table.write(built.values())
    const sql = differencesOf(view, table.name)
    const differing = isCompared ? yield* rows<{ key: string; n: number }>({ sql, parameters: [] }) : []
    const count = yield* first<{ n: number }>({
      sql: `select count(*) as n from ${table.name}`,
      parameters: [],
    })
    yield* rows({ sql: `drop table ${view.name}`, parameters: [] })
    yield* rows({ sql: `alter table ${table.name} rename to ${view.name}`, parameters: [] })
    for (const sql of createViewIndexes(view)) yield* rows({ sql, parameters: [] })
    yield* rows({ sql: `delete from rebuild where view = ?`, parameters: [view.name] })
    yield* joinHead(view)
    return {
      view: view.name,
      rows: count?.n ?? 0,
      differences: differing[0]?.n ?? 0,
      examples: differing.map(row => row.key),
    }
  }
}

/**
 * Takes over what changed. Rows that are replaced for every event of a long log live just long enough to make the
 * collector of garbage ask for more memory; most columns stay as they are.
 */
function keep(held: Row, row: Row): void {
  if (held === row) return
  for (const column in held) if (!(column in row)) held[column] = null
  for (const column in row) if (held[column] !== row[column]) held[column] = row[column] ?? null
}

/** Goes on with what an interrupted rebuild of the same version left, or begins with an empty table. */
function* begin(connection: Connection, view: View, next: string): Steps<{ position: number }> {
  const left = yield* first<{ position: number; version: number }>({
    sql: selectRebuild,
    parameters: [view.name],
  })
  if (left?.version === view.version) return left
  yield* rows({ sql: `drop table if exists ${next}`, parameters: [] })
  yield* rows({ sql: createViewTable(view, next, connection.dialect), parameters: [] })
  yield* rows({ sql: saveRebuild, parameters: [view.name, view.version, 0] })
  return { position: 0 }
}

/** Another process that builds the same view would write into the same table. */
function* checkAlone({ name }: View, saved: number): Steps<void> {
  const left = yield* first<{ position: number }>({ sql: selectRebuild, parameters: [name] })
  if (left?.position === saved) return
  throw new AverbaError('STORE_BUSY', `Cannot rebuild "${name}": another process rebuilds it`)
}

function* saveRows(
  table: ViewTable,
  built: Map<string, Row | undefined>,
  view: View,
  saved: number,
  position: number,
): Steps<void> {
  yield* checkAlone(view, saved)
  yield* table.write(built.values())
  yield* rows({ sql: saveRebuild, parameters: [view.name, view.version, position] })
  built.clear()
}

/** Writes nothing where somebody else has moved the view meanwhile. */
function* moveOn(
  table: ViewTable,
  built: Map<string, Row | undefined>,
  view: View,
  from: number,
  until: number,
): Steps<void> {
  if ((yield* stoppedAt(view)) !== from) return
  yield* table.write(built.values())
  yield* rows({ sql: moveStopped, parameters: [until, view.name] })
}

/** Where a view stands still; `undefined` when it runs, or is of another version by now. */
function* stoppedAt({ name, version }: View): Steps<number | undefined> {
  const checkpoint = (yield* readCheckpoints()).find(each => each.view === name && each.version === version)
  return checkpoint?.isRunning ? undefined : checkpoint?.position
}

function* headPosition(): Steps<number> {
  return (yield* first<{ position: number }>({ sql: selectPosition, parameters: [] }))?.position ?? 0
}

/** The statement that counts the rows of which only one table has the key, or that differ, and names some. */
export function differencesOf(view: View, next: string): string {
  const [key = '', ...others] = Object.keys(view.columns)
  const isOther = others.map(column => `a.${column} is distinct from b.${column}`).join(' or ')
  return `select key, count(*) over () as n from (
    select a.${key} as key from ${view.name} a left join ${next} b on b.${key} = a.${key}
      where b.${key} is null${isOther && ` or ${isOther}`}
    union all select b.${key} from ${next} b left join ${view.name} a on a.${key} = b.${key} where a.${key} is null
  ) as differing limit ${examplesMax}`
}

const selectRebuild = 'select position, version from rebuild where view = ?'
const saveRebuild = `insert into rebuild (view, version, position) values (?, ?, ?)
  on conflict (view) do update set version = excluded.version, position = excluded.position`
const moveStopped = 'update projection set position = ? where view = ?'
