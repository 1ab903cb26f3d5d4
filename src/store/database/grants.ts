import { AverbaError } from '../../vocabulary/errors.ts'
import { quoteSchema, type Schema } from './schema.ts'

/** What a process does with the rows of each table. The last two exist on servers only. */
const rights: Readonly<Record<keyof Schema | 'writer' | 'done_item', string>> = {
  head: 'select, update',
  projection: 'select, insert, update, delete',
  stream: 'select, insert, update',
  event: 'select, insert',
  subtree: 'select, insert',
  checkpoint: 'select, insert, update',
  part: 'select, insert, delete',
  owner_key: 'select, insert, update',
  receipt: 'select, insert, update',
  effect: 'select, insert, update',
  keyed_index: 'select, insert, update, delete',
  recent_digest: 'select, insert, delete',
  follower: 'select, insert, update, delete',
  secret: 'select, insert, update, delete',
  lease: 'select, insert, update, delete',
  rate: 'select, insert, update',
  rebuild: 'select, insert, update, delete',
  writer: 'select, insert, update, delete',
  done_item: 'select, insert, delete',
}

/** Who gets rights on a log on PostgreSQL. */
export interface Grantees {
  /** The schema of the log; by default `averba`. */
  readonly schema?: string
  /** The role of the processes that open the log. */
  readonly process: string
  /** A role that reads it, such as that of an auditor or of a report. */
  readonly reader?: string
}

/** See `grantsFor` of src/index.ts. */
export function grantsFor({ schema = 'averba', process, reader }: Grantees): string[] {
  const own = quoteSchema(schema)
  const app = quoteRole(process)
  const tables = Object.entries(rights).map(([table, verbs]) => `grant ${verbs} on ${own}.${table} to ${app}`)
  const names = Object.keys(rights).map(table => `'${table}'`)
  const takeViews = `do $averba$ declare name text; begin
  for name in select tablename from pg_tables where schemaname = '${schema}' and tablename not in (${names.join(', ')})
  loop execute format('alter table ${own}.%I owner to %I', name, ${quoteText(process)}); end loop;
end $averba$`
  const role = reader === undefined ? undefined : quoteRole(reader)
  // A view that is made or rebuilt later has another table.
  const byDefault = `alter default privileges for role ${app} in schema ${own} grant select on tables to ${role}`
  const forReader = [
    `grant usage on schema ${own} to ${role}`,
    `grant select on all tables in schema ${own} to ${role}`,
    byDefault,
  ]
  const forProcess = [`grant usage, create on schema ${own} to ${app}`, ...tables, takeViews]
  return ['begin', ...forProcess, ...(role === undefined ? [] : forReader), 'commit']
}

function quoteRole(role: unknown): string {
  if (typeof role === 'string' && /^[^\0$]{1,63}$/.test(role)) return `"${role.replaceAll('"', '""')}"`
  throw new AverbaError('INVALID_INPUT', 'Cannot print the grants: a role has no name, or one with $', {
    hint: 'Give the name of a role of the server: averba grants app',
  })
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
