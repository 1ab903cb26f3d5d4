import { movedType } from '../../proof/recorded-header.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import { db, type Schema } from '../database/schema.ts'
import { DamagedEvent, parseHeader } from './header.ts'
import type { Tags } from './tags.ts'
import { isLeafOf } from './tree.ts'

export type StoredEvent = Schema['event']

export const tailEvents = 500

export function readTail(after: number): Steps<readonly StoredEvent[]> {
  const events = db.selectFrom('event').selectAll().where('position', '>', after)
  return rows(events.orderBy('position').limit(tailEvents))
}

export function* readLeafHash(position: number): Steps<Uint8Array | undefined> {
  return (yield* first(db.selectFrom('event').select('leaf').where('position', '=', position)))?.leaf
}

/** An event that another process has appended, with the name of its stream. */
export type ForeignEvent = StoredEvent & { readonly name: string }

/**
 * Reads the next events after a position with the names of their streams; their headers and tags, which are most of
 * their bytes, only if asked for.
 */
export function readForeign(after: number, withHeaders: boolean): Steps<readonly ForeignEvent[]> {
  return rows({ sql: withHeaders ? selectForeign : selectForeignPlaces, parameters: [after] })
}

const fromForeign = `from event join stream on stream.key = event.stream
  where position > ? order by position limit ${tailEvents}`
const selectForeign = `select position, event.stream, event.version, type, leaf, name, header, event.tag ${fromForeign}`
const selectForeignPlaces = `select position, event.stream, event.version, type, leaf, name, '' header, '' tag
  ${fromForeign}`

/**
 * Checks that events were written with the keys of the log.
 *
 * @throws {DamagedEvent}
 */
export function checkEvents(tags: Tags, events: readonly StoredEvent[]): void {
  for (const { position, version, type, header, leaf, tag } of events) {
    if (!isLeafOf(header, leaf)) throw new DamagedEvent('its leaf is not the hash of its header', { position })
    if (tags.ofEvent(header) !== tag)
      throw new DamagedEvent('it was written without the keys of this log', { position })
    // What a header ends with, since its members are sorted.
    if (!header.endsWith(`"type":"${type}","version":${version}}`))
      throw new DamagedEvent('its row names another stream or type', { position })
  }
}

/** Reports whether the log goes on elsewhere. */
export function* isMoved(): Steps<boolean> {
  const newest = yield* first(db.selectFrom('event').select('header').orderBy('position', 'desc').limit(1))
  return newest !== undefined && parseHeader(newest.header).type === movedType
}

/** Checks that the log goes on here. Throws `MOVED`. */
export function* checkNotMoved(): Steps<void> {
  if (yield* isMoved()) throw movedError()
}

/** Reads the move that a place without events is reserved for. */
export function* readReservation(): Steps<string | undefined> {
  const head = yield* first(db.selectFrom('head').select(['position', 'tag']))
  return head?.position === 0 && head.tag !== '' ? head.tag : undefined
}

/** A place that a move has reserved may get no log of its own. */
export function reservedError(name: string): AverbaError {
  return new AverbaError('MOVED', `Cannot use "${name}": a move of a log to here has not ended`, {
    hint: 'Repeat averba copy, or remove what is here if the log is to stay at its former place',
  })
}

export function busyLogError(): AverbaError {
  return new AverbaError('STORE_BUSY', 'Cannot move or resume the log: a process works with it', {
    hint: 'Close every engine on it first. After one that died, wait for a minute',
  })
}

export function movedError(): AverbaError {
  return new AverbaError('MOVED', 'Cannot use this log: it was moved, and goes on elsewhere', {
    hint: 'Use its new place. Of the commands, verify, replay, doctor and backup still work here. If the new place is lost, see averba resume',
  })
}
