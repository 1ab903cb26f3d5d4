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

/** Runs so many seeds from one on, on all processors, while `onRan` says to go on. */
export async function runSeeds(
  options: { first: number; seeds: number; days: number },
  onRan: (ran: Ran) => boolean,
): Promise<Campaign> {
  const { first, seeds, days } = options
  const began = performance.now()
  const waiting = Array.from({ length: seeds }, (_, i) => first + i)
  const all: Ran[] = []
  const work = async () => {
    const worker = new Worker(new URL('./worker.ts', import.meta.url))
    try {
      for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
        const ran = await ask(worker, { seed, days })
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

function ask(worker: Worker, work: { seed: number; days: number }): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => reject(error)
    worker.once('error', failed)
    worker.once('message', (ran: Ran) => {
      worker.off('error', failed)
      resolve(ran)
    })
    worker.postMessage(work)
  })
}
