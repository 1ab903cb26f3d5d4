import type { FollowHandler } from '../../engine/following/followers.ts'
import type { HandlerCall, HandlerTime } from '../../engine/following/handler-call.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Follower } from '../../store/ledger/followers.ts'
import { logPageRows } from '../../store/log/read.ts'
import type { Store } from '../../store/store.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { checkId, checkPosition } from '../arguments.ts'
import type { Events, Recorded } from '../events.ts'

/** The log itself. */
export interface Log {
  /**
   * Calls a handler for every event of some types, from the beginning of the log on, in order and at least once: for
   * business. Its place is kept under the name. It works while `run` or `settle` does, in one process at a time, and
   * one that fails is tried again, then parked; it never passes over an event. One that takes longer than `timeoutMs`
   * has failed, and is told so by its `signal`: a handler that ignores it may still be at work when it is called again.
   * A name that has passed events of a type does not go on with that type as well: `settle` throws `INVALID_INPUT`, and
   * `run` says so by `health`. A type that this version does not record is told to the logger: a newer version may have
   * recorded it.
   *
   * @throws {AverbaError} `INVALID_INPUT` when there is no type or no handler, a handler of this process has the name
   * already, or `timeoutMs` is not a whole number up to a day
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
   * Lets a parked follower try its event again. The logger is told.
   *
   * @throws {AverbaError} `NOT_FOUND` when no parked follower has this name
   */
  retry(name: string): Promise<void>
  /**
   * Lets a parked follower go on past the event that it failed at, and gives the position of that event. It stands in
   * the log before, as `follower.skipRequested`, with its `actor`; the logger is told as well.
   *
   * @throws {AverbaError} `NOT_FOUND` when no parked follower has this name
   */
  skip(
    name: string,
    commandOptions?: Pick<CommandOptions, 'actor' | 'basis' | 'correlationId'>,
  ): Promise<number>
  /**
   * Events in order of position: after one, of some types, of one kind or one stream, or backward. They are read in
   * pages: however long the log is, only one page is in memory.
   *
   * @throws {AverbaError} `INVALID_INPUT` when `after` is not a position, `fromVersion` is not a whole number from 1
   * on, or there is no stream; and for a type that this version does not record, unless the log has such an event, as
   * from a newer version
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

/** A value of any other kind could hold anything, and is not told to a logger. */
function isTyped(type: unknown): type is string {
  return typeof type === 'string' && /^[a-z]+\.[A-Za-z]+$/.test(type)
}

type EventFilter = Parameters<Log['read']>[0] & {}

/** How a person lets a parked follower go on: in a word of the error, and as the logger is told. */
const resuming = {
  again: { word: 'retry', told: 'a parked follower tries its event again' },
  past: { word: 'skip for', told: 'a parked follower goes on past an event that it has not done' },
} as const

type ResumeAction = keyof typeof resuming

function notParked(name: string, how: ResumeAction): AverbaError {
  const cannot = `Cannot ${resuming[how].word} "${name}": no parked follower has this name`
  return new AverbaError('NOT_FOUND', cannot, { hint: 'log.followers() says which ones are parked' })
}

/** Makes the area `log`, for a version that records events of these types. */
export function createLog({ store, commands, followers, log }: ApiContext, known: ReadonlySet<string>): Log {
  async function findParked(name: string, how: ResumeAction): Promise<Follower> {
    const found = await store.followers.find(name)
    if (found?.isParked) return found
    throw notParked(name, how)
  }

  /** It may have gone on since it was found. */
  async function resume(follower: Follower, how: ResumeAction): Promise<number> {
    const { name, position } = follower
    if (!(await store.followers.resume(follower, how))) throw notParked(name, how)
    followers.wake()
    log({ message: resuming[how].told, follower: name, position: position + 1 })
    return position + 1
  }

  return {
    read(filter) {
      checkFilter(filter)
      return readLog(store, known, filter)
    },
    follow(name, types, handler, time) {
      checkId(name, 'name of a follower')
      followers.follow(name, types, handler as FollowHandler, time) // It is given events of its types alone.
      for (const type of types.filter(each => !known.has(each))) {
        const named = isTyped(type) && { detail: type }
        log({
          message: 'a follower is for a type of event that this version never records',
          follower: name,
          ...named,
        })
      }
    },
    followers: () => followers.list(),
    retry: async name => void (await resume(await findParked(name, 'again'), 'again')),
    async skip(name, ask = {}) {
      const follower = await findParked(name, 'past')
      const data = { follower: name, position: follower.position + 1, reason: follower.reason }
      const message = { type: 'follower.skip', data }
      await commands.record(message, async () => ({ targets: [{ stream: 'follower-main', message }] }), ask)
      return resume(follower, 'past')
    },
  }
}

function checkFilter({ after, types, ...filter }: EventFilter = {}): void {
  if (after !== undefined) checkPosition(after, 'after')
  if (types !== undefined && !(Array.isArray(types) && types.every(type => typeof type === 'string')))
    throw new AverbaError('INVALID_INPUT', 'Cannot use "types": it is not a list of types of events', {
      hint: "Give them as ['consent.revoked']",
    })
  checkVersion(filter)
}

function checkVersion({ stream, fromVersion }: EventFilter): void {
  if (fromVersion === undefined) return
  if (stream !== undefined && Number.isSafeInteger(fromVersion) && fromVersion > 0) return
  throw new AverbaError('INVALID_INPUT', 'Cannot read from a version: it is not one, or no stream is named', {
    hint: "Versions count from 1 in each stream: log.read({ stream: 'consent-…', fromVersion: 3 })",
  })
}

/** A misspelt type would give an empty answer; a type of another version exists if an event has it. */
async function checkTypes(store: Store, known: ReadonlySet<string>, types: readonly string[]): Promise<void> {
  for (const type of types) {
    if (known.has(type) || (await store.read({ types: [type], limit: 1 })).length > 0) continue
    throw new AverbaError('INVALID_INPUT', 'Cannot read events of a type that there is none of', {
      hint: 'The types of events are the keys of Events, such as consent.revoked',
    })
  }
}

async function* readLog(
  store: Store,
  known: ReadonlySet<string>,
  filter: EventFilter = {},
): AsyncIterable<Recorded> {
  const { backward = false } = filter
  await checkTypes(store, known, filter.types ?? [])
  let after = filter.after
  for (;;) {
    const page = await store.read({ ...filter, ...(after !== undefined && { after }), backward })
    for (const event of page) yield event as Recorded // Only the machines wrote to the log.
    const last = page.at(-1)
    // A page that is not full is the last: waiting for an empty one could take for ever while others append.
    if (!last || page.length < logPageRows) return
    after = last.position
    await yieldToEventLoop()
  }
}
