import type { KnownFollower } from '../../engine/following/followers.ts'
import type { HandlerCall, HandlerTime } from '../../engine/following/handler-call.ts'
import { listEventTypes } from '../../engine/machine-tables.ts'
import type { Machine } from '../../machines/definition/machine.ts'
import { type HostTransaction, markDone } from '../../store/ledger/done-items.ts'
import { endOfLog } from '../../store/log/read.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { checkKnownNames } from '../../vocabulary/names.ts'
import type { RecordOptions } from '../../vocabulary/outcome.ts'
import { type ApiContext, readEvents } from '../api-context.ts'
import { checkId, checkPosition, checkStream } from '../arguments.ts'
import type { Events, LogStore, Recorded } from '../events.ts'
import { readStreamState, type StreamState } from './stream-state.ts'

interface EventFilter<T extends keyof Events = keyof Events> {
  /** A position: reads the events that come next in the order of reading. */
  after?: number
  types?: readonly T[]
  /** The machine whose streams are read, such as `consent`. */
  kind?: string
  stream?: string
  /** A version of the stream: reads from it on, or, backward, from it down. */
  fromVersion?: number
  backward?: boolean
}

/** The event log. */
export interface Log {
  /**
   * Calls a handler for every event of some types, from the beginning of the log, in order and at least once. The
   * position is stored under the follower's name. It works while `run` or `settle` does, in one process at a time. A
   * failed event is tried again, then the follower is parked; no event is skipped automatically. After `timeoutMs` the
   * call has failed and its `signal` is aborted; a handler that ignores that may still run when it is called again. A
   * follower cannot add a type whose events it has passed: `settle` throws `INVALID_INPUT`, and `health` reports it. A
   * type that this version does not record is logged: a newer version may have recorded it.
   *
   * @throws {AverbaError} `INVALID_INPUT` when types or the handler are missing, a handler of this process already has
   * the name, or `timeoutMs` is not a whole number up to a day
   */
  follow<T extends keyof Events>(
    name: string,
    types: readonly T[],
    handler: (event: Recorded<T>, call: HandlerCall) => Promise<void>,
    options?: HandlerTime,
  ): void
  /**
   * Marks an item as done in a transaction of the host, in the database of a log on PostgreSQL. What the host does in
   * that transaction is done once, however often a handler is called. False when it was marked before; waits for
   * another transaction that is marking it.
   *
   * @param name the name of the work, such as that of the follower
   * @param item the id of the item, such as that of the event
   * @throws {AverbaError} `INVALID_INPUT` outside of a transaction, in another database, and for a log in a file;
   * `PERSONAL_ID` when the id is a CPF
   */
  once(transaction: HostTransaction, name: string, item: string): Promise<boolean>
  /** Lists the followers with their positions, which are parked, and since when an event waits for each. */
  followers(): Promise<KnownFollower[]>
  /**
   * Lets a parked follower try its event again, after `follower.retryRequested` with the `actor` is recorded. Logged.
   *
   * @throws {AverbaError} `NOT_FOUND` when no parked follower has this name
   */
  retry(name: string, commandOptions?: RecordOptions): Promise<void>
  /**
   * Lets a parked follower continue after the event that failed, and returns that event's position. An event with the
   * `actor`, `follower.skipRequested`, is recorded first. Logged.
   *
   * @throws {AverbaError} `NOT_FOUND` when no parked follower has this name
   */
  skip(name: string, commandOptions?: RecordOptions): Promise<number>
  /**
   * Forgets a follower, or a handler of notifications (`notifications/<evento>/<name>`), that no process has run for a
   * day although an event waits for it. `follower.removeRequested` with the `actor` is recorded first. Logged. One that
   * is registered under this name later starts at the beginning of the log.
   *
   * @throws {AverbaError} `NOT_FOUND` when there is no such follower
   */
  unfollow(name: string, commandOptions?: RecordOptions): Promise<void>
  /**
   * Reads events in order, page by page: after a position, of some types, of one kind or stream, or backward.
   *
   * @throws {AverbaError} `INVALID_INPUT` when `after` is not a position, `stream` is not a name, `fromVersion` is not
   * a whole number from 1 or has no stream, or a type or kind is unknown: not recorded by this version, and in no event
   * of the log
   */
  read<T extends keyof Events = keyof Events>(filter?: EventFilter<T>): AsyncIterable<Recorded<T>>
  /** The position of the last event. */
  end(): Promise<number>
  /**
   * The state of a stream by its machine, now or as known at a position or an instant, and the events that led to it.
   *
   * @throws {AverbaError} `NOT_FOUND` when the stream has no event until then, `INVALID_INPUT` for one in the future
   */
  stateOf(stream: string, knownAt?: Instant | number): Promise<StreamState>
}

/** Any other text could hold personal data, and is not logged. */
const eventType = /^[a-z]+\.[A-Za-z]+$/

/** What an operator decides on a follower: the error when there is none to decide on, and the log message. */
const decisions = {
  retry: {
    none: (name: string) => `Cannot retry "${name}": no parked follower has this name`,
    logMessage: 'a parked follower tries its event again',
  },
  skip: {
    none: (name: string) => `Cannot skip for "${name}": no parked follower has this name`,
    logMessage: 'a parked follower skips an event that it has not handled',
  },
  remove: {
    none: (name: string) => `Cannot remove "${name}": no follower of this name has waited for a process for a day`,
    logMessage: 'a follower is removed: no process runs it',
  },
} as const

