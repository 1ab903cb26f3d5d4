/**
 * The condition that a table of this name has taken the place of the one in the snapshot of the transaction. A name
 * leads to the newest table, whose rows an older snapshot may not have. Certain for a table that the transaction has
 * read: none is replaced from then on.
 *
 * @param name as an expression of SQL
 */
export function isReplaced(name: string): string {
  return `to_regclass(${name})::oid is distinct from (select c.oid from pg_class c
    join pg_namespace n on n.oid = c.relnamespace where n.nspname = current_schema() and c.relname = ${name})`
}
