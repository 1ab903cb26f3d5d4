import { first, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import { damagedLogError } from '../log/header.ts'
import { fanOut, isLeafOf } from '../log/tree.ts'

/** Compares the end of the log with its parts, effects, followers and subtrees, in constant time. Throws `CORRUPT`. */
export function* checkEnd(path: string): Steps<void> {
  const fault = yield* findEndFault()
  if (fault === undefined) return
  throw damagedLogError(`Cannot open "${path}": ${fault}`)
}

/** Describes what is wrong at the end of the log, if anything. */
export function* findEndFault(): Steps<string | undefined> {
  const events = db.selectFrom('event').select(['position', 'header', 'leaf'])
  const last = yield* first(events.orderBy('position', 'desc').limit(1))
  const position = last?.position ?? 0
  if (last && !isLeafOf(last.header, last.leaf))
    return `the leaf of the event at ${position} is not the hash of its header`
  let reach = 0
  for (const table of ['part', 'effect', 'follower'] as const) {
    const farthest = yield* first(db.selectFrom(table).select(({ fn }) => fn.max('position').as('position')))
    reach = Math.max(reach, farthest?.position ?? 0)
  }
  if (reach > position) return `its last event is at ${position}, but a part, an effect or a follower is at ${reach}`
  return yield* findSubtreesFault(position)
}

function* findSubtreesFault(size: number): Steps<string | undefined> {
  let level = 1
  for (; fanOut ** level <= size; level++) {
    if ((yield* readLastSubtree(level)) !== Math.floor(size / fanOut ** level) - 1)
      return `the last subtree on level ${level} does not match the tree of its ${size} events`
  }
  if ((yield* readLastSubtree(level)) === undefined) return undefined
  return `the tree of its ${size} events has one level too many`
}

function* readLastSubtree(level: number): Steps<number | undefined> {
  const query = db.selectFrom('subtree').select('number').where('level', '=', level)
  return (yield* first(query.orderBy('number', 'desc').limit(1)))?.number
}
