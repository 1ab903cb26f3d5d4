import { hash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { compareReached } from './explained.ts'
import { reachable } from './reachable.ts'
import type { Ran } from './run-steps.ts'

/** What a campaign came to. */
export interface Campaign {
  /** How many were run. */
  readonly seeds: number
  readonly failures: number
  readonly events: number
  readonly eventsPerSecond: number
  /** What no seed reached, and nothing explains. */
  readonly unreached: readonly string[]
  /** How many are not reached for a reason that the table gives. */
  readonly explained: number
  /** What a seed reached that the table says cannot be. */
  readonly refuted: readonly string[]
  /** Of a line for each seed, `<seed> <digest>`, in their order: a second campaign of the same seeds gives the same. */
  readonly digest: string
}

/** What a seed takes at most, by far. */
const seedDefaultMaxMs = 15 * 60_000
/** The check that a seed fails which does not end. */
export const endCheck = 'comes-to-an-end'

/**
 * Runs so many seeds from one on, on all processors, while `onRan` says to go on. One that does not end within
 * `seedMaxMs` of real time has failed.
 */
export async function runSeeds(
  options: { first: number; seeds: number; days: number; seedMaxMs?: number },
  onRan: (ran: Ran) => boolean,
): Promise<Campaign> {
  const { first, seeds, days, seedMaxMs = seedDefaultMaxMs } = options
  const began = performance.now()
  const waiting = Array.from({ length: seeds }, (_, i) => first + i)
  const all: Ran[] = []
  const work = async () => {
    let worker = begin()
    try {
      for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
        let ran = await ask(worker, { seed, days }, seedMaxMs)
        if (ran === undefined) {
          await worker.terminate()
          worker = begin()
          ran = endless(seed, seedMaxMs)
        }
        all.push(ran)
        if (!onRan(ran)) waiting.length = 0
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
    failures: all.filter(each => each.wrongs.length > 0).length,
    events,
    eventsPerSecond: Math.round(events / seconds),
    ...compareReached(reachable(), reached),
    digest: hash('sha256', digests.join('')),
  }
}

function begin(): Worker {
  return new Worker(new URL('./worker.ts', import.meta.url))
}

/** What became of a seed; nothing where it takes too long. */
function ask(worker: Worker, work: { seed: number; days: number }, maxMs: number): Promise<Ran | undefined> {
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
    worker.once('message', (ran: Ran) => end(() => resolve(ran)))
    worker.postMessage(work)
  })
}

function endless(seed: number, maxMs: number): Ran {
  const wrongs = [{ check: endCheck, what: `it did not end within ${maxMs} ms` }]
  return { seed, wrongs, events: 0, reached: [], digest: '' }
}
