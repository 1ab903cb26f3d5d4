import {
  type CompiledQuery,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { ReadonlyKysely } from 'kysely/readonly'
import type { Semaphore } from '../../runtime/locks.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Connection } from '../database/connection.ts'
import { readOnlyError } from '../database/host-query.ts'
import { emptyLists } from '../database/schema.ts'

/**
 * A typed query handle for the views. Its types have no statement that writes, not even within `with`, no transaction
 * and no `destroy`, which `withSchema` and the like return again; raw SQL that writes, and a transaction, are refused
 * when they run. `stream` reads all rows at once: of a large view, read pages by its key.
 */
export type ViewsHandle<Tables> = Omit<
  ReadonlyKysely<Tables>,
  'connection' | 'destroy' | 'introspection' | 'startTransaction' | 'transaction'
>

/** Each query is a transaction of its own: none waits until the host's loop over another one has ended. */
class ViewsAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

/**
 * Opens a handle to query the views through.
 *
 * @param places limits how many queries run at the same time
 */
export function openViews<Tables>(
  reader: Pick<Connection, 'readOnly' | 'dialect'>,
  places?: Semaphore,
): ViewsHandle<Tables> {
  const isSqlite = reader.dialect === 'sqlite'
  const kysely = new Kysely<Tables>({
    dialect: {
      createAdapter: () => (isSqlite ? new ViewsAdapter() : new PostgresAdapter()),
      createDriver: () => new ReadOnlyDriver(reader, places),
      createIntrospector: db => (isSqlite ? new SqliteIntrospector(db) : new PostgresIntrospector(db)),
      createQueryCompiler: () => (isSqlite ? new SqliteQueryCompiler() : new PostgresQueryCompiler()),
    },
    plugins: [emptyLists],
  })
  // Kysely has the type, and leaves it to a cast: its own `with` also accepts queries that write.
  return kysely as never
}

class ReadOnlyDriver implements Driver {
  readonly #reader: Pick<Connection, 'readOnly'>
  readonly #places: Semaphore | undefined

  constructor(reader: Pick<Connection, 'readOnly'>, places?: Semaphore) {
    this.#reader = reader
    this.#places = places
  }

  async init(): Promise<void> {}

  async acquireConnection() {
    // The query was compiled for rows of this type.
    const run = async <R>(query: CompiledQuery) => {
      const ask = () => this.#reader.readOnly(query)
      return { rows: (await (this.#places?.within(ask) ?? ask())) as R[] }
    }
    return {
      executeQuery: run,
      async *streamQuery<R>(query: CompiledQuery) {
        yield await run<R>(query)
      },
    }
  }

  async beginTransaction(): Promise<never> {
    throw readOnlyError('Cannot begin a transaction')
  }

  async commitTransaction(): Promise<void> {}
  async rollbackTransaction(): Promise<void> {}
  async releaseConnection(): Promise<void> {}

  /** The API's own methods read through this handle too, so it must not be destroyed. */
  async destroy(): Promise<never> {
    throw new AverbaError('INVALID_INPUT', 'Cannot destroy the views: they stay open as long as the log', {
      hint: 'Call close(): it closes the log with its views',
    })
  }
}
