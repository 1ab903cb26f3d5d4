import { AverbaError } from '../../vocabulary/errors.ts'
import { type Connection, first, rows, type Steps } from './connection.ts'
import { createTables } from './schema.ts'

/** The statements that lead from one version of the tables to the next. */
export type Migration = (dialect: Connection['dialect']) => readonly string[]

/**
 * Every version of the tables, the oldest first: the first makes an empty database, and each other one leads from the
 * version before it. Forward only; a released one is never edited.
 */
export const migrations: readonly Migration[] = [createTables]

/**
 * The statements that bring tables of a version to the present one, as they are run. Version 0 is an empty database.
 */
export function statementsFrom(
  version: number,
  dialect: Connection['dialect'],
  all: readonly Migration[] = migrations,
): string[] {
  return all
    .slice(version)
    .flatMap((migration, i) => [...migration(dialect), `update head set schema = ${version + i + 1}`])
}

/**
 * Makes the tables of an empty database, and brings those of an older version forward, in one transaction.
 *
 * @throws {AverbaError} `NOT_OURS` when the tables are of a version that this library does not know
 */
export function* migrate(
  connection: Connection,
  path: string,
  all: readonly Migration[] = migrations,
): Steps<void> {
  const tables = yield* rows(connection.listTables)
  const version = tables.length === 0 ? 0 : yield* versionOf(connection)
  if (version === undefined || version > all.length) {
    const cannot = `Cannot open "${path}": its tables are of version ${version ?? 'unknown'}, and this is ${all.length}`
    throw new AverbaError('NOT_OURS', cannot, { hint: 'Update averba' })
  }
  for (const sql of statementsFrom(version, connection.dialect, all)) yield* rows({ sql, parameters: [] })
}

function* versionOf({ compiler }: Connection): Steps<number | undefined> {
  return (yield* first(compiler.selectFrom('head').select('schema')))?.schema
}
