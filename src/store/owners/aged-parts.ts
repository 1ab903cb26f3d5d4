import type { Instant } from '../../vocabulary/message.ts'
import { rows, type Steps } from '../database/connection.ts'
import { positionBefore } from '../log/position-before.ts'

/** A sealed part with its address and its owner. */
export interface AgedPart {
  readonly position: number
  readonly name: string
  readonly stream: string
  readonly version: number
  readonly owner: string
}

/** A page of parts. `next` is where the next page begins; absent on the last one. */
export interface AgedPage {
  readonly parts: readonly AgedPart[]
  readonly next?: Pick<AgedPart, 'position' | 'name'>
}

const pageParts = 500
/** Most parts may be of other kinds, so a page is also bounded by positions: a long scan would block other work. */
const pagePositions = 5_000

/** Reads a page of the parts of some kinds (`<type>/<name>`), of events recorded before an instant, in order. */
export function* readAgedParts(
  kinds: readonly string[],
  before: Instant,
  last: Pick<AgedPart, 'position' | 'name'>,
): Steps<AgedPage> {
  const until = yield* positionBefore(before)
  const end = Math.min(until, last.position + pagePositions)
  const marks = kinds.map(() => '?').join(', ')
  const parts = yield* rows<AgedPart>({
    sql: selectAged(marks),
    parameters: [last.position, last.name, end, ...kinds, pageParts],
  })
  const final = parts.length === pageParts ? parts.at(-1) : undefined
  if (final) return { parts, next: { position: final.position, name: final.name } }
  return end < until ? { parts, next: { position: end + 1, name: '' } } : { parts }
}

function selectAged(marks: string): string {
  return `select part.position, part.name, stream.name as stream, event.version, owner_key.owner from part
    join event on event.position = part.position join stream on stream.key = event.stream
    join owner_key on owner_key.key = part.owner
    where (part.position, part.name) > (?, ?) and part.position <= ? and event.type || '/' || part.name in (${marks})
    order by part.position, part.name limit ?`
}
