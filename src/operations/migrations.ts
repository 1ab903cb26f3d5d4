import { migrationStatements, migrations } from '../store/database/migrations.ts'
import { AverbaError } from '../vocabulary/errors.ts'

/**
 * The statements that migrate the tables of a store from a version to the current one, as opening it does.
 *
 * @throws {AverbaError} `INVALID_INPUT`
 */
export function migrationsFrom(version: number, dialect: string): string[] {
  const isKnown = Number.isInteger(version) && version >= 0 && version <= migrations.length
  if (isKnown && (dialect === 'sqlite' || dialect === 'postgres')) return migrationStatements(version, dialect)
  throw new AverbaError('INVALID_INPUT', 'Cannot print the migrations: the version or the dialect is unknown', {
    hint: `Versions are 0 to ${migrations.length}, dialects sqlite and postgres`,
  })
}
