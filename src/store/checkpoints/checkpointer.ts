import type { Signer } from '../../proof/note.ts'
import { isStampOf, readTimeStamp } from '../../proof/time-stamp.ts'
import type { Clock } from '../../runtime/clock.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { isWithin } from '../../vocabulary/instant.ts'
import type { Connection } from '../database/connection.ts'
import type { Anchor, HighWaterMark } from '../store-options.ts'
import { keepAnchor, makeCheckpoint, readNewestCheckpoint, type StoredCheckpoint } from './checkpoints.ts'

/** The dependencies of a checkpointer. */
export interface CheckpointerParts {
  readonly connection: Connection
  readonly signer: Signer
  readonly clock: Clock
  readonly mark?: HighWaterMark
  readonly anchor?: Anchor
  /** Called when a checkpoint, a mark or an anchor fails. */
  readonly onTrouble: (what: string, error: unknown) => void
}

/** A checkpoint is made after this many events, or with the first event after this time. */
const eventsMax = 10_000
const everyMs = 60_000
/** How long closing and exporting wait for an anchor. */
const anchorWaitMs = 5_000

/** Makes checkpoints as the log grows and when it closes. Writes each to the high-water mark after its commit. */
export class Checkpointer {
  readonly #parts: CheckpointerParts
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
    const { connection, mark } = this.#parts
    const newest = await connection.read(readNewestCheckpoint)
    this.#size = newest?.size ?? 0
    if (isNeeded) await this.make()
    else if (newest) {
      await this.#writeMark(mark, newest.note)
      this.#requestAnchor(newest)
    }
  }

  /** Makes a checkpoint after a commit, if one is due. Returns the position. */
  onCommit(position: number): number {
    this.#position = position
    const isDue = position - this.#size >= eventsMax || !isWithin(everyMs, this.#at, this.#parts.clock.now())
    if (!isDue || this.#isDue) return position
    this.#isDue = true
    this.make()
      .catch(error => this.#parts.onTrouble('a checkpoint could not be made', error))
      // If it failed, the next event triggers another attempt.
      .finally(() => {
        this.#isDue = false
      })
    return position
  }

  /** Signs a checkpoint over the whole log and writes the mark. One at a time. */
  make(): Promise<StoredCheckpoint> {
    const made = this.#last.then(() => this.#make())
    this.#last = made.catch(() => undefined)
    return made
  }

  async #make(): Promise<StoredCheckpoint> {
    const { connection, signer, mark, clock } = this.#parts
    const made = await connection.transact(() => makeCheckpoint(signer))
    this.#at = clock.now()
    this.#size = made.size
    await this.#writeMark(mark, made.note)
    this.#requestAnchor(made)
    return made
  }

  async #writeMark(mark: HighWaterMark | undefined, note: string): Promise<void> {
    try {
      await mark?.write(note)
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

  /** Makes the last checkpoint. A failure does not prevent closing. */
  async close(): Promise<void> {
    const { onTrouble } = this.#parts
    await this.#last
    // A process that appended nothing does not wait for the database.
    if (this.#position > this.#size)
      await this.make().catch(error => onTrouble('the last checkpoint could not be made', error))
    await this.waitForAnchors()
  }

  /** Waits for the pending anchors, for some seconds. */
  async waitForAnchors(): Promise<void> {
    if (this.#anchoring.size === 0) return
    const stop = new AbortController()
    const given = Promise.allSettled(this.#anchoring.values())
    await Promise.race([given, this.#parts.clock.sleep(anchorWaitMs, stop.signal)])
    stop.abort()
  }
}

function wrongStampError(): AverbaError {
  return new AverbaError('MISCONFIGURED', 'Cannot use the time stamp of a checkpoint: it is of other bytes', {
    hint: 'Stamp the exact bytes that `anchor` gets: the whole note, with its signatures',
  })
}
