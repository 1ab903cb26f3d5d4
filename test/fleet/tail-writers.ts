import type { Store } from '../../src/store/store.ts'
import { AverbaError } from '../../src/vocabulary/errors.ts'
import { appendOf } from '../store/append-of.ts'
import { Place } from '../store/conformance/place.ts'
import { CuttingProxy } from '../support/cutting-proxy.ts'
import { connectTo, type PostgresServer } from '../support/postgres-server.ts'
import { Random } from '../support/random.ts'
import { type FleetFindings, noFindings } from './findings.ts'

const writers = 24
const stream = 'bench-shared'

/**
 * A reader follows 24 writers of one stream, whose appends conflict, and whose transactions are rolled back when their
 * connections are cut. It must see every position once and in order, although it never waits for a writer.
 */
export async function tailWriters(server: PostgresServer, seed: number, events: number): Promise<FleetFindings> {
  const findings = noFindings()
  const proxy = await CuttingProxy.start(server.folder)
  const place = new Place(connectTo(proxy.url, `tail_${seed}`))
  const stores = await Promise.all(Array.from({ length: writers }, () => place.open()))
  const reader = await place.open()
  const random = new Random(seed)
  proxy.onCommit = () => (random.below(10) === 0 ? 'before' : undefined)
  let [read, conflicts, isOver] = [1, 0, false]
  const append = async (store: Store, n: number) => {
    for (let version = 0; read <= events; ) {
      try {
        const isBlind = random.below(3) === 0
        const appended = await store.append(appendOf(isBlind ? stream : `bench-${n}`, isBlind ? version : 'any'))
        if (appended.status === 'appended') continue
        conflicts += 1
        version = (await store.readLast({ stream }))?.version ?? 0
      } catch (error) {
        if (!(error instanceof AverbaError) || error.code !== 'STORE_BUSY') findings.wrong.push(String(error))
      }
    }
  }
  const tail = async () => {
    for (;;) {
      // Asked before the page: what is recorded later may be missing in it.
      const wasOver = isOver
      const page = await reader.read({ after: read, limit: 100 })
      for (const { position } of page) {
        if (position !== read + 1) findings.lost.push(`the reader saw ${position} after ${read}`)
        read = position
      }
      if (page.length === 0 && wasOver) return
    }
  }
  const tailing = tail()
  await Promise.all(stores.map(append))
  isOver = true
  await tailing
  const last = (await reader.readLast())?.position ?? 0
  if (read !== last) findings.lost.push(`the reader ended at ${read}, and the log at ${last}`)
  await Promise.all([...stores, reader].map(store => store.close()))
  await proxy.close()
  Object.assign(findings.counts, { tailed: read, conflicts, rollbacks: proxy.cuts })
  return findings
}