export function createLog(context: ApiContext, machines: readonly Machine[]): Log {
  const { store, clock, commands, followers, log } = context
  const knownTypes = listEventTypes(machines)
  /** Does what a person decided, unless the follower has changed meanwhile. Who decided it is recorded before. */
  async function decideOn(name: string, action: keyof typeof decisions, ask: RecordOptions = {}): Promise<number> {
    const { none, logMessage } = decisions[action]
    const all = action === 'remove' ? await followers.listAbandoned() : await store.followers.list()
    const found = all.find(each => each.name === name && each.isParked === (action !== 'remove'))
    if (found) {
      const { position, reason } = found
      const message = { type: `follower.${action}`, data: { follower: name, position: position + 1, reason } }
      await commands.record(message, async () => ({ targets: [{ stream: 'follower-main', message }] }), ask)
    }
    const isDone =
      found &&
      (action === 'remove'
        ? await store.followers.remove(found)
        : await store.followers.resume(found, action === 'skip' ? 'past' : 'again'))
    if (!isDone)
      throw new AverbaError('NOT_FOUND', none(name), {
        hint: 'See log.followers() and the check "followers" of health',
      })
    store.changes.wake()
    log({ level: 'info', message: logMessage, follower: name, position: found.position + 1 })
    return found.position + 1
  }

  return {
    read(filter = {}) {
      checkFilter(filter)
      return readLog(store, knownTypes, filter)
    },
    follow(name, types, handler, time) {
      checkId(name, 'name of a follower')
      followers.follow(name, types, handler, time)
      for (const type of types.filter(each => !knownTypes.has(each))) {
        const named = typeof type === 'string' && eventType.test(type) && { detail: type }
        log({
          level: 'warn',
          message: 'a follower has an event type that this version does not record',
          follower: name,
          ...named,
        })
      }
    },
    async once(transaction, name, item) {
      checkId(name, 'name of the work')
      checkId(item, 'id of the item')
      const { schema } = store.database
      if (schema !== undefined) return markDone(transaction, schema, { name, item, at: toInstant(clock.now()) })
      throw new AverbaError('INVALID_INPUT', 'Cannot mark an item as done: the log is in a file', {
        hint: 'Keep the ids of events that you have handled in a table of your own, in the same transaction',
      })
    },
    end: () => store.database.read(endOfLog),
    stateOf: (stream, knownAt) => readStreamState(context, machines, stream, knownAt),
    followers: () => followers.list(),
    retry: async (name, ask) => void (await decideOn(name, 'retry', ask)),
    skip: (name, ask) => decideOn(name, 'skip', ask),
    unfollow: async (name, ask) => void (await decideOn(name, 'remove', ask)),
  }
}

function checkFilter(filter: EventFilter): void {
  checkKnownNames(filter, ['after', 'types', 'kind', 'stream', 'fromVersion', 'backward'], {
    noun: 'member',
    of: 'the filter',
  })
  const { after, types, stream, fromVersion } = filter
  if (after !== undefined) checkPosition(after, 'after')
  if (stream !== undefined) checkStream(stream)
  if (types !== undefined && !(Array.isArray(types) && types.every(type => typeof type === 'string')))
    throw new AverbaError('INVALID_INPUT', 'Cannot use "types": it is not a list of event types', {
      hint: "Give it as ['consent.revoked']",
    })
  if (fromVersion === undefined) return
  if (stream !== undefined && Number.isSafeInteger(fromVersion) && fromVersion > 0) return
  throw new AverbaError(
    'INVALID_INPUT',
    'Cannot use "fromVersion": it is not a whole number from 1, or there is no stream',
    {
      hint: "Give it with its stream: log.read({ stream: 'consent-…', fromVersion: 3 })",
    },
  )
}

async function* readLog<T extends keyof Events>(
  store: LogStore,
  knownTypes: ReadonlySet<string>,
  filter: EventFilter<T>,
): AsyncIterable<Recorded<T>> {
  const { backward = false, types = [], kind } = filter
  const isInLog = async (selected: EventFilter) => (await store.read({ ...selected, limit: 1 })).length > 0
  // A misspelt name would silently find nothing. One of another version is known if an event has it.
  for (const type of types)
    if (!knownTypes.has(type) && !(await isInLog({ types: [type] })))
      throw new AverbaError('INVALID_INPUT', 'Cannot read events: a type is unknown', {
        hint: 'averba log prints the types that there are, such as consent.revoked. The type Events has all',
      })
  if (kind !== undefined) {
    const knownKinds = new Set([...knownTypes].map(type => type.split('.', 1)[0]))
    if (!knownKinds.has(kind) && !(await isInLog({ kind })))
      throw new AverbaError('INVALID_INPUT', 'Cannot read events: the kind of streams is unknown', {
        hint: `It is one of: ${[...knownKinds].sort().join(', ')}`,
      })
  }
  yield* readEvents(store, { ...filter, backward })
}
