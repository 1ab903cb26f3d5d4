import { setTimeout as after } from 'node:timers/promises'
import type { Store } from '../../src/store/store.ts'
import { AverbaError } from '../../src/vocabulary/errors.ts'
import { appendOf } from '../store/append-of.ts'
import { Place, positionsOf } from '../store/conformance/place.ts'
import { type Cut, CuttingProxy } from '../support/cutting-proxy.ts'
import { connectTo, type PostgresServer } from '../support/postgres-server.ts'
import { Random } from '../support/random.ts'
import { type FleetFindings, noFindings } from './findings.ts'

/** Longer than the proxy holds a message back. */
const lateMs = 500
/** How many writers append while commits are cut, each with connections of its own, and how many callers each has. */
const [writers, callersOfEach] = [2, 4]
/** How many writers a reader follows. */
const followed = 24

/** Opens stores on one log, which reach the server through a proxy. */
async function openBehindProxy(server: PostgresServer, schema: string, count: number) {
  const proxy = await CuttingProxy.start(server.folder)
  const place = new Place(connectTo(proxy.url, schema))
  const stores = await Promise.all(Array.from({ length: count }, () => place.open()))
  const close = async () => {
    await Promise.all(stores.map(store => store.close()))
    await proxy.close()
  }
  return { proxy, stores, reader: stores[0] as Store, close } // The count is above 0.
}

const isBusy = (error: unknown) => error instanceof AverbaError && error.code === 'STORE_BUSY'

/** Cuts connections at commits, before and behind the server. Compares what callers were told with the log. */
export async function cutCommits(server: PostgresServer, seed: number, cuts: number): Promise<FleetFindings> {
  const findings = noFindings()
  const { proxy, stores, reader, close } = await openBehindProxy(server, `cuts_${seed}`, writers)
  const random = new Random(seed)
  const kinds: (Cut | undefined)[] = ['before', 'behind', 'late', undefined, undefined]
  proxy.onCommit = () => kinds[random.below(kinds.length)]
  const recorded = new Map<string, number>()
  const refused = new Set<string>()
  const run = async (store: Store, caller: string) => {
    for (let n = 0; proxy.cuts < cuts; n++) {
      const stream = `bench-${caller}-${n}`
      try {
        const [position = 0] = positionsOf(await store.append(appendOf(stream, 'none')))
        recorded.set(stream, position)
      } catch (error) {
        refused.add(stream)
        if (!isBusy(error)) findings.wrong.push(`${stream}: ${error}`)
      }
    }
  }
  const callers = Array.from({ length: callersOfEach }, (_, caller) => caller)
  await Promise.all(stores.flatMap((store, i) => callers.map(caller => run(store, `${i}-${caller}`))))
  proxy.onCommit = () => undefined
  // What was sent late has arrived by then.
  await after(lateMs)
  const found = new Map<string, number>()
  let last = 1
  for (let page = await reader.read({ after: last }); page.length > 0; page = await reader.read({ after: last })) {
    for (const { stream, position } of page) {
      if (position !== last + 1) findings.wrong.push(`a gap before ${position}`)
      if (found.has(stream)) findings.doubled.push(stream)
      if (refused.has(stream)) findings.wrong.push(`${stream} was refused, and is recorded`)
      found.set(stream, position)
      last = position
    }
  }
  for (const [stream, position] of recorded)
    if (found.get(stream) !== position) findings.lost.push(`${stream} at ${position}`)
  await close()
  findings.counts = { cuts: proxy.cuts, recorded: recorded.size, refused: refused.size }
  return findings
}

/**
 * A reader follows 24 writers of one stream, whose appends conflict, and whose transactions are rolled back when their
 * connections are cut. It must see every position once and in order, although it never waits for a writer.
 */
export async function tailWriters(server: PostgresServer, seed: number, events: number): Promise<FleetFindings> {
  const findings = noFindings()
  const { proxy, stores, reader, close } = await openBehindProxy(server, `tail_${seed}`, 1 + followed)
  const random = new Random(seed)
  proxy.onCommit = () => (random.below(10) === 0 ? 'before' : undefined)
  const stream = 'bench-shared'
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
        if (!isBusy(error)) findings.wrong.push(String(error))
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
  await Promise.all(stores.slice(1).map(append))
  isOver = true
  await tailing
  const last = (await reader.readLast())?.position ?? 0
  if (read !== last) findings.lost.push(`the reader ended at ${read}, and the log at ${last}`)
  await close()
  findings.counts = { tailed: read, conflicts, rollbacks: proxy.cuts }
  return findings
}
