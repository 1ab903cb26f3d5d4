import { systemClock } from '../../../src/runtime/clock.ts'
import { createIds, systemEntropy } from '../../../src/runtime/entropy.ts'
import type { Connection } from '../../../src/store/database/connection.ts'
import { Store } from '../../../src/store/store.ts'
import type { StoreOptions } from '../../../src/store/store-options.ts'
import type { Append, Appended } from '../../../src/store/writing/append.ts'
import { createKeyring } from '../../../src/vault/keyring.ts'
import type { Connect } from './harness.ts'

/** How the suite opens a store. */
export type PlaceOptions = Partial<Pick<StoreOptions, 'views' | 'onViewStopped' | 'clock'>>

/** What stands between a store and its connection. */
export type Through = (connection: Connection) => Connection

/** Opens stores on one database, empty at first: each as another process would, where the dialect allows it. */
export class Place {
  readonly #connect: Connect
  readonly #keyring = createKeyring(systemEntropy)

  constructor(connect: Connect, through: Through = connection => connection) {
    this.#connect = async () => through(await connect())
  }

  open(options: PlaceOptions = {}): Promise<Store> {
    return Store.open({
      // Nothing of a store lies beside this database: its keyring is here.
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

/** When the events of the suite are recorded. */
export const at = '2030-01-01T00:00:00.000Z'
/** Which machine they are said to be of. */
export const machine = { name: 'token', version: 1 }
/** What stands for the input of a command. */
export const digest = new Uint8Array([1, 2, 3])

/** An append of plain events to one stream. */
export function toStream(stream: string, expect: Append['streams'][number]['expect'], count = 1): Append {
  const event = { type: 'token.rejected', data: { generation: 1 } }
  return {
    at,
    streams: [{ stream, expect }],
    events: Array.from({ length: count }, () => ({ stream, event, causedBy: 'token.reject', machine })),
  }
}

/** Where the events of an append stand; nowhere when nothing was appended. */
export function positionsOf(appended: Appended): number[] {
  return appended.status === 'appended' ? appended.events.map(event => event.position) : []
}
