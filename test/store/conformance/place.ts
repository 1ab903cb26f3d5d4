import { systemClock } from '../../../src/runtime/clock.ts'
import { createIds, systemEntropy } from '../../../src/runtime/entropy.ts'
import type { Connection } from '../../../src/store/database/connection.ts'
import { Store } from '../../../src/store/store.ts'
import type { StoreOptions } from '../../../src/store/store-options.ts'
import type { Append, Appended } from '../../../src/store/writing/append.ts'
import { createKeyring } from '../../../src/vault/keyring.ts'
import { appendOf } from '../append-of.ts'
import type { Connect } from './harness.ts'

/** How the suite opens a store. */
export type PlaceOptions = Partial<Pick<StoreOptions, 'views' | 'onViewStopped' | 'clock' | 'highWaterMark'>>

/** Wraps the connection of a store. */
export type Through = (connection: Connection) => Connection

/** Opens stores on one initially empty database, each like another process, if the dialect allows it. */
export class Place {
  readonly #connect: Connect
  readonly #keyring = createKeyring(systemEntropy)

  constructor(connect: Connect, through: Through = connection => connection) {
    this.#connect = async () => through(await connect())
  }

  open(options: PlaceOptions = {}): Promise<Store> {
    return Store.open({
      // The keyring is kept here instead of in a file.
      path: ':memory:',
      medium: { open: this.#connect, keyring: async () => this.#keyring },
      views: [],
      clock: systemClock,
      entropy: systemEntropy,
      createId: createIds(systemClock, systemEntropy),
      ...options,
    })
  }
}

/** The digest of a command's input. */
export const digest = new Uint8Array([1, 2, 3])

/** Builds an append of plain events to one stream. */
export function toStream(stream: string, expect: Append['streams'][number]['expect'], count = 1): Append {
  const event = { type: 'token.rejected', data: { generation: 1 } }
  return appendOf(
    stream,
    expect,
    Array.from({ length: count }, () => event),
  )
}

/** The positions of appended events; empty when nothing was appended. */
export function positionsOf(appended: Appended): number[] {
  return appended.status === 'appended' ? appended.events.map(event => event.position) : []
}
