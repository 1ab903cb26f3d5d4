import type { RememberedErasures } from '../../vault/remembered-erasures.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import { first, type Steps } from '../database/connection.ts'
import { parseHeader } from '../log/header.ts'

/** An erasure missing in the log, which was restored from an earlier backup together with the person's data. */
export interface LostErasure {
  readonly subject: string
  readonly at: Instant
}

/** Finds the erasures that the keyring remembers and the store has not carried out, oldest first. */
export function* findLostErasures(erased: RememberedErasures): Steps<readonly LostErasure[]> {
  const lost: LostErasure[] = []
  for (const [subject, { at, keepsKey }] of Object.entries(erased)) {
    const owner = streamOf('subject', subject)
    const row = yield* first<{ isErased: 0 | 1; epoch: number }>({ sql: selectOwner, parameters: [owner] })
    if (!row) continue
    // A later erasure may have kept fewer parts than the one in the store.
    const isOutdated = ((yield* readNewestErasure(owner))?.at ?? '') < at
    if (row.isErased === 0 || (row.epoch > 0 && !keepsKey) || isOutdated) lost.push({ subject, at })
  }
  return lost.sort((a, b) => (a.at < b.at ? -1 : 1))
}

/** Describes what to do about lost erasures; `undefined` when there are none. */
export function describeLostErasures(lost: readonly LostErasure[]): string | undefined {
  const [oldest] = lost
  if (!oldest) return undefined
  const more = lost.length > namedMax ? ` and ${lost.length - namedMax} more` : ''
  const named = lost.slice(0, namedMax).map(({ subject }) => subject)
  const erasures = lost.length === 1 ? 'one erasure is' : `${lost.length} erasures are`
  const problem = `${erasures} missing in this log, since ${oldest.at}: the data is as before`
  return `${problem}. Erase each again, with ${eraseAgain}: ${named.join(', ')}${more}`
}

const eraseAgain = 'averba erase <store> --subject <ref> --requester <ref> --legal-basis <text> --backups-kept <days>'
const namedMax = 20
const selectOwner = 'select is_erased as "isErased", epoch from owner_key where owner = ?'

interface NewestErasure {
  readonly at: Instant
  readonly data: { readonly kept: readonly string[] }
}

function* readNewestErasure(owner: string): Steps<NewestErasure | undefined> {
  const erased = yield* first<{ header: string }>({ sql: selectErased, parameters: [owner] })
  return erased && parseHeader(erased.header)
}
const selectErased = `select event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.type = 'subject.erased' order by event.version desc limit 1`
