import { parentPort, workerData } from 'node:worker_threads'
import { Faults } from '../../../src/proof/faults.ts'
import { LedgerCheck } from '../../../src/store/checks/check-ledger.ts'
import { rows } from '../../../src/store/database/connection.ts'
import { Snapshot } from '../../../src/store/database/snapshot.ts'

/** Checks the ledger of a log in a worker with little memory. */
const snapshot = await Snapshot.open(workerData)
const faults = new Faults()
const ledger = LedgerCheck.begin(snapshot)
const sql = 'select position, header from event where position > ? order by position limit 10'
for (let after = 0; ; ) {
  const page = snapshot.run(() => rows<{ position: number; header: string }>({ sql, parameters: [after] }))
  ledger.addHeaders(page.map(({ header }) => header))
  const end = page.at(-1)
  if (!end) break
  after = end.position
}
await ledger.compare(faults)
snapshot.close()
parentPort?.postMessage(faults.list())
