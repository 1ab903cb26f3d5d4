/** A process of the benchmark of a fleet: appends with 64 callers for a while, or stands still with the lock. */
import { createInterface } from 'node:readline'
import { systemClock } from '../src/runtime/clock.ts'
import { systemEntropy } from '../src/runtime/entropy.ts'
import { locatePostgres, openPostgres } from '../src/store/database/postgres.ts'
import { placeOf } from '../src/store/opening.ts'
import { Store } from '../src/store/store.ts'
import { appendOne, createId, eventsPerStream } from './workload.ts'

const callers = 64
const stillMs = 4_000
const [address = '', keyring = ''] = process.argv.slice(2)
const store = await Store.open({
  ...(await placeOf({ store: address, keyring })),
  views: [],
  clock: systemClock,
  entropy: systemEntropy,
  createId,
})
const connection = await openPostgres(await locatePostgres(address))
console.log('opened')
for await (const order of createInterface({ input: process.stdin })) {
  if (order === 'stand still') await connection.transact(standStill).catch(() => undefined)
  else console.log(await appendFor(Number(order.split(' ')[1])))
}

async function appendFor(ms: number): Promise<number> {
  const until = performance.now() + ms
  let count = 0
  const run = async () => {
    let [name, version] = [`consent-${createId()}`, 0]
    while (performance.now() < until) {
      if (version === eventsPerStream) [name, version] = [`consent-${createId()}`, 0]
      version += 1
      await store.append(appendOne(name, version))
      count += 1
    }
  }
  await Promise.all(Array.from({ length: callers }, run))
  return count
}

function* standStill() {
  yield { sql: 'select 1', parameters: [] }
  console.log('holding')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stillMs)
  yield { sql: 'select 1', parameters: [] }
}
