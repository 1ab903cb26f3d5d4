import type { Instant } from '../../vocabulary/message.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import { parseHeader } from './header.ts'

/** What identifies a store and shows how far it has come. */
export interface StoreFacts {
  /** The name of the log, given when it was created. */
  readonly origin: string
  /** The id of the keyring that the log was created with. */
  readonly keyring: string
  /** The keyring epochs that owners' keys are wrapped by. */
  readonly epochs: readonly number[]
  readonly position: number
  /** The time of the last event. */
  readonly at: Instant
}

/** Reads the facts of a store from its first and last events and its keys. */
export function* readFacts(): Steps<StoreFacts> {
  const last = yield* first<{ position: number; header: string }>({ sql: selectLast, parameters: [] })
  const began = yield* first<{ header: string }>({ sql: selectBegan, parameters: [] })
  const epochs = yield* rows<{ epoch: number }>({ sql: selectEpochs, parameters: [] })
  const data: { origin?: string; keyring?: string } = (began && parseHeader(began.header).data) ?? {}
  const { origin = '', keyring = '' } = data
  return {
    origin,
    keyring,
    epochs: epochs.map(row => row.epoch),
    position: last?.position ?? 0,
    at: last ? parseHeader(last.header).at : '',
  }
}

const selectLast = 'select position, header from event order by position desc limit 1'
const selectBegan = 'select header from event where position = 1'
const selectEpochs = 'select distinct epoch from owner_key where epoch > 0 order by epoch'
