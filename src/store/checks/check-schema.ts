import { AverbaError } from '../../vocabulary/errors.ts'
import { type Connection, rows, type Steps } from '../database/connection.ts'
import { createTables, tableNames } from '../database/schema.ts'

interface SchemaEntry {
  readonly type: string
  readonly name: string
  readonly table: string
  readonly sql: string | null
}

/** Our tables, indexes and triggers by name, as SQLite keeps their statements. */
const ours = new Map(
  createTables('sqlite').flatMap(statement => {
    const [, name] = /^create (?:table|index|trigger) (\w+)/.exec(statement) ?? []
    return name === undefined ? [] : [[name, plain(statement)] as const]
  }),
)

export const schemaAdvice =
  'Find out who changed it, then drop what is foreign and make what is missing anew, or restore a backup beside it'

/**
 * Checks that a file has the tables, indexes and guards of averba, a server their keys, and neither a trigger, rule or
 * view of others on them: a trigger changes what is written, and a dropped guard lets events be changed.
 *
 * @throws {AverbaError} `CORRUPT`
 */
export function* checkSchema(path: string, dialect: Connection['dialect']): Steps<void> {
  const faults = yield* findSchemaFaults(dialect)
  if (faults.length === 0) return
  throw new AverbaError('CORRUPT', `Cannot open "${path}": ${faults.join('; ')}`, { hint: schemaAdvice, path })
}

/** Describes how the schema of a log differs from that of averba. Tables of views are compared elsewhere. */
export function findSchemaFaults(dialect: Connection['dialect']): Steps<string[]> {
  return dialect === 'sqlite' ? findFileFaults() : findServerFaults()
}

/** A trigger or a rule on a server changes what is written, as in a file. There are no guards to compare. */
function* findServerFaults(): Steps<string[]> {
  const found = yield* rows<{ kind: string; name: string; table: string }>({
    sql: `select 'trigger' as kind, t.tgname::text as name, c.relname::text as "table" from pg_trigger t
        join pg_class c on c.oid = t.tgrelid
        where not t.tgisinternal and c.relnamespace = current_schema()::regnamespace
      union all select 'rule', rulename::text, tablename::text from pg_rules where schemaname = current_schema()
      union all select 'no key', '', relname::text from pg_class c
        where relkind = 'r' and relnamespace = current_schema()::regnamespace
          and not exists (select from pg_constraint where conrelid = c.oid and contype = 'p')`,
    parameters: [],
  })
  const onOurs = found.filter(({ table }) => tableNames.includes(table))
  return onOurs.map(({ kind, name, table }) =>
    kind === 'no key'
      ? `its table "${table}" has no primary key`
      : `its table "${table}" has a foreign ${kind} "${name}"`,
  )
}

function* findFileFaults(): Steps<string[]> {
  const found = yield* rows<SchemaEntry>({
    sql: 'select type, name, tbl_name as "table", sql from sqlite_schema order by type, name',
    parameters: [],
  })
  const byName = new Map(found.map(entry => [entry.name, entry]))
  const missing = [...ours].flatMap(([name, statement]) => {
    const entry = byName.get(name)
    if (!entry) return `its ${statement.split(' ')[1]} "${name}" is missing`
    return plain(entry.sql ?? '') === statement ? [] : `its ${entry.type} "${name}" was changed`
  })
  const foreign = found.flatMap(({ type, name, table, sql }) => {
    const mayBe =
      ours.has(name) || type === 'table' || sql === null || !concernsOurs(table, type === 'index' ? '' : sql)
    return mayBe ? [] : `it has a foreign ${type} "${name}"`
  })
  return [...missing, ...foreign]
}

/** Whether an index, trigger or view is on a table of ours, or names one. */
function concernsOurs(table: string, sql: string): boolean {
  return [table, ...(sql.toLowerCase().match(/\w+/g) ?? [])].some(word => ours.has(word))
}

/** SQLite keeps a statement as it was written, but for the case of its first words. */
function plain(sql: string): string {
  return sql.replace(/\s+/g, ' ').trim().toLowerCase()
}
