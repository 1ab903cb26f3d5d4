import type { Signer } from '../../proof/note.ts'
import { isStampOf, readTimeStamp } from '../../proof/time-stamp.ts'
import type { Clock } from '../../runtime/clock.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { isWithin } from '../../vocabulary/instant.ts'
import type { Connection } from '../database/connection.ts'
import type { Anchor, HighWaterMark } from '../store-options.ts'
import { keepAnchor, makeCheckpoint, readNewestCheckpoint, type StoredCheckpoint } from './checkpoints.ts'

/** What a checkpointer works with. */
export interface CheckpointerParts {
  readonly connection: Connection
  readonly signer: Signer
  readonly clock: Clock
  readonly mark?: HighWaterMark
  readonly anchor?: Anchor
  /** Told when a mark could not be written, or an anchor gave nothing. */
  readonly onTrouble: (what: string, error: unknown) => void
}

/** A checkpoint is made after this many events, or after a time with the next event. */
const eventsMax = 10_000
const everyMs = 60_000
/** How long closing and an export wait for an anchor. */
const anchorWaitMs = 5_000

/** Makes checkpoints as the log grows and when it closes, and writes each outside of the database after its commit. */
export class Checkpointer {
  readonly #parts: CheckpointerParts
  /** How many events the newest checkpoint is over, and how many there are. */
  #size = 0
  #position = 0
  #at: number
  #isDue = false
  #last: Promise<unknown> = Promise.resolve()
  /** What is asked for now, by the size of its checkpoint. */
  readonly #anchoring = new Map<number, Promise<void>>()

  constructor(parts: CheckpointerParts) {
    this.#parts = parts
    this.#at = parts.clock.now()
  }

  /** Learns the present state, and repairs a mark that a crash left behind. `isNeeded` makes a checkpoint at once. */
  async start(isNeeded: boolean): Promise<void> {
    const { connection, mark } = this.#parts
    const newest = await connection.read(readNewestCheckpoint)
    this.#size = newest?.size ?? 0
    if (isNeeded) await this.make()
    else if (newest) {
      await this.#write(mark, newest.note)
      this.#anchor(newest)
    }
  }

  /** Hears of a commit, and passes it on. */
  onCommit(position: number): number {
    this.#position = position
    const isDue = position - this.#size >= eventsMax || !isWithin(everyMs, this.#at, this.#parts.clock.now())
    if (!isDue || this.#isDue) return position
    this.#isDue = true
    this.make()
      .catch(error => this.#parts.onTrouble('a checkpoint could not be made', error))
      // If it failed, the next event tries again.
      .finally(() => {
        this.#isDue = false
      })
    return position
  }

  /** Signs where the log stands, and writes the mark. One at a time. */
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
    await this.#write(mark, made.note)
    this.#anchor(made)
    return made
  }

  async #write(mark: HighWaterMark | undefined, note: string): Promise<void> {
    try {
      await mark?.write(note)
    } catch (error) {
      // The log itself is whole: only the detection of a rollback is weaker.
      this.#parts.onTrouble('the high-water mark could not be written', error)
    }
  }

  /** Asks for an anchor that is not there yet: one that failed is asked for again with the next checkpoint. */
  #anchor({ note, size, anchor: kept }: StoredCheckpoint): void {
    const { anchor, connection, onTrouble } = this.#parts
    if (!anchor || kept || this.#anchoring.has(size)) return
    const work = async () => {
      const given = await anchor(Buffer.from(note))
      if (!given) return
      await connection.transact(() => keepAnchor(size, given))
      const stamp = readTimeStamp(given)
      if (stamp && !(await isStampOf(stamp, note))) throw wrongStampError()
    }
    const held: Promise<void> = work()
      .catch(error => onTrouble('a checkpoint could not be anchored', error))
      .finally(() => this.#anchoring.delete(size))
    this.#anchoring.set(size, held)
  }

  /** Makes the last checkpoint. Closing goes on whether it succeeds or not. */
  async close(): Promise<void> {
    const { onTrouble } = this.#parts
    await this.#last
    // A process that added nothing need not wait for the file.
    if (this.#position > this.#size)
      await this.make().catch(error => onTrouble('the last checkpoint could not be made', error))
    await this.waitForAnchors()
  }

  /** Waits for the anchors that were asked for, within seconds. */
  async waitForAnchors(): Promise<void> {
    if (this.#anchoring.size === 0) return
    const stop = new AbortController()
    const given = Promise.allSettled(this.#anchoring.values())
    await Promise.race([given, this.#parts.clock.sleep(anchorWaitMs, stop.signal)])
    stop.abort()
  }
}

function wrongStampError(): AverbaError {
  return new AverbaError('MISCONFIGURED', 'The time stamp of a checkpoint is one of something else', {
    hint: 'Have the bytes that `anchor` is given stamped as they are: the whole note, with its signatures.',
  })
}
