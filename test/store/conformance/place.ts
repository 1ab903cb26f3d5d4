import type { expect } from 'vitest'
import { systemEntropy } from '../../../src/runtime/entropy.ts'
import type { Connection } from '../../../src/store/database/connection.ts'
import type { Store } from '../../../src/store/store.ts'
import type { StoreOptions } from '../../../src/store/store-options.ts'
import type { Append, Appended, StreamExpectation } from '../../../src/store/writing/append.ts'
import { createKeyring } from '../../../src/vault/keyring.ts'
import { openStore } from '../../support/store.ts'
import { appendOf } from '../append-of.ts'

export type Connect = () => Promise<Connection>

/** The functions of the test runner that the suite uses. */
export interface Harness {
  readonly describe: (name: string, body: () => void) => unknown
  readonly test: (name: string, body: () => Promise<void>) => unknown
  readonly expect: typeof expect
}

export type Through = (connection: Connection) => Connection

/**
 * Opens stores on one initially empty database, each like another process, if the dialect allows it. They close when the
 * test ends.
 */
export class Place {
  readonly #connect: Connect
  readonly #keyring = createKeyring(systemEntropy)
  constructor(connect: Connect, through: Through = connection => connection) {
    this.#connect = async () => through(await connect())
  }

  open(options: Partial<StoreOptions> = {}): Promise<Store> {
    // The keyring is kept here instead of in a file.
    return openStore({ medium: { open: this.#connect, keyring: async () => this.#keyring }, ...options })
  }
}

export const digest = new Uint8Array([1, 2, 3])

/** The receipt of a command, by default an accepted one. */
export const receiptOf = (commandId: string, code: 'accepted' | 'refused' = 'accepted', detail = '') => ({
  ...{ commandId, digest, code, detail },
})

export const requesting = [{ type: 'tokenService.requestToken', data: {} }]

/** Builds an append of plain events to one stream. */
export function toStream(stream: string, expect: StreamExpectation, count = 1): Append {
  return appendOf(stream, expect, Array(count).fill({ type: 'token.rejected', data: { generation: 1 } }))
}

/** The same append, which expects something of another stream too. */
export function alsoExpecting(append: Append, stream: string, expect: StreamExpectation): Append {
  return { ...append, streams: [...append.streams, { stream, expect }] }
}

export function positionsOf(appended: Appended): number[] {
  return appended.status === 'appended' ? appended.events.map(event => event.position) : []
}
