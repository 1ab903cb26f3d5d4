import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import type { Events } from '../src/index.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { systemEntropy } from '../src/runtime/entropy.ts'
import { placeOf } from '../src/store/opening.ts'
import { Store } from '../src/store/store.ts'
import type { View } from '../src/vocabulary/view.ts'
import { addressOf, PostgresServer, withSchema } from '../test/support/postgres-server.ts'
import { createId } from './workload.ts'

/** A server of a benchmark, durable, on a disk. */
export type BenchServer = Pick<PostgresServer, 'url' | 'folder' | 'close'>

/** Starts a server, unless one is given. */
export function startServer(): Promise<BenchServer> {
  return PostgresServer.start()
}

/** Opens a store in a schema of a server, as a host would. */
export async function openStoreOn(
  url: string,
  schema: string,
  folder: string,
  views: readonly View[],
): Promise<Store<Events>> {
  const place = await placeOf({ store: withSchema(url, schema), keyring: join(folder, `${schema}.keys`) })
  return Store.open<Events>({ ...place, views, clock: systemClock, entropy: systemEntropy, createId })
}

/** What passed between clients and a server. */
export interface Way {
  readonly url: string
  /** How often a client sent something after it had heard something, or for the first time: round trips. */
  readonly roundTrips: number
  close(): Promise<void>
}

const commit = Buffer.from('Q\0\0\0\x0bcommit\0')

/** Stands between clients and a server: holds each message back, and counts round trips but for those of NOTIFY. */
export async function openWay(folder: string, delayMs = 0): Promise<Way> {
  const own = mkdtempSync(join(folder, 'way-'))
  let roundTrips = 0
  const later = (work: () => void) => (delayMs > 0 ? void setTimeout(work, delayMs / 2) : work())
  const server = createServer(client => {
    const behind = connect(join(folder, '.s.PGSQL.5432'))
    let [isWaiting, isReading] = [false, false]
    client.on('data', data => {
      if (data.includes('begin ')) isReading = data.includes('read only')
      // Nobody waits for the end of a reading, nor for what is told to others.
      const isUnawaited = (isReading && data.equals(commit)) || data.includes('pg_notify') || data.includes('listen ')
      if (!isWaiting && !isUnawaited) roundTrips += 1
      isWaiting = true
      later(() => behind.write(data))
    })
    behind.on('data', data => {
      isWaiting = false
      later(() => client.write(data))
    })
    for (const [one, other] of [
      [client, behind],
      [behind, client],
    ] as const) {
      one.on('error', () => undefined)
      one.on('close', () => other.destroy())
    }
  })
  server.listen(join(own, '.s.PGSQL.5432'))
  await once(server, 'listening')
  return {
    url: addressOf(own),
    get roundTrips() {
      return roundTrips
    },
    async close() {
      server.close()
    },
  }
}
