import { parseCheckpoint, type Signer, signCheckpoint } from '../../proof/note.ts'
import { beganType, logStream, resumedType } from '../../proof/recorded-header.ts'
import { anchorBytesMax, anchorTooLong, isStampOf, readTimeStamp } from '../../proof/verify-checkpoints.ts'
import { type Clock, systemClock, waitAtMost, withinTime } from '../../runtime/clock.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { isWithin } from '../../vocabulary/instant.ts'
import { type Connection, first, rows, type Steps } from '../database/connection.ts'
import { db, type Schema } from '../database/schema.ts'
import { checkHead } from '../log/head.ts'
import { damagedLogError, type HeaderReader } from '../log/header.ts'
import { endOfLog, eventsOf, headerColumns } from '../log/read.ts'
import type { Tags } from '../log/tags.ts'
import { rootAt } from '../log/tree.ts'
import type { Anchor, HighWaterMark } from '../store-options.ts'

/** A stored, signed checkpoint, with the result of the host's anchor, if there is one. */
export type StoredCheckpoint = Readonly<Schema['checkpoint']>

/** Signs a checkpoint over all events, unless the newest one covers them. */
function* makeCheckpoint(parts: CheckpointerParts, origins: Origins): Steps<StoredCheckpoint> {
  const { headers, signer, tags } = parts
  yield* parts.check()
  const newest = yield* readNewestCheckpoint()
  if (newest?.size === (yield* endOfLog())) return newest
  // What is signed counts as genuine from then on.
  const { position: size, tree } = yield* checkHead(tags)
  const at = (yield* first(originEvents().clearSelect().select('event.position')))?.position ?? 0
  const origin = origins.get(at) ?? (yield* readOrigin(headers))
  origins.set(at, origin)
  const note = signCheckpoint({ origin, size, root: tree.root() ?? '' }, signer)
  const made = { number: (newest?.number ?? 0) + 1, size, note, anchor: null }
  yield* rows(db.insertInto('checkpoint').values(made))
  return made
}

function* keepAnchor(size: number, anchor: Uint8Array): Steps<void> {
  if (anchor.length > anchorBytesMax)
    throw new AverbaError('MISCONFIGURED', `Cannot store the anchor of a checkpoint: it ${anchorTooLong}`, {
      hint: 'Let `anchor` return only a time stamp or a signed note',
    })
  yield* rows(db.updateTable('checkpoint').set({ anchor }).where('size', '=', size))
}

export function* readCheckpoints(): Steps<readonly StoredCheckpoint[]> {
  return yield* rows(db.selectFrom('checkpoint').selectAll().orderBy('number'))
}

function readCheckpoint(number: number): Steps<StoredCheckpoint | undefined> {
  return first(db.selectFrom('checkpoint').selectAll().where('number', '=', number))
}

export function* readNewestCheckpoint(): Steps<StoredCheckpoint | undefined> {
  return yield* first(db.selectFrom('checkpoint').selectAll().orderBy('number', 'desc').limit(1))
}

/** Reads the name under which the log signs now: from its first event, or from the last accepted restore. */
export function* readOrigin(headers: HeaderReader): Steps<string> {
  const found = yield* first(originEvents())
  const { origin } = found ? headers.parse(found).data : {}
  if (typeof origin === 'string') return origin
  throw damagedLogError('Cannot sign a checkpoint: the log has no first event')
}

/** The fault when the mark itself is damaged: the log may be intact. */
export const damagedMark = 'its high-water mark is damaged'

/**
 * Describes how the log contradicts its high-water mark; `undefined` if it does not.
 *
 * @param mark a signed checkpoint of this log, already verified
 */
export function* findMarkFault(mark: string): Steps<string | undefined> {
  const checkpoint = parseCheckpoint(mark)
  if (!checkpoint) return damagedMark
  const { size, root } = checkpoint
  const events = yield* endOfLog()
  if (events < size) return `it has ${events} events, and had ${size} when its high-water mark was written`
  if ((yield* rootAt(size)) === root) return undefined
  return `its first ${size} events differ from those under its high-water mark`
}

/** Reads every name under which the log has signed, with its key line. */
export function* readKeyLines(headers: HeaderReader): Steps<{ origin: string; key: string }[]> {
  const found = yield* rows(originEvents())
  return found.toReversed().map(stored => {
    const { origin, key } = headers.parse(stored).data
    return { origin: String(origin), key: String(key) }
  })
}

/** Selects the events that name the log, the newest first. */
function originEvents() {
  const events = eventsOf(logStream).where('event.type', 'in', [beganType, resumedType])
  return events.select(headerColumns).orderBy('event.version', 'desc')
}

/** The names of the log by the positions of their events. The first event is large, and read once. */
type Origins = Map<number, string>

interface CheckpointerParts {
  readonly connection: Connection
  readonly headers: HeaderReader
  readonly tags: Tags
  readonly signer: Signer
  readonly clock: Clock
  readonly mark?: HighWaterMark
  readonly anchor?: Anchor
  /** Called when a checkpoint, a mark or an anchor fails. */
  readonly onTrouble: (what: string, error: unknown) => void
  /** Throws when the log is not what this process has seen of it: then nothing is signed, and the mark stays. */
  readonly check: () => Steps<void>
}

/** A checkpoint is made after this many events, or with the first event after this time. */
const eventsMax = 10_000
const everyMs = 60_000
/** How long closing and exporting wait for an anchor. */
const anchorWaitMs = 5_000
/** How long a process that closes waits for its last checkpoint, in real time, as a database does. */
const closeWaitMs = 3_000

