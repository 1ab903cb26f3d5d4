import type { Instant } from '../message.ts'
import { rows, type Steps } from './connection.ts'
import { positionBefore } from './position-before.ts'

/** A part with its place and its owner. */
export interface AgedPart {
  readonly position: number
  readonly name: string
  readonly stream: string
  readonly version: number
  readonly owner: string
}

const pageParts = 500

/** Reads a page of the parts, given as `<type>/<name>`, of events recorded before an instant, in order. */
export function* agedParts(
  kinds: readonly string[],
  before: Instant,
  last: Pick<AgedPart, 'position' | 'name'>,
): Steps<readonly AgedPart[]> {
  const until = yield* positionBefore(before)
  const marks = kinds.map(() => '?').join(', ')
  return yield* rows<AgedPart>({
    sql: selectAged(marks),
    parameters: [last.position, last.name, until, ...kinds, pageParts],
  })
}

function selectAged(marks: string): string {
  return `select part.position, part.name, stream.name as stream, event.version, owner_key.owner from part
    join event on event.position = part.position join stream on stream.key = event.stream
    join owner_key on owner_key.key = part.owner
    where (part.position, part.name) > (?, ?) and part.position <= ? and event.type || '/' || part.name in (${marks})
    order by part.position, part.name limit ?`
}
