import { AverbaError } from '../../vocabulary/errors.ts'
import { commandToAdd } from '../../vocabulary/runtime-commands.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { toSetupError } from './postgres-errors.ts'
import { connect, connectMaxMs, type PostgresPool } from './postgres-pool.ts'
import { PostgresSession } from './postgres-session.ts'
import { quoteSchema } from './schema.ts'

/** Where a log lies on a PostgreSQL server. */
export interface PostgresPlace {
  readonly pool: Pick<PostgresPool, 'connect' | 'options'>
  /** A schema of its own, created when it does not exist. */
  readonly schema: string
  /** Closes the pool, if it was made for this log. */
  readonly closePool: () => Promise<void>
}

/**
 * Reads the address of a store: its parameter `schema` names the schema, by default `averba`. The rest is for the
 * driver, unless the host gives its own pool.
 *
 * @throws {AverbaError} `MISCONFIGURED` when the address cannot be read, or the driver is missing
 */
export async function locatePostgres(
  address: string,
  given?: Pick<PostgresPool, 'connect' | 'options'>,
): Promise<PostgresPlace> {
  if (!URL.canParse(address)) {
    const hint = 'It has the form postgres://user@host/database?schema=averba'
    throw new AverbaError('MISCONFIGURED', 'Cannot open the log: its address cannot be read', { hint })
  }
  const url = new URL(address)
  const schema = url.searchParams.get('schema') ?? 'averba'
  url.searchParams.delete('schema')
  if (given) {
    checkOptions(given.options)
    ignoreIdleErrors(given)
    return { pool: given, schema, closePool: async () => undefined }
  }
  const pool = await createPool(url.href)
  return { pool, schema, closePool: () => pool.end() }
}

function checkOptions(options: PostgresPool['options']): void {
  const isPipelined = options === undefined || options.pipeline === true
  if (isPipelined && options?.binary !== true) return
  const why = isPipelined ? 'its values are bytes (binary)' : 'its connections take one request at a time'
  const hint = 'Make it with new pg.Pool({ pipeline: true, … }), without binary'
  throw new AverbaError('MISCONFIGURED', `Cannot use this pool: ${why}`, { hint })
}

const keepAliveMs = 10_000

/**
 * Opens a log in a schema of a PostgreSQL database. Waits for nothing that the server does not promise to keep: it
 * refuses one that loses commits in a power cut.
 *
 * @throws {AverbaError} `MISCONFIGURED`, `STORE_UNSAFE`, `STORE_BUSY`
 */
export async function openPostgres(place: PostgresPlace): Promise<PostgresConnection> {
  const { pool, schema, closePool } = place
  await withSession(place, async session => {
    await checkServer(session)
    await createSchema(session, schema)
    await checkApart(session, schema)
    await checkRight(session, schema)
  })
  return new PostgresConnection(pool, schema, closePool)
}

/** Works with one connection of a pool, which may break meanwhile. A failure closes the pool. */
async function withSession<T>(
  { pool, schema, closePool }: PostgresPlace,
  work: (session: PostgresSession) => Promise<T>,
): Promise<T> {
  try {
    quoteSchema(schema) // Refuses a name before it stands in a statement.
    const session = new PostgresSession(await connect(pool))
    try {
      return await work(session)
    } finally {
      session.end(session.failure !== undefined)
    }
  } catch (cause) {
    await closePool()
    throw toSetupError(`the schema "${schema}" in PostgreSQL`, cause)
  }
}

async function createPool(url: string): Promise<PostgresPool> {
  const { default: pg } = await import('pg').catch(cause => {
    const hint = `Add the package pg: ${commandToAdd('pg')}`
    throw new AverbaError('MISCONFIGURED', 'Cannot open a log on PostgreSQL: its driver is not installed', {
      cause,
      hint,
    })
  })
  // A connection on which nothing is sent, for what others tell, must notice that its server is gone.
  const alive = { keepAlive: true, keepAliveInitialDelayMillis: keepAliveMs }
  const limits = { pipeline: true, connectionTimeoutMillis: connectMaxMs }
  const pool = new pg.Pool({ connectionString: url, ...limits, ...alive })
  ignoreIdleErrors(pool)
  return pool
}

const watched = new WeakSet<object>()

/** An error of a connection that nobody has, idle or just made, would end the process. Another one is opened then. */
function ignoreIdleErrors(pool: Pick<PostgresPool, 'connect' | 'options'> & Partial<PostgresPool>): void {
  if (watched.has(pool)) return
  watched.add(pool)
  pool.on?.('error', () => undefined)
  pool.on?.('connect', client => void client.on('error', () => undefined))
}

/** The settings without which a power cut loses what was acknowledged. */
export const durableSettings = ['fsync', 'full_page_writes', 'synchronous_commit']

export function findOff(settings: Readonly<Record<string, unknown>>): string[] {
  return durableSettings.filter(name => settings[name] === 'off')
}

async function checkServer(session: PostgresSession): Promise<void> {
  const names = [...durableSettings, 'server_encoding']
  const text = `select ${names.map(name => `current_setting('${name}') as ${name}`).join(', ')}`
  const { rows } = await session.send({ text })
  const settings = rows[0] as Record<string, string> // The selected columns.
  const off = findOff(settings)
  if (off.length > 0)
    throw new AverbaError('STORE_UNSAFE', `Cannot use PostgreSQL: ${off.join(' and ')} is off`, {
      hint: 'A power cut would lose what was acknowledged. Turn it on for this server, database or role',
    })
  const { server_encoding: encoding = '' } = settings
  // Another one has no place for many letters, nor for the dash of a signature.
  if (encoding === 'UTF8' || encoding === 'SQL_ASCII') return
  throw new AverbaError('MISCONFIGURED', `Cannot use PostgreSQL: the encoding of the database is ${encoding}`, {
    hint: "Use a database that was made with: create database … encoding 'UTF8' template template0",
  })
}

/** Two processes that create a schema at the same time meet an error, also with `if not exists`. */
async function createSchema(session: PostgresSession, schema: string): Promise<void> {
  const exists = async () => {
    const { rows } = await session.send({ text: `select to_regnamespace('${schema}') is not null as found` })
    return (rows[0] as { found: number }).found === 1 // The selected column.
  }
  if (await exists()) return
  try {
    await session.send({ text: `create schema ${quoteSchema(schema)}` })
  } catch (cause) {
    if (!(await exists())) throw cause
  }
}

/** A statement that ran outside of its transaction must find no table: only a transaction names the schema. */
async function checkApart(session: PostgresSession, schema: string): Promise<void> {
  const { rows } = await session.send({ text: `select '${schema}' = any(current_schemas(false)) as found` })
  if ((rows[0] as { found: number }).found === 0) return // The selected column.
  throw new AverbaError('MISCONFIGURED', `Cannot open the schema "${schema}": it is in the search path of this user`, {
    hint: 'Use a schema that no search_path names: neither "public" nor one with the name of the user',
  })
}

/** Without this right a schema looks empty. */
async function checkRight(session: PostgresSession, schema: string): Promise<void> {
  const { rows } = await session.send({ text: `select has_schema_privilege('${schema}', 'usage') as usage` })
  if ((rows[0] as { usage: number }).usage === 1) return // The selected column.
  throw new AverbaError('MISCONFIGURED', `Cannot open the schema "${schema}" in PostgreSQL: this user may not use it`, {
    hint: 'Grant usage on the schema to it, and select, insert, update and delete on its tables',
  })
}
