/** Emmett on PostgreSQL, with its own pool. */
import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql'

/** Opens a store in the database of an address. */
export async function openEmmett(address) {
  const store = getPostgreSQLEventStore(address)
  await store.schema.migrate()
  return {
    /** Lets callers append at the same time, each one event after the other to a stream of its own. */
    async appendAll(count, callers, newStream, data) {
      await Promise.all(
        Array.from({ length: callers }, async () => {
          let stream = newStream()
          for (let n = 0; n < count / callers; n++) {
            if (n % 20 === 0) stream = newStream()
            const expectedStreamVersion = n % 20 === 0 ? 'STREAM_DOES_NOT_EXIST' : BigInt(n % 20)
            const event = { type: 'consent.amended', data }
            await store.appendToStream(stream, [event], { expectedStreamVersion })
          }
        }),
      )
    },
    close: () => store.close(),
  }
}
