import { AverbaError } from '../../vocabulary/errors.ts'
import { type Connection, first, rows, type Steps, together } from './connection.ts'
import { createTables, db, quoteSchema, tableNames } from './schema.ts'

/** The `application_id` of a log of averba: "aver" in ASCII. */
export const applicationId = 0x61766572

/** Writes the statements that lead from one version of the tables to the next. */
export type Migration = (dialect: Connection['dialect']) => readonly string[]

/** The migrations, the oldest first: it creates the tables. Forward only: a released one is never edited. */
export const migrations: readonly Migration[] = [createTables]

/** Lists the statements that migrate tables from a version to the newest one. Version 0 is an empty database. */
export function migrationStatements(
  version: number,
  dialect: Connection['dialect'],
  all: readonly Migration[] = migrations,
): string[] {
  return all
    .slice(version)
    .flatMap((migration, i) => [...migration(dialect), `update head set schema = ${version + i + 1}`])
}

/** Reads the version of the tables. Throws `NOT_OURS` when it is newer than this library. */
export function* readTablesVersion(path: string, newest = migrations.length): Steps<number> {
  return checkTablesVersion(path, (yield* first(db.selectFrom('head').select('schema')))?.schema, newest)
}

/** Checks that this library knows a version of the tables. Throws `NOT_OURS`. */
export function checkTablesVersion(path: string, version: number | undefined, newest = migrations.length): number {
  if (version !== undefined && version >= 1 && version <= newest) return version
  const cannot = `Cannot open "${path}": its tables have version ${version ?? 'unknown'}, averba supports ${newest}`
  throw new AverbaError('NOT_OURS', cannot, { hint: 'Update averba' })
}

/** Creates the tables of an empty database, or migrates those of an older version. The caller opens the transaction. */
export function* migrate(connection: Connection, path: string, all: readonly Migration[] = migrations): Steps<void> {
  const tables = yield* rows<{ name: string }>(connection.listTables)
  // A SQLite file has a mark of its own: without its head it is damaged.
  const own = connection.dialect === 'postgres' ? ['head'] : tableNames
  if (tables.length > 0 && !tables.some(({ name }) => own.includes(name)))
    throw new AverbaError('NOT_OURS', `Cannot open "${path}": it has tables of others, and no log`, {
      hint: 'Name a file or schema of its own: it is created when it does not exist',
    })
  const version = tables.length === 0 ? 0 : yield* readTablesVersion(path, all.length)
  yield* together(migrationStatements(version, connection.dialect, all).map(sql => rows({ sql, parameters: [] })))
}

/** See `migrationsFrom` of src/index.ts. */
export function migrationsFrom(version: number, dialect: string, schema = 'averba'): string[] {
  const isKnown = Number.isInteger(version) && version >= 0 && version <= migrations.length
  if (isKnown && (dialect === 'sqlite' || dialect === 'postgres')) {
    const statements = migrationStatements(version, dialect)
    if (statements.length === 0) return []
    // Opening refuses a SQLite file without this mark.
    if (dialect === 'sqlite')
      return ['begin immediate', ...statements, `pragma application_id = ${applicationId}`, 'commit']
    const own = quoteSchema(schema)
    const enter = [`create schema if not exists ${own}`, `set local search_path to ${own}`]
    return ['begin', ...enter, ...statements, 'commit']
  }
  throw new AverbaError('INVALID_INPUT', 'Cannot print the migrations: the version or the dialect is unknown', {
    hint: `Versions are 0 to ${migrations.length}, dialects sqlite and postgres`,
  })
}
