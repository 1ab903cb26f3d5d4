import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { quoteSchema } from '../database/schema.ts'

/** A transaction of the host: a client of `pg` on which `begin` was sent, or what queries as it does. */
export interface HostTransaction {
  query(query: { text: string; values?: unknown[] }): Promise<{ readonly rows: readonly unknown[] }>
}

/**
 * Marks an item as done in a transaction of the host, after another one that is marking it. False if it was marked.
 *
 * @throws {AverbaError} `INVALID_INPUT`
 */
export async function markDone(
  transaction: HostTransaction,
  schema: string,
  item: { readonly name: string; readonly item: string; readonly at: Instant },
): Promise<boolean> {
  const insert = `insert into ${quoteSchema(schema)}.done_item (name, item, at) values ($1, $2, $3)
    on conflict do nothing returning name`
  try {
    // Refused outside of a transaction, where the mark would stay when the host's work is undone.
    await transaction.query({ text: 'savepoint averba_once' })
    const { rows } = await transaction.query({ text: insert, values: [item.name, item.item, item.at] })
    await transaction.query({ text: 'release savepoint averba_once' })
    return rows.length === 1
  } catch (cause) {
    const hint = cause instanceof Error && 'code' in cause ? hints[String(cause.code)] : undefined
    if (hint === undefined) throw cause
    throw new AverbaError('INVALID_INPUT', 'Cannot mark an item as done: this is no transaction beside the log', {
      cause,
      hint,
    })
  }
}

/** What to do, by the code of PostgreSQL. */
const hints: Readonly<Record<string, string>> = {
  '25P01': 'Send begin on this client first, and commit after your own work',
  '42P01': 'Use a transaction in the database in which the log is',
  '3F000': 'Use a transaction in the database in which the log is',
  '42501': 'Grant usage on the schema of the log, and select and insert on done_item, to the role of the transaction',
}
