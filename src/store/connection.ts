import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import type { Schema } from './schema.ts'

/**
 * A piece of work on the database, written once for every dialect: a generator that yields compiled
 * statements and is given their rows. SQLite runs it in one go, without an `await` in which another
 * statement could slip in; PostgreSQL awaits each statement.
 */
export type Steps<T> = Generator<CompiledQuery, T, readonly unknown[]>

/** One database, whatever its dialect. */
export interface Connection {
  readonly dialect: 'sqlite' | 'postgres'
  /** Compiles statements and runs none. */
  readonly compiler: Kysely<Schema>
  /** The statement that names the tables that are there. */
  readonly listTables: CompiledQuery<{ name: string }>
  /** Runs the steps in one write transaction, durable when it resolves. Rolls back when they throw. */
  transact<T>(steps: () => Steps<T>): Promise<T>
  /** Runs the steps on one consistent reading of the database. */
  read<T>(steps: () => Steps<T>): Promise<T>
  /** Runs one statement of a host, and refuses all that is not a reading. */
  readOnly(query: CompiledQuery): Promise<readonly unknown[]>
  close(): Promise<void>
}

/** Runs one statement inside steps and returns its rows. */
export function* rows<R>(query: Compilable<R> | CompiledQuery<R>): Steps<readonly R[]> {
  const compiled = 'compile' in query ? query.compile() : query
  return (yield compiled) as readonly R[] // The compiled statement says what its rows are.
}

/** Runs one statement inside steps and returns its first row. */
export function* first<R>(query: Compilable<R> | CompiledQuery<R>): Steps<R | undefined> {
  return (yield* rows(query))[0]
}
