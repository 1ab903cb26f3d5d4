import { hash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { type Coverage, compareReached } from './explained.ts'
import { reachable } from './reachable.ts'
import type { RunResult } from './run-steps.ts'

/** The result of a campaign. */
export interface Campaign extends Coverage {
  /** The number of seeds that were run. */
  readonly seeds: number
  /** The number of seeds that failed. */
  readonly failures: number
  readonly events: number
  readonly eventsPerSecond: number
  /** The digest over a line `<seed> <digest>` for each seed, in order. The same seeds give the same digest. */
  readonly digest: string
}

/** Far longer than any seed takes. */
const seedDefaultMaxMs = 15 * 60_000
/** The check that fails when a seed does not end. */
export const timeoutCheck = 'comes-to-an-end'

/**
 * Runs a range of seeds on all processors, while `onResult` returns true. A seed that does not end within `seedMaxMs` of real
 * time has failed.
 */
export async function runSeeds(
  options: { first: number; seeds: number; days: number; seedMaxMs?: number },
  onResult: (result: RunResult) => boolean,
): Promise<Campaign> {
  const { first, seeds, days, seedMaxMs = seedDefaultMaxMs } = options
  const began = performance.now()
  const waiting = Array.from({ length: seeds }, (_, i) => first + i)
  const all: RunResult[] = []
  const work = async () => {
    let worker = startWorker()
    try {
      for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
        let result = await runOnWorker(worker, { seed, days }, seedMaxMs)
        if (result === undefined) {
          await worker.terminate()
          worker = startWorker()
          result = timeoutResult(seed, seedMaxMs)
        }
        all.push(result)
        if (!onResult(result)) waiting.length = 0
      }
    } finally {
      await worker.terminate()
    }
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), seeds) }, work))
  const seconds = (performance.now() - began) / 1_000
  const events = all.reduce((sum, each) => sum + each.events, 0)
  const reached = new Set(all.flatMap(each => each.reached))
  const digests = all.sort((a, b) => a.seed - b.seed).map(each => `${each.seed} ${each.digest}\n`)
  return {
    seeds: all.length,
    failures: all.filter(each => each.failures.length > 0).length,
    events,
    eventsPerSecond: Math.round(events / seconds),
    ...compareReached(reachable(), reached),
    digest: hash('sha256', digests.join('')),
  }
}

function startWorker(): Worker {
  return new Worker(new URL('./worker.ts', import.meta.url))
}

/** Runs a seed; `undefined` when it takes too long. */
function runOnWorker(
  worker: Worker,
  work: { seed: number; days: number },
  maxMs: number,
): Promise<RunResult | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => end(() => resolve(undefined)), maxMs)
    const failed = (error: Error) => end(() => reject(error))
    const end = (how: () => void) => {
      clearTimeout(timer)
      worker.off('error', failed)
      worker.removeAllListeners('message')
      how()
    }
    worker.once('error', failed)
    worker.once('message', (result: RunResult) => end(() => resolve(result)))
    worker.postMessage(work)
  })
}

function timeoutResult(seed: number, maxMs: number): RunResult {
  const failures = [{ check: timeoutCheck, what: `it did not end within ${maxMs} ms` }]
  return { seed, failures, events: 0, reached: [], digest: '' }
}
