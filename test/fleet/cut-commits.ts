import { setTimeout as after } from 'node:timers/promises'
import { AverbaError } from '../../src/vocabulary/errors.ts'
import { appendOf } from '../store/append-of.ts'
import { Place, positionsOf } from '../store/conformance/place.ts'
import { type Cut, CuttingProxy } from '../support/cutting-proxy.ts'
import { connectTo, type PostgresServer } from '../support/postgres-server.ts'
import { Random } from '../support/random.ts'
import { type FleetFindings, noFindings } from './findings.ts'

/** Longer than the proxy holds a message back. */
const lateMs = 500
/** How many writers append through the proxy, each with connections of its own, and how many callers each has. */
const [writers, callersOfEach] = [2, 4]

/** Cuts connections at commits, before and behind the server. Compares what callers were told with the log. */
export async function cutCommits(server: PostgresServer, seed: number, cuts: number): Promise<FleetFindings> {
  const findings = noFindings()
  const proxy = await CuttingProxy.start(server.folder)
  const place = new Place(connectTo(proxy.url, `cuts_${seed}`))
  const stores = await Promise.all(Array.from({ length: writers }, () => place.open()))
  const random = new Random(seed)
  const kinds: (Cut | undefined)[] = ['before', 'behind', 'late', undefined, undefined]
  proxy.onCommit = () => kinds[random.below(kinds.length)]
  const recorded = new Map<string, number>()
  const refused = new Set<string>()
  const run = async (caller: number) => {
    for (let n = 0; proxy.cuts < cuts; n++) {
      const stream = `bench-${caller}-${n}`
      try {
        const appended = await stores[caller % writers]?.append(appendOf(stream, 'none'))
        const [position = 0] = appended ? positionsOf(appended) : []
        recorded.set(stream, position)
      } catch (error) {
        refused.add(stream)
        if (!(error instanceof AverbaError) || error.code !== 'STORE_BUSY') findings.wrong.push(`${stream}: ${error}`)
      }
    }
  }
  await Promise.all(Array.from({ length: writers * callersOfEach }, (_, caller) => run(caller)))
  proxy.onCommit = () => undefined
  // What was sent late has arrived by then.
  await after(lateMs)
  const found = new Map<string, number>()
  for (let after = 1; ; ) {
    const page = (await stores[0]?.read({ after })) ?? []
    if (page.length === 0) break
    for (const { stream, position } of page) {
      if (position !== after + 1) findings.wrong.push(`a gap before ${position}`)
      if (found.has(stream)) findings.doubled.push(stream)
      if (refused.has(stream)) findings.wrong.push(`${stream} was refused, and is recorded`)
      found.set(stream, position)
      after = position
    }
  }
  for (const [stream, position] of recorded)
    if (found.get(stream) !== position) findings.lost.push(`${stream} at ${position}`)
  await Promise.all(stores.map(store => store.close()))
  await proxy.close()
  Object.assign(findings.counts, { cuts: proxy.cuts, recorded: recorded.size, refused: refused.size })
  return findings
}
