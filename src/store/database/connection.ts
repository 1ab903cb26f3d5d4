import type { Compilable, CompiledQuery } from 'kysely'
import { readPages as readListPages } from '../../runtime/lazy-list.ts'
import type { Semaphore } from '../../runtime/locks.ts'
import { AverbaError } from '../../vocabulary/errors.ts'

/**
 * A statement with its parameters, each marked with `?` in every dialect. Rows are objects by column. Their numbers are
 * JavaScript numbers, including `bigint` columns and `count(*)`.
 */
export interface Statement {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** One statement run for each of many rows of parameters, in one request. */
export interface StatementForEach {
  readonly sql: string
  readonly forEach: readonly (readonly unknown[])[]
}

/** Steps in a savepoint: when they fail, their writes are undone, and the only row of the answer is the error. */
export interface AttemptSteps {
  readonly attempt: () => Steps<void>
}

/** Statements in one request: none needs rows of another. They run in order, and the answer has the rows of each. */
export interface StatementsTogether {
  readonly together: readonly (Statement | StatementForEach)[]
}

export type DatabaseRequest = Statement | StatementForEach | StatementsTogether | AttemptSteps

/**
 * Work on the database, written once for every dialect: a generator that yields requests and receives their rows.
 * SQLite runs it synchronously, so that no other statement can come in between; PostgreSQL awaits each request.
 */
export type Steps<T> = Generator<DatabaseRequest, T, readonly unknown[]>

/**
 * Throws when a statement reads a table that it may not read. With `perhaps` the names are all words of a statement
 * that could not be prepared, and those that are not tables are ignored.
 */
export type CheckTables = (tables: readonly string[], isSure?: 'perhaps') => Steps<void>

/** A transaction was refused because another process has written since: nothing was written. */
export class HeadMovedError extends AverbaError {
  constructor(name: string) {
    super('STORE_BUSY', `Cannot use ${name}: another process has written since`, { hint: 'Try again' })
  }
}

/** One database, whatever its dialect. */
export interface Connection {
  readonly dialect: 'sqlite' | 'postgres'
  readonly schema?: string
  /** Lists the tables of the database, as rows with a `name`. */
  readonly listTables: Statement
  /** Changes when another process has written; run in a write transaction. Absent where only the head can tell. */
  readonly foreignWrites?: Statement
  /** The time of the server, in milliseconds since 1970, never ahead of it. Absent where a file is on one machine. */
  readonly serverTime?: () => number
  /** Calls back, from now on, within a second after another process has written. Absent where a file is looked at. */
  watch?(onWake: () => void): void
  /** Whether other processes may write to the database. */
  readonly isShared: boolean
  /**
   * Runs the steps in one write transaction, durable when it resolves. Rolls back when they throw.
   *
   * Write transactions exclude each other across processes from their first statement on: what one has read does not
   * change before it ends. Waits some seconds for a lock of another process without blocking the event loop. The steps
   * run once. They await rows, or begin with a guard of the head: else all of it could reach a server late.
   *
   * @param locks `rows` for steps that change only rows of which the log's transactions know nothing, and lock each by
   * their first statement on it: a server runs them beside these. A commit without an answer is not looked up
   */
  transact<T>(steps: () => Steps<T>, locks?: 'rows'): Promise<T>
  /** Runs the steps on one consistent snapshot of the database. */
  read<T>(steps: () => Steps<T>): Promise<T>
  /** How many queries of hosts may run at the same time. Absent where one runs at a time. */
  readonly hostQueries?: Semaphore
  /** Runs one query of a host, and refuses any other statement. `check` first gets its tables, on the same snapshot. */
  readOnly(query: CompiledQuery, check?: CheckTables): Promise<readonly unknown[]>
  /** Checkpoints the journal into the file and empties it. False while a reader still needs the journal. */
  emptyJournal(): Promise<boolean>
  /** Rewrites the whole file, so that no deleted data stays in it; false if it may not. Empty the journal then. */
  rewrite(): Promise<boolean>
  /** Searches the raw file for pieces of 16 bytes that should have been overwritten. */
  searchFile(pieces: readonly Uint8Array[]): Promise<SearchProgress>
  close(): Promise<void>
}

/** How much was searched, and how many of the pieces were found. */
export interface SearchProgress {
  readonly bytes: number
  readonly found: number
}

type BuiltQuery<R> = Compilable<R> | Statement

/**
 * Runs one statement and returns its rows: a query of `db`, whose rows are typed, or SQL text. Text is for the hot path
 * and for a view's own table: docs/decisions/0006-text-on-the-hot-path.md says why.
 */
export function* rows<R>(query: BuiltQuery<R>): Steps<readonly R[]> {
  const compiled = 'compile' in query ? query.compile() : query
  return (yield compiled) as readonly R[] // The statement says what its rows are.
}

export function* first<R>(query: BuiltQuery<R>): Steps<R | undefined> {
  return (yield* rows(query))[0]
}

/** Runs steps side by side: what they ask for at the same time is one request. */
export function* together<T>(all: readonly Steps<T>[]): Steps<T[]> {
  const running = all.map(steps => ({ steps, step: steps.next() }))
  for (;;) {
    const asking = running.flatMap(({ steps, step }, i) =>
      step.done ? [] : [{ i, steps, ...statementsOf(step.value) }],
    )
    if (asking.length === 0) break
    // The statement says what its rows are.
    const answers = (yield { together: asking.flatMap(each => each.statements) }) as readonly (readonly unknown[])[]
    let from = 0
    for (const { i, steps, statements, isOne } of asking) {
      const own = answers.slice(from, from + statements.length)
      from += statements.length
      running[i] = { steps, step: steps.next(isOne ? (own[0] ?? []) : own) }
    }
  }
  return running.map(({ step }) => step.value as T) // All are done.
}

function statementsOf(request: DatabaseRequest) {
  if ('attempt' in request) throw new TypeError('Cannot run steps in a savepoint side by side with others')
  if ('together' in request) return { statements: request.together, isOne: false }
  return { statements: [request], isOne: true }
}

/** Runs steps in a savepoint and returns their error; `undefined` when they succeed. */
export function* attempt(steps: () => Steps<void>): Steps<unknown> {
  return (yield { attempt: steps })[0]
}

/** Runs a statement for each item, with the parameters that `toRow` makes of it. */
export function* each<T>(sql: string, items: readonly T[], toRow: (item: T) => readonly unknown[]): Steps<void> {
  if (items.length > 0) yield { sql, forEach: items.map(toRow) }
}

/** Writes the condition that a column has one of some parameters. Not every dialect accepts an empty list. */
export function oneOf(column: string, values: readonly unknown[]): string {
  return values.length === 0 ? 'false' : `${column} in (${values.map(() => '?')})`
}

/**
 * Reads pages until an empty one, each after the last row of the one before, and yields to the event loop in between.
 */
export function readPages<R>(
  reader: Pick<Connection, 'read'>,
  pageAfter: (last?: R) => BuiltQuery<R>,
): AsyncGenerator<readonly R[], undefined> {
  return readListPages(1, last => reader.read(() => rows(pageAfter(last))))
}

/** Measures each committed write transaction, without the wait for its lock, and reports the errors of failed ones. */
export function timeTransactions(
  connection: Connection,
  elapsedMs: () => number,
  onCommitted: (ms: number) => void,
  onFailed: (error: unknown) => void,
): Connection {
  return withChanges(connection, {
    async transact(steps, locks) {
      let began = 0
      try {
        const result = await connection.transact(() => {
          began = elapsedMs()
          return steps()
        }, locks)
        onCommitted(elapsedMs() - began)
        return result
      } catch (error) {
        onFailed(error)
        throw error
      }
    },
  })
}

/** Copies a connection with some members replaced. */
export function withChanges(connection: Connection, changes: Partial<Connection>): Connection {
  return {
    dialect: connection.dialect,
    ...(connection.schema !== undefined && { schema: connection.schema }),
    listTables: connection.listTables,
    ...(connection.foreignWrites && { foreignWrites: connection.foreignWrites }),
    ...(connection.serverTime && { serverTime: connection.serverTime }),
    ...(connection.watch && { watch: onWake => connection.watch?.(onWake) }),
    isShared: connection.isShared,
    ...(connection.hostQueries && { hostQueries: connection.hostQueries }),
    transact: (steps, locks) => connection.transact(steps, locks),
    read: steps => connection.read(steps),
    readOnly: (query, check) => connection.readOnly(query, check),
    emptyJournal: () => connection.emptyJournal(),
    rewrite: () => connection.rewrite(),
    searchFile: pieces => connection.searchFile(pieces),
    close: () => connection.close(),
    ...changes,
  }
}
