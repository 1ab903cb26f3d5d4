import { first, rows, type Steps } from './connection.ts'
import { parseHeader } from './header.ts'

/** What an event about parts that were moved out, or put back, says. */
export interface PartsMoved {
  /** The SHA-256 of the bundle's bytes, in hexadecimal. */
  readonly bundle: string
  readonly count: number
  /** The positions of the first and the last event whose parts are in it. */
  readonly from: number
  readonly to: number
}

/** The stream of what concerns the log as a whole. */
export const logStream = 'log-main'
/** The first event of a log: its name, its keyring and the key of its checkpoints. */
export const beganType = 'log.began'
/** The event after which a restored log goes on under a name of its own. */
export const resumedType = 'log.resumed'
/** The event that says that parts were moved out. */
export const archivedType = 'log.partsArchived'
/** The event that says that they were put back. */
export const restoredType = 'log.partsRestored'

/** Every bundle whose parts are out, with how many are, the oldest first. */
export function* readBundles(): Steps<readonly PartsMoved[]> {
  const found = yield* rows<{ type: string; header: string }>({
    sql: selectMoves,
    parameters: [logStream, archivedType, restoredType],
  })
  const out = new Map<string, PartsMoved>()
  for (const { type, header } of found) {
    const moved: PartsMoved = parseHeader(header).data
    if (type === archivedType) out.set(moved.bundle, moved)
    const before = out.get(moved.bundle)
    if (type === restoredType && before)
      out.set(moved.bundle, { ...before, count: before.count - moved.count })
  }
  return [...out.values()].filter(bundle => bundle.count > 0)
}

/** The last bundle that parts of an event may be in; whether one certain part is, the bundle alone says. */
export function* findBundle(position: number): Steps<string | undefined> {
  return (yield* readBundles()).findLast(({ from, to }) => from <= position && position <= to)?.bundle
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

const selectMoves = `select event.type, event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.type in (?, ?) order by event.version`
const selectEvent = `select event.position, event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.version = ?`
