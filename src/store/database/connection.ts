import type { CompiledQuery, Kysely } from 'kysely'
import type { Schema } from './schema.ts'

/**
 * A statement with its parameters. Hand-written ones mark each parameter with `?`, in every dialect. Its rows are
 * objects by column, whose numbers are numbers, those of a `bigint` and of `count(*)` too.
 */
export interface Statement {
  readonly sql: string
  readonly parameters: readonly unknown[]
  /** Its rows have one column and come as plain values: making an object of each takes a tenth of reading the log. */
  readonly isColumn?: true
}

/** The same statement for each of many rows of parameters: one request, however many there are. */
export interface StatementForEach {
  readonly sql: string
  readonly forEach: readonly (readonly unknown[])[]
}

/** Steps that may fail by themselves: then their writes are undone, and the rows are the error, if any. */
export interface AttemptSteps {
  readonly attempt: () => Steps<void>
}

/**
 * A piece of work on the database, written once for every dialect: a generator that yields statements and is given
 * their rows. SQLite runs it in one go, without an `await` at which another statement could slip in; PostgreSQL awaits
 * each statement.
 */
export type Steps<T> = Generator<Statement | StatementForEach | AttemptSteps, T, readonly unknown[]>

/**
 * Throws when a statement reads a table that it may not read. `perhaps` says that the names are all words of a
 * statement that cannot be run: then those that are not tables are ignored.
 */
export type CheckTables = (tables: readonly string[], isSure?: 'perhaps') => Steps<void>

/** One database, whatever its dialect. */
export interface Connection {
  readonly dialect: 'sqlite' | 'postgres'
  /** Compiles statements and runs none. */
  readonly compiler: Kysely<Schema>
  /** The statement that lists the names of all tables. */
  readonly listTables: CompiledQuery<{ name: string }>
  /**
   * Gives a value that changes when another process has written: what was remembered may then be wrong. Asked inside a
   * write transaction.
   */
  readonly foreignWrites: Statement
  /**
   * Runs the steps in one write transaction, durable when it resolves. Rolls back when they throw. Write transactions
   * exclude each other from their first statement on, across processes: nobody changes what one has read before it
   * ends. In PostgreSQL that takes a lock, such as `pg_advisory_xact_lock`, before the first one. A lock that another
   * process holds is waited for, for seconds, without holding up the event loop. The steps are run once: whoever runs
   * them again, after a conflict of serializable transactions, has `foreignWrites` give another value.
   */
  transact<T>(steps: () => Steps<T>): Promise<T>
  /** Runs the steps on one consistent reading of the database. */
  read<T>(steps: () => Steps<T>): Promise<T>
  /**
   * Runs one statement of a host, and refuses all that is not a reading. With a check, the tables that it reads are
   * checked first, on the same reading of the database.
   */
  readOnly(query: CompiledQuery, check?: CheckTables): Promise<readonly unknown[]>
  /** Moves everything written into the file, and empties its journal. False while a reader still needs the journal. */
  emptyJournal(): Promise<boolean>
  /**
   * Rewrites the whole file, which takes as long as its size: nothing stays in it but what its tables hold. The journal
   * has to be emptied afterwards.
   */
  rewrite(): Promise<void>
  /** Searches the raw file for pieces of 16 bytes that should have been overwritten. */
  searchFile(pieces: readonly Uint8Array[]): Promise<SearchProgress>
  close(): Promise<void>
}

/** How much was searched, and how many of the pieces were found. */
export interface SearchProgress {
  readonly bytes: number
  readonly found: number
}

/** A query as Kysely builds it, or a statement written by hand. */
type BuiltQuery<R> = { compile(): CompiledQuery<R> } | Statement

/** Runs one statement inside steps and returns its rows. */
export function* rows<R>(query: BuiltQuery<R>): Steps<readonly R[]> {
  const compiled = 'compile' in query ? query.compile() : query
  return (yield compiled) as readonly R[] // The statement says what its rows are.
}

/** Runs one statement of one column inside steps and returns what is in it, row by row. */
export function* column<C>({ sql, parameters }: Statement): Steps<readonly C[]> {
  return (yield { sql, parameters, isColumn: true }) as readonly C[] // The statement says what its column is.
}

/** Runs one statement inside steps and returns its first row. */
export function* first<R>(query: BuiltQuery<R>): Steps<R | undefined> {
  return (yield* rows(query))[0]
}

/** Runs steps that may fail by themselves, and returns their error; `undefined` when all went well. */
export function* attempt(steps: () => Steps<void>): Steps<unknown> {
  return (yield { attempt: steps })[0]
}

/** Runs a hand-written statement for each row of parameters; nothing when there are none. */
export function* each(sql: string, forEach: readonly (readonly unknown[])[]): Steps<void> {
  if (forEach.length > 0) yield { sql, forEach }
}

/** The condition that a column has one of some values, given as parameters. Not every dialect takes a list of none. */
export function oneOf(column: string, values: readonly unknown[]): string {
  return values.length === 0 ? 'false' : `${column} in (${values.map(() => '?')})`
}
