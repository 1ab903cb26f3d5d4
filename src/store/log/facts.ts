import type { Instant } from '../../vocabulary/message.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import { parseHeader } from './header.ts'

/** What a store says of itself. */
export interface StoreFacts {
  /** The log's own name, made with it. */
  readonly origin: string
  /** The keyring that the log was made with. */
  readonly keyring: string
  /** The epochs of the keyring under which owners' keys are wrapped. */
  readonly epochs: readonly number[]
  readonly position: number
  /** The time of the last event. */
  readonly at: Instant
}

/** Reads what a store says of itself. */
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
