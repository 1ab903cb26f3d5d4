import { hash } from 'node:crypto'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { setTimeout as after } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { compareReached } from './explained.ts'
import type { RunResult } from './run-steps.ts'
import { reachable } from './transitions.ts'

/** Far longer than any seed takes. */
const seedDefaultMaxMs = 15 * 60_000
/** The check that fails when a seed does not end. */
export const timeoutCheck = 'comes-to-an-end'

/** Runs a range of seeds on all processors, while `onResult` returns true. Counts those that were run. */
export async function runSeeds(
  options: { first: number; seeds: number; days: number; seedMaxMs?: number },
  onResult: (result: RunResult) => boolean,
) {
  const { first, seeds, days, seedMaxMs = seedDefaultMaxMs } = options
  const began = performance.now()
  const waiting = Array.from({ length: seeds }, (_, i) => first + i)
  const all: RunResult[] = []
  const start = () => new Worker(new URL('./worker.ts', import.meta.url))
  const work = async () => {
    let worker = start()
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      let result = await runOnWorker(worker, { seed, days }, seedMaxMs)
      if (result === undefined) {
        await worker.terminate()
        worker = start()
        const what = `it did not end within ${seedMaxMs} ms`
        result = { seed, failures: [{ check: timeoutCheck, what }], events: 0, reached: [], digest: '' }
      }
      all.push(result)
      if (!onResult(result)) waiting.length = 0
    }
    await worker.terminate()
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), seeds) }, work))
  const seconds = (performance.now() - began) / 1_000
  const events = all.reduce((sum, each) => sum + each.events, 0)
  const digests = all.sort((a, b) => a.seed - b.seed).map(each => `${each.seed} ${each.digest}\n`)
  return {
    seeds: all.length,
    failures: all.filter(each => each.failures.length > 0).length,
    events,
    eventsPerSecond: Math.round(events / seconds),
    ...compareReached(reachable(), new Set(all.flatMap(each => each.reached))),
    digest: hash('sha256', digests.join('')),
  }
}

/** Runs a seed; `undefined` when it takes too long. */
async function runOnWorker(worker: Worker, work: { seed: number; days: number }, maxMs: number) {
  const stop = new AbortController()
  worker.postMessage(work)
  try {
    const inTime = after(maxMs, undefined, { signal: stop.signal })
    const answered = once(worker, 'message', { signal: stop.signal }).then(([result]) => result as RunResult)
    return await Promise.race([answered, inTime])
  } finally {
    stop.abort()
  }
}
