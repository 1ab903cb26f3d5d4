import type { RememberedErasures } from '../../vault/remembered-erasures.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import { first, type Steps } from '../database/connection.ts'
import { parseHeader } from '../log/header.ts'

/** An erasure that the log does not know of: the log was put back to an earlier backup, and the person is back. */
export interface LostErasure {
  readonly subject: string
  /** When the person was erased. */
  readonly at: Instant
}

/** Finds the erasures that the keyring remembers and the store has not carried out, the oldest first. */
export function* findLostErasures(erased: RememberedErasures): Steps<readonly LostErasure[]> {
  const lost: LostErasure[] = []
  for (const [subject, { at, keepsKey }] of Object.entries(erased)) {
    const owner = streamOf('subject', subject)
    const row = yield* first<{ isErased: 0 | 1; epoch: number }>({ sql: selectOwner, parameters: [owner] })
    if (!row) continue
    // A later erasure may have kept less than the one in the store.
    const isOlder = ((yield* newestErasure(owner))?.at ?? '') < at
    if (row.isErased === 0 || (row.epoch > 0 && !keepsKey) || isOlder) lost.push({ subject, at })
  }
  return lost.sort((a, b) => (a.at < b.at ? -1 : 1))
}

/** What to do about them, in words; `undefined` when there are none. */
export function describeLostErasures(lost: readonly LostErasure[]): string | undefined {
  const [oldest] = lost
  if (!oldest) return undefined
  const more = lost.length > shownMax ? ` and ${lost.length - shownMax} more` : ''
  const named = lost.slice(0, shownMax).map(({ subject }) => subject)
  const what = lost.length === 1 ? 'one erasure is' : `${lost.length} erasures are`
  const stands = `${what} not in this log, since ${oldest.at}: it stands as before`
  return `${stands}. Erase each again, by ${eraseAgain}: ${named.join(', ')}${more}`
}

const eraseAgain =
  'averba erase <store> --subject <ref> --requester <ref> --legal-basis <text> --backups-kept <days>'
const shownMax = 20
const selectOwner = 'select is_erased as "isErased", epoch from owner_key where owner = ?'

/** What the newest erasure of an owner says, as far as the store needs it. */
interface NewestErasure {
  readonly at: Instant
  /** The places of the parts that it has kept. */
  readonly data: { readonly kept: readonly string[] }
}

/** Reads the newest erasure of an owner; `undefined` when there was none. */
function* newestErasure(owner: string): Steps<NewestErasure | undefined> {
  const erased = yield* first<{ header: string }>({ sql: selectErased, parameters: [owner] })
  return erased && parseHeader(erased.header)
}
const selectErased = `select event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.type = 'subject.erased' order by event.version desc limit 1`
