import type { Instant } from '../../vocabulary/message.ts'
import { first, type Steps } from '../database/connection.ts'
import { parseHeader } from '../log/header.ts'

/** What the newest erasure of an owner says, as far as the store needs it. */
interface NewestErasure {
  readonly at: Instant
  /** The places of the parts that it has kept. */
  readonly data: { readonly kept: readonly string[] }
}

/** Reads the newest erasure of an owner; `undefined` when there was none. */
export function* newestErasure(owner: string): Steps<NewestErasure | undefined> {
  const erased = yield* first<{ header: string }>({ sql: selectErased, parameters: [owner] })
  return erased && parseHeader(erased.header)
}

const selectErased = `select event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.type = 'subject.erased' order by event.version desc limit 1`
