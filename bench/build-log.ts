import type { Store } from '../src/store/store.ts'
import type { Say } from './measure.ts'
import { appendOne, createId } from './workload.ts'

const together = 500

/** Fills a log with so many events of so many consents, each of which becomes a row of their view. */
export async function buildLog(store: Store, events: number, streams: number, say: Say): Promise<void> {
  const eventsPerStream = events / streams
  for (let from = 0; from < streams; from += together) {
    const names = Array.from({ length: Math.min(together, streams - from) }, () => `consent-${createId()}`)
    for (let version = 1; version <= eventsPerStream; version++) {
      await Promise.all(names.map(name => store.append(appendOne(name, version))))
    }
  }
  say(`  built a log of ${streams * eventsPerStream} events in ${streams} streams`)
}
