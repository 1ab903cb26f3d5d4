/** DBOS Transact on PostgreSQL: workflows of one step that does nothing. */
import { DBOS } from '@dbos-inc/dbos-sdk'
import pg from 'pg'

/** Launches it on the database of an address. */
export async function openDbos(address) {
  const systemDatabasePool = new pg.Pool({ connectionString: address, max: 20 })
  DBOS.setConfig({
    name: 'bench',
    // The pool counts: an address of a socket is refused.
    systemDatabaseUrl: 'postgres://postgres@localhost/postgres',
    systemDatabasePool,
    logLevel: 'error',
    runAdminServer: false,
  })
  const step = async n => n
  const flow = DBOS.registerWorkflow(async n => DBOS.runStep(() => step(n), { name: 'call' }), { name: 'flow' })
  await DBOS.launch()
  return {
    /** Runs workflows, so many at a time. */
    async runAll(count, atOnce) {
      let begun = 0
      await Promise.all(
        Array.from({ length: atOnce }, async () => {
          while (begun++ < count) await flow(begun)
        }),
      )
    },
    async close() {
      await DBOS.shutdown()
      await systemDatabasePool.end()
    },
  }
}
