import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { beforeAll, expect, test } from 'vitest'
import { open } from '../../support/counting.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { appendOf } from '../append-of.ts'

const [events, each] = [200, 500]

/** A closed log of 100,000 calls, some of which have ended in different ways. */
let sample = ''
beforeAll(async () => {
  sample = temporaryStore()
  const store = await open(sample, [])
  const effects = Array.from({ length: each }, (_, n) => ({ type: `e.do${n % 7}`, data: {} }))
  const end = (effect: string, as: 'settled' | 'unknown') =>
    store.append(appendOf('other', 'any', [{}], { settles: { effect, attempts: 0, as, reason: '' } }))
  for (let i = 0; i < events; i++) await store.append(appendOf(`bench-${i}`, 'none', [{ effects }]))
  for (let i = 0; i < events; i += 3) await end(`bench-${i}/1/${i}`, 'settled')
  for (const n of [0, 7, 14]) await end(`bench-1/1/${n}`, 'unknown')
  // Applies to the newest unknown call of its type.
  await store.append(appendOf('bench-1', 'any', [{ resolves: { effect: 'e.do0', as: 'settled' } }]))
  await store.append(appendOf('other', 'any', [{ cancels: ['bench-2/1/3', 'bench-2/1/4'] }]))
  await store.close()
}, 120_000)

/** Runs the check with less memory than the calls would take. */
async function check(...edits: readonly string[]): Promise<unknown> {
  const path = temporaryStore()
  copyFileSync(sample, path)
  useDatabase(path, database => {
    for (const sql of edits) expect(database.prepare(sql).run().changes).toBe(1)
  })
  const worker = new Worker(new URL('check-ledger-apart.ts', import.meta.url), {
    workerData: path,
    resourceLimits: { maxOldGenerationSizeMb: 20 },
  })
  const [found] = await once(worker, 'message')
  return found
}

test('in a ledger larger than memory, exactly the wrong calls are found, anywhere', async () => {
  const found = await check(
    "update effect set state = 'settled', is_open = 0 where position = 2 and n = 1",
    'delete from effect where position = 100 and n = 499',
    "update effect set type = 'e.do9' where position = 101 and n = 0",
    `insert into effect (position, n, stream, type, state, is_open, due_at, attempts, reason)
      select position, 500, stream, type, state, is_open, due_at, attempts, reason from effect
      where position = 201 and n = 1`,
    "update effect set state = 'settled' where position = 3 and n = 7",
    'update effect set due_at = null where position = 3 and n = 8',
  )
  const wrong = ['2/1', '3/7', '3/8', '101/0', '201/500'].map(
    call => `the call ${call} has another state than the log says`,
  )
  const examples = [...wrong, 'the call 100/499 is missing in the ledger']
  expect(found).toEqual([{ check: 'effects', count: 6, examples }])
}, 60_000)
