/** Emmett on SQLite in its best configuration that is correct: one connection, and callers behind a mutex. */
import { getSQLiteEventStore, SQLiteConnectionPool, sqliteConnection } from '@event-driven-io/emmett-sqlite'
import { appendAll } from './append-all.mjs'

/** Opens a store on a file. */
export async function openEmmett(fileName) {
  const connection = sqliteConnection({ fileName })
  await connection.command('PRAGMA journal_mode = WAL;')
  await connection.command('PRAGMA synchronous = FULL;')
  const pool = SQLiteConnectionPool({ fileName, connectionOptions: { singleton: true, connection } })
  const store = getSQLiteEventStore({ fileName, pool, schema: { autoMigration: 'CreateOrUpdate' } })
  await store.schema.migrate()
  let turn = Promise.resolve()
  const inTurn = work => {
    const done = turn.then(work)
    turn = done.catch(() => undefined)
    return done
  }

  return {
    appendAll: (...given) => appendAll((...appending) => inTurn(() => store.appendToStream(...appending)), ...given),

    /** Lets a consumer see every event, and keep a row for each stream in memory. */
    async consumeAll(count) {
      const rows = new Map()
      let seen = 0
      const consumer = store.consumer({ pulling: { batchSize: 1_000 } })
      consumer.processor({
        processorId: `bench-${performance.now()}`,
        startFrom: 'BEGINNING',
        connectionOptions: { fileName, connection },
        stopAfter: () => seen >= count,
        eachMessage: async event => {
          seen += 1
          rows.set(event.metadata.streamName, event.data)
        },
      })
      await consumer.start()
      await consumer.close()
      if (seen < count) throw new TypeError(`The consumer saw ${seen} of ${count} events`)
      return rows.size
    },

    close: () => connection.close(),
  }
}
