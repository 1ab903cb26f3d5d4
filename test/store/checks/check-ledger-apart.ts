import { parentPort, workerData } from 'node:worker_threads'
import { Faults } from '../../../src/proof/faults.ts'
import { parseRecorded } from '../../../src/proof/recorded-header.ts'
import { LedgerCheck } from '../../../src/store/checks/check-ledger.ts'
import { readPages } from '../../../src/store/database/connection.ts'
import { Snapshot } from '../../../src/store/database/snapshot.ts'

/** Checks the ledger of a log in a worker with little memory. */
await using snapshot = await Snapshot.open(workerData)
const faults = new Faults()
const ledger = await LedgerCheck.begin(snapshot)
const sql = 'select position, header from event where position > ? order by position limit 10'
const events = readPages<{ position: number; header: string }>(snapshot, last => ({
  sql,
  parameters: [last?.position ?? 0],
}))
for await (const page of events) await ledger.addEvents(page.flatMap(({ header }) => parseRecorded(header) ?? []))
await ledger.compare(faults)
parentPort?.postMessage(faults.list())
