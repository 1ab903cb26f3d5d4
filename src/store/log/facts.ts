import type { Instant } from '../../vocabulary/message.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
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

export function* readFacts(): Steps<StoreFacts> {
  const events = db.selectFrom('event').select(['position', 'header'])
  const last = yield* first(events.orderBy('position', 'desc').limit(1))
  const began = yield* first(events.where('position', '=', 1))
  const keys = db.selectFrom('owner_key').select('epoch').distinct()
  const epochs = yield* rows(keys.where('epoch', '>', 0).orderBy('epoch'))
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
