import { AverbaError } from '../../vocabulary/errors.ts'
import { attempt, first, rows, type Steps } from './connection.ts'
import { readTablesVersion } from './migrations.ts'
import { durableSettings, type PostgresPlace } from './postgres.ts'
import { toAverbaError, toSetupError } from './postgres-errors.ts'
import { connect } from './postgres-pool.ts'
import { PostgresSession, transactionSettings } from './postgres-session.ts'
import type { MediumFault, MediumSize, Reading } from './reading.ts'
import { quoteSchema } from './schema.ts'

/** How long a reader may stand still: the server keeps what others delete or change for as long. */
const idleMaxMs = 300_000

/** What others must know of a server before they trust its answers. */
const settings = ['server_version', ...durableSettings, 'data_checksums']

/**
 * Opens a log in a schema of a PostgreSQL database to read it at one moment. It holds up no writer. Its temporary
 * tables need the right to create them, which every user of a database has by default. Closes a pool of its own.
 *
 * @throws {AverbaError} `NOT_FOUND` when the schema has no log; `NOT_OURS`, `STORE_BUSY`, `MISCONFIGURED`
 */
export async function openPostgresReading(place: PostgresPlace): Promise<PostgresReading> {
  const { pool, schema, closePool } = place
  const name = nameOf(schema)
  let session: PostgresSession | undefined
  try {
    const own = quoteSchema(schema)
    session = new PostgresSession(await connect(pool), 0)
    const tables = await session.run(rows<FoundTable>({ sql: listTables, parameters: [schema] }))
    const locked = tables.map(({ name: table }) => `${own}.${table}`).join(', ')
    // Its temporary tables count as writing, which a role may not do by default, and a standby never does.
    const isStandby = tables.length === 0 || tables.some(table => table.standby === 1)
    const begin = isStandby
      ? 'begin isolation level repeatable read'
      : 'begin isolation level repeatable read read write'
    // A name leads to the newest table of the name, whose rows the snapshot may not have: none is replaced meanwhile.
    await session.send({
      text: `${begin}; ${transactionSettings(schema)};
        set local idle_in_transaction_session_timeout = ${idleMaxMs}; set local statement_timeout = 0
        ${locked === '' ? '' : `; lock table ${locked} in access share mode`}`,
    })
    const found = await session.run(first<{ head: string | null }>({ sql: findHead, parameters: [] }))
    if (!found?.head)
      throw new AverbaError('NOT_FOUND', `Cannot open ${name}: it has no log`, {
        hint: 'Look at the address and its parameter schema',
      })
    await session.run(readTablesVersion(name))
    return new PostgresReading(name, session, closePool)
  } catch (cause) {
    const error = toSetupError(name, session?.failure ?? cause)
    session?.end(true)
    await closePool()
    throw error
  }
}

interface FoundTable {
  readonly name: string
  readonly standby: number
}

const findHead = `select to_regclass('head')::text as head`
/** Not what needs quotes or may not be read, nor what a rebuild is about to rename or to drop. */
const listTables = `select relname::text as name, pg_is_in_recovery() as standby from pg_class where relnamespace = to_regnamespace(?) and relkind = 'r'
  and relname ~ '^[a-z_][a-z0-9_]*$' and relname !~ '^discarded|_next$' and has_table_privilege(oid, 'select')`

function nameOf(schema: string): string {
  return `the schema "${schema}" in PostgreSQL`
}

/** A log in a schema at one moment: one transaction, which is rolled back at the end. */
class PostgresReading implements Reading {
  readonly dialect = 'postgres'
  readonly name: string
  readonly #session: PostgresSession
  readonly #closePool: () => Promise<void>

  constructor(name: string, session: PostgresSession, closePool: () => Promise<void>) {
    this.name = name
    this.#session = session
    this.#closePool = closePool
  }

  /** In a savepoint: damage that one finds does not end the others. */
  async read<T>(steps: () => Steps<T>): Promise<T> {
    let found: { readonly result: T } | undefined
    const reading = function* (): Steps<void> {
      found = { result: yield* steps() }
    }
    // On a lost connection the savepoint fails too.
    const cause = await this.#session.run(attempt(reading)).catch(error => this.#session.failure ?? error)
    if (cause === undefined && found) return found.result
    throw toAverbaError(this.name, cause) ?? cause
  }

  findCutOff(): undefined {
    return undefined
  }

  /** The server checks its pages when it reads them, if it has checksums. */
  async findFaults(): Promise<readonly MediumFault[]> {
    return []
  }

  async readSize(): Promise<MediumSize> {
    const found = await this.read(() => first<{ bytes: number }>({ sql: tableBytes, parameters: [] }))
    const bytes = found?.bytes ?? 0
    return { fileBytes: bytes, heldBytes: bytes, walBytes: 0, freeBytes: 0 }
  }

  async readSettings(): Promise<Record<string, unknown>> {
    const sql = `select ${settings.map(each => `current_setting('${each}') as ${each}`).join(', ')}`
    return { ...(await this.read(() => first<Record<string, unknown>>({ sql, parameters: [] }))) }
  }

  async close(): Promise<void> {
    await this.#session.finish('rollback')
    await this.#closePool()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

const tableBytes = `select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint as bytes from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'`
