/** Emmett on PostgreSQL, with its own pool. */
import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql'
import { appendAll } from './append-all.mjs'

/** Opens a store in the database of an address. */
export async function openEmmett(address) {
  const store = getPostgreSQLEventStore(address)
  await store.schema.migrate()
  return {
    appendAll: (...given) => appendAll((...appending) => store.appendToStream(...appending), ...given),
    close: () => store.close(),
  }
}
