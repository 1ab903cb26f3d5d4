import { AverbaError } from '../../vocabulary/errors.ts'

/**
 * Checks the name of a schema on PostgreSQL, which stands in statements as it is.
 *
 * @throws {AverbaError} `MISCONFIGURED`
 */
export function checkSchemaName(schema: string): void {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) return
  throw new AverbaError('MISCONFIGURED', 'Cannot use this schema for a log: its name is not allowed', {
    hint: 'Use small letters, digits and _, and begin with a letter',
  })
}
