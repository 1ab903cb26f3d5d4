import { archivedType, logStream, restoredType } from '../proof/log-stream.ts'
import { first, rows, type Steps } from './connection.ts'
import { parseHeader } from './header.ts'
import { type Place, placeOf } from './relocation.ts'

/** A bundle of parts that were moved out, or put back. */
export interface PartsMoved {
  /** The SHA-256 of the bundle's bytes, in hexadecimal. */
  readonly bundle: string
  /** How many parts it was. */
  readonly count: number
  /** The positions of the first and the last event whose parts are in it. */
  readonly from: number
  readonly to: number
}

/** What became of a bundle that was put back: `count` of its parts are in the log. */
export interface PartsBack extends PartsMoved {
  /** How many of these were out until now. */
  readonly returned: number
  /** How many parts stay away: the key of their owner was destroyed. */
  readonly keyless: number
}

/** Which parts an event moved out to a bundle, or put back from it, in its own transaction. */
export interface PartsNamed {
  /** The SHA-256 of the bundle's bytes, in hexadecimal. */
  readonly bundle: string
  /** Each as `<position>/<name>`, in order. */
  readonly parts: readonly string[]
}

/** The event that says that retention destroyed parts. */
const destroyedType = 'retention.applied'

/** An event that moved parts, with the positions of the first and the last of them. */
interface Moved {
  readonly version: number
  readonly from: number
  readonly to: number
}

/**
 * Finds which bundle a part is in. Remembers the range of each event that moved parts, so that looking for many of them
 * does not read all events each time.
 */
export class MovedParts {
  readonly #moves: Moved[] = [];

  /** The bundle that a part was moved out to; `undefined` when it was not, or came back. */
  *bundleOf(place: Place): Steps<string | undefined> {
    yield* this.#catchUp()
    const { position } = place
    for (let i = this.#moves.length - 1; i >= 0; i--) {
      const { version, from, to } = this.#moves[i] as Moved // Within them.
      if (position < from || to < position) continue
      const row = yield* first<MoveRow>({ sql: selectMove, parameters: [logStream, version] })
      const { bundle, parts }: PartsNamed = parseHeader(row?.header ?? '').data
      if (parts.includes(placeOf(place))) return row?.type === archivedType ? bundle : undefined
    }
    return undefined
  }

  *#catchUp(): Steps<void> {
    for (const { version, header } of yield* readMoves(this.#moves.at(-1)?.version ?? 0)) {
      const { parts }: PartsNamed = parseHeader(header).data
      const [from, to] = [parts.at(0), parts.at(-1)].map(each => Number.parseInt(each ?? '', 10))
      if (from && to) this.#moves.push({ version, from, to })
    }
  }
}

/** The parts that are out and may come back, as `<position>/<name>`, and whether any event names a bundle. */
export function* readOut(bundle: string): Steps<{ out: Set<string>; isKnown: boolean }> {
  const out = new Set<string>()
  let isKnown = false
  for (const { type, header } of yield* readMoves(0)) {
    const named: PartsNamed = parseHeader(header).data
    if (named.bundle === bundle) isKnown = true
    for (const part of named.parts) type === archivedType ? out.add(part) : out.delete(part)
  }
  // Whoever moved a part: one that is recorded as destroyed stays destroyed.
  // As retention writes it.
  for (const { header } of yield* rows<{ header: string }>({
    sql: selectDestroyed,
    parameters: [destroyedType],
  }))
    for (const part of (parseHeader(header).data as Pick<PartsNamed, 'parts'>).parts) out.delete(part)
  return { out, isKnown }
}

function* readMoves(after: number): Steps<readonly MoveRow[]> {
  return yield* rows<MoveRow>({
    sql: selectMoves,
    parameters: [logStream, archivedType, restoredType, after],
  })
}

interface MoveRow {
  readonly version: number
  readonly type: string
  readonly header: string
}

/** The position of an event, if its header names this part: it is there, or was. */
export function* findMark(stream: string, version: number, name: string): Steps<number | undefined> {
  const event = yield* first<{ position: number; header: string }>({
    sql: selectEvent,
    parameters: [stream, version],
  })
  const marks: readonly { name: string }[] = event ? (parseHeader(event.header).parts ?? []) : []
  return marks.some(mark => mark.name === name) ? event?.position : undefined
}

const selectMoves = `select event.version, event.type, event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.type in (?, ?) and event.version > ? order by event.version`
const selectDestroyed = 'select header from event where type = ? order by position'
const selectMove = `select event.type, event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.version = ?`
const selectEvent = `select event.position, event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.version = ?`
