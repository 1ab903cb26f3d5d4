import { AverbaError } from '../../vocabulary/errors.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { toAverbaError } from './postgres-errors.ts'
import type { PostgresClient, PostgresPool } from './postgres-pool.ts'

/** Where a log lies on a PostgreSQL server. */
export interface PostgresPlace {
  readonly pool: PostgresPool
  /** A schema of its own. It is created when it does not exist. By default `averba`. */
  readonly schema?: string
}

const schemaPattern = /^[a-z_][a-z0-9_]{0,62}$/
const connectMaxMs = 10_000

/**
 * Opens a log in a schema of a PostgreSQL database. Waits for nothing that the server does not promise to keep: it
 * refuses one that loses commits in a power cut.
 *
 * @throws {AverbaError} `MISCONFIGURED`, `STORE_UNSAFE`, `STORE_BUSY`
 */
export async function openPostgres({ pool, schema = 'averba' }: PostgresPlace): Promise<PostgresConnection> {
  if (!schemaPattern.test(schema)) {
    throw new AverbaError('MISCONFIGURED', 'Cannot open the log: the name of its schema is not allowed', {
      hint: 'Use small letters, digits and _, and begin with a letter',
    })
  }
  const name = `the schema "${schema}" in PostgreSQL`
  try {
    const client = await pool.connect()
    try {
      await checkDurable(client)
      await createSchema(client, schema)
    } finally {
      client.release()
    }
  } catch (cause) {
    throw cause instanceof AverbaError ? cause : (toAverbaError(name, cause) ?? cause)
  }
  return new PostgresConnection(pool, schema)
}

/** Makes a pool for an address. Needs the package `pg`. */
export async function createPool(url: string): Promise<PostgresPool> {
  const { default: pg } = await import('pg').catch(cause => {
    const hint = 'Add the package pg: npm install pg'
    throw new AverbaError('MISCONFIGURED', 'Cannot open a log on PostgreSQL: its driver is not installed', {
      cause,
      hint,
    })
  })
  const pool = new pg.Pool({ connectionString: url, pipeline: true, connectionTimeoutMillis: connectMaxMs })
  // Of connections that nobody uses at the time. The next use opens another one.
  pool.on('error', () => undefined)
  return pool
}

async function checkDurable(client: PostgresClient): Promise<void> {
  const names = ['fsync', 'full_page_writes', 'synchronous_commit']
  const text = `select ${names.map(name => `current_setting('${name}') as ${name}`).join(', ')}`
  const { rows } = await client.query({ text })
  const settings = rows[0] as Record<string, string> // The selected columns.
  const off = names.filter(name => settings[name] === 'off')
  if (off.length === 0) return
  throw new AverbaError('STORE_UNSAFE', `Cannot use PostgreSQL: ${off.join(' and ')} is off`, {
    hint: 'A power cut would lose what was acknowledged. Turn it on for this server, database or role',
  })
}

/** Two processes that create a schema at the same time meet an error, also with \`if not exists\`. */
async function createSchema(client: PostgresClient, schema: string): Promise<void> {
  const exists = async () => {
    const { rows } = await client.query({ text: `select to_regnamespace('${schema}') is not null as found` })
    return (rows[0] as { found: boolean }).found // The selected column.
  }
  if (await exists()) return
  try {
    await client.query({ text: `create schema ${schema}` })
  } catch (cause) {
    if (!(await exists())) throw cause
  }
}