/** Makes checkpoints as the log grows and when it closes. Writes each to the high-water mark after its commit. */
export class Checkpointer {
  readonly #parts: CheckpointerParts
  readonly #origins: Origins = new Map()
  /** The number of events under the newest checkpoint, and in the log. */
  #size = 0
  #position = 0
  #at: number
  #isDue = false
  #last: Promise<unknown> = Promise.resolve()
  readonly #anchoring = new Map<number, Promise<void>>()

  constructor(parts: CheckpointerParts) {
    this.#parts = parts
    this.#at = parts.clock.now()
  }

  /** Reads the newest checkpoint and writes its mark, which a crash may have prevented. `isNeeded` makes a new one. */
  async start(isNeeded: boolean): Promise<void> {
    const { connection } = this.#parts
    const newest = await connection.read(readNewestCheckpoint)
    this.#size = newest?.size ?? 0
    if (isNeeded) await this.make()
    else if (newest) {
      await this.#tellOfMark(newest)
      await this.#writeMark(newest.note)
      this.#requestAnchor(newest)
    }
  }

  /** Tells of a mark that is missing, or older than a crash leaves it: it is made anew, and shows nothing of before. */
  async #tellOfMark({ number }: StoredCheckpoint): Promise<void> {
    const { connection, mark, onTrouble } = this.#parts
    if (!mark) return
    const text = await mark.read()
    const kept = text === undefined ? 0 : (parseCheckpoint(text)?.size ?? 0)
    // A crash between a checkpoint and its mark leaves that of the one before. None is told of also after the first
    // checkpoint: who restores a copy of that time, and removes the mark, must not go unnoticed.
    const before = await connection.read(() => readCheckpoint(number - 1))
    if (text !== undefined && kept >= (before?.size ?? 0)) return
    const message = describeChangedMark(text === undefined ? 'is missing' : 'is older than the log')
    onTrouble(message, new AverbaError('ROLLED_BACK', message))
  }

  /** Makes a checkpoint after a commit, if one is due. */
  onCommit(position: number): void {
    this.#position = position
    const isDue = position - this.#size >= eventsMax || !isWithin(everyMs, this.#at, this.#parts.clock.now())
    if (!isDue || this.#isDue) return
    this.#isDue = true
    this.make()
      .catch(error => this.#parts.onTrouble('a checkpoint could not be made', error))
      // If it failed, the next event triggers another attempt.
      .finally(() => {
        this.#isDue = false
      })
  }

  /** Signs a checkpoint over the whole log and writes the mark. One at a time. */
  make(): Promise<StoredCheckpoint> {
    const made = this.#last.then(() => this.#make())
    this.#last = made.catch(() => undefined)
    return made
  }

  async #make(): Promise<StoredCheckpoint> {
    const { connection, clock } = this.#parts
    const made = await connection.transact(() => makeCheckpoint(this.#parts, this.#origins))
    this.#at = clock.now()
    this.#size = made.size
    await this.#writeMark(made.note)
    this.#requestAnchor(made)
    return made
  }

  async #writeMark(note: string): Promise<void> {
    const { mark, connection } = this.#parts
    if (!mark) return
    try {
      // Another process on the store may have written a later one.
      const [kept, own] = [parseCheckpoint((await mark.read()) ?? ''), parseCheckpoint(note)]
      if (kept && own && kept.origin === own.origin && kept.size >= own.size) return
      await mark.write(note)
      // A later one that was written meanwhile was replaced by this one.
      const newest = await connection.read(readNewestCheckpoint)
      if (newest && newest.note !== note) await this.#writeMark(newest.note)
    } catch (error) {
      // The log itself is complete; only rollback detection is weaker.
      this.#parts.onTrouble('the high-water mark could not be written', error)
    }
  }

  /** Requests a missing anchor. A failed one is requested again with the next checkpoint. */
  #requestAnchor({ note, size, anchor: existing }: StoredCheckpoint): void {
    const { anchor, connection, onTrouble } = this.#parts
    if (!anchor || existing || this.#anchoring.has(size)) return
    const requestAnchor = async () => {
      const given = await anchor(Buffer.from(note))
      if (!given) return
      await connection.transact(() => keepAnchor(size, given))
      const stamp = readTimeStamp(given)
      if (stamp && !(await isStampOf(stamp, note))) throw wrongStampError()
    }
    const pending: Promise<void> = requestAnchor()
      .catch(error => onTrouble('a checkpoint could not be anchored', error))
      .finally(() => this.#anchoring.delete(size))
    this.#anchoring.set(size, pending)
  }

  /** Makes the last checkpoint, and gives its size. A failure does not prevent closing. */
  async close(): Promise<number> {
    const { onTrouble } = this.#parts
    // A process that appended nothing does not wait for the database.
    const make = async () => {
      await this.#last
      if (this.#position > this.#size) await this.make()
    }
    const onFailed = (error: unknown) => onTrouble('the last checkpoint could not be made', error)
    await withinTime(systemClock, closeWaitMs, make).catch(onFailed)
    await this.waitForAnchors()
    return this.#size
  }

  /** Waits for the pending anchors, for some seconds. */
  async waitForAnchors(): Promise<void> {
    if (this.#anchoring.size === 0) return
    await waitAtMost(this.#parts.clock, anchorWaitMs, Promise.allSettled(this.#anchoring.values()))
  }
}

function wrongStampError(): AverbaError {
  return new AverbaError('MISCONFIGURED', 'Cannot use the time stamp of a checkpoint: it is of other bytes', {
    hint: 'Stamp the exact bytes that `anchor` gets: the whole note, with its signatures',
  })
}

/** Says that a mark no longer shows what it was for. */
export function describeChangedMark(what: string): string {
  return `the high-water mark ${what}: find out who changed it, since a rollback goes unnoticed`
}
