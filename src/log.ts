import { giveWay } from './clock.ts'
import { AverbaError } from './errors.ts'
import type { Events, Recorded } from './events.ts'
import type { Followers } from './followers.ts'
import type { HandlerCall, HandlerTime } from './handler-time.ts'
import type { Follower } from './store/follower.ts'
import { pageRows } from './store/read.ts'
import type { Store } from './store/store.ts'

/** The log itself. */
export interface Log {
  /**
   * Calls a handler for every event of some types, from the beginning of the log on, in order and at least once: for
   * business. Its place is kept under the name. It works while `run` or `settle` does, in one process at a time, and
   * one that fails is tried again, then parked; it never passes over an event. One that takes longer than `timeoutMs`
   * has failed, and is told so by its `signal`: what does not heed that may still be at work when it is called again.
   * A name that has passed events of a type does not go on with that type as well: `settle` throws `INVALID_INPUT`, and
   * `run` says so by `health`.
   *
   * @throws {AverbaError} `INVALID_INPUT` when a handler of this process has the name already, or `timeoutMs` is no
   * whole number up to a day
   */
  follow<T extends keyof Events>(
    name: string,
    types: readonly T[],
    handler: (event: Recorded<T>, call: HandlerCall) => Promise<void>,
    options?: HandlerTime,
  ): void
  /** Where every follower stands, and which of them are parked. */
  followers(): Promise<Follower[]>
  /**
   * Lets a parked follower try its event again.
   *
   * @throws {AverbaError} `NOT_FOUND` when no parked follower has this name
   */
  retry(name: string): Promise<void>
  /**
   * Lets a parked follower go on past the event that it failed at.
   *
   * @throws {AverbaError} `NOT_FOUND` when no parked follower has this name
   */
  skip(name: string): Promise<void>
  /**
   * Events in order of position: after one, of some types, of one kind or one stream, or backward. They are read in pages:
   * however long the log is, one of them is in memory.
   *
   * @throws {AverbaError} `INVALID_INPUT` when `fromVersion` is no whole number from 1 on, or there is no stream
   */
  read(filter?: {
    /** A position: the events that come next, in the order of reading. */
    after?: number
    types?: readonly (keyof Events)[]
    /** The machine whose streams are read, such as `consent`. */
    kind?: string
    stream?: string
    /** The version of an event of the stream: from it on, or, backward, from it down. */
    fromVersion?: number
    backward?: boolean
  }): AsyncIterable<Recorded>
}

/** Makes the area `log`. */
export function createLog(store: Store, followers: Followers): Log {
  return {
    read(filter) {
      checkVersion(filter)
      return readLog(store, filter)
    },
    follow: (name, types, handler, time) =>
      followers.follow(name, types, (event, call) => handler(event as never, call), time), // The type names its event.
    followers: () => followers.list(),
    retry: name => followers.resume(name, 'again'),
    skip: name => followers.resume(name, 'past'),
  }
}

function checkVersion({ stream, fromVersion }: Parameters<Log['read']>[0] = {}): void {
  if (fromVersion === undefined) return
  if (stream !== undefined && Number.isSafeInteger(fromVersion) && fromVersion > 0) return
  throw new AverbaError('INVALID_INPUT', 'Cannot read from a version: it is none, or no stream is named', {
    hint: "Versions count from 1 in each stream: log.read({ stream: 'consent-…', fromVersion: 3 })",
  })
}

async function* readLog(store: Store, filter: Parameters<Log['read']>[0] = {}): AsyncIterable<Recorded> {
  const { backward = false } = filter
  let after = filter.after
  for (;;) {
    const page = await store.read({ ...filter, ...(after !== undefined && { after }), backward })
    for (const event of page) yield event as Recorded // Only the machines wrote to the log.
    const last = page.at(-1)
    // A page that is not full is the last: waiting for an empty one could take for ever while others append.
    if (!last || page.length < pageRows) return
    after = last.position
    await giveWay()
  }
}
