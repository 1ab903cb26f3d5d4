import { loadTracing } from '../adapters/opentelemetry.ts'
import type { Receiver } from '../adapters/receiver/receiver.ts'
import { createArea } from '../api/area.ts'
import { checkInstant, checkMs } from '../api/arguments.ts'
import { checkAsOf } from '../api/as-of.ts'
import { type Audit, createAudit } from '../api/audit/audit.ts'
import { checkOptions } from '../api/check-options.ts'
import { Commands } from '../api/commands.ts'
import { type AwarenessArea, createAwareness } from '../api/consents/awareness.ts'
import { type Consents, createConsents } from '../api/consents/consents.ts'
import { createLogins, type Logins } from '../api/consents/logins.ts'
import { tellOfUnmadeChanges } from '../api/consents/unmade-changes.ts'
import { type Figures, readFigures } from '../api/health/figures.ts'
import { checkHealth, type Health, type HealthOptions } from '../api/health/health.ts'
import { createEffects, type Effects } from '../api/log/effects.ts'
import type { Events, Recorded } from '../api/log/events.ts'
import { createLog, type Log } from '../api/log/log.ts'
import { createNotifications, type Notifications } from '../api/notifications/notifications.ts'
import type { Options, ServingOptions } from '../api/options.ts'
import { createReceiving } from '../api/receiver/receiver.ts'
import { Subjects } from '../api/subject-directory.ts'
import { tellOfIdleRetention } from '../api/subjects/retention.ts'
import { createDataSubjects, type DataSubjects } from '../api/subjects/subjects.ts'
import { Desired } from '../api/subscriptions/declared.ts'
import { checkPortalAddress } from '../api/subscriptions/portal-address.ts'
import { AcceptedSecrets } from '../api/subscriptions/secrets/accepted.ts'
import { createSubscriptions, type Subscriptions } from '../api/subscriptions/subscriptions.ts'
import { SubscriptionTroubles } from '../api/subscriptions/troubles.ts'
import { createValidations, type Validations } from '../api/validations/validations.ts'
import { createRows } from '../api/view-rows.ts'
import type { Hints } from '../engine/diagnostics.ts'
import { Engine } from '../engine/engine.ts'
import { Followers } from '../engine/following/followers.ts'
import { addTables, tablesOf, typesOf } from '../engine/machine-tables.ts'
import type { Prelude, Router } from '../engine/performing/attempts.ts'
import type { HarvestReason } from '../machines/portal.ts'
import { systemClock } from '../runtime/clock.ts'
import { createIds, systemEntropy } from '../runtime/entropy.ts'
import { Store } from '../store/store.ts'
import type { StoreOptions } from '../store/store-options.ts'
import type { RebuildAll } from '../store/views/rebuild-all.ts'
import type { AsOf, Rebuilt } from '../store/views/rebuilder.ts'
import { openViews, type ViewsHandle } from '../store/views/views-handle.ts'
import { nameOf } from '../vocabulary/error-words.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { type LogLine, onlyAllowed } from '../vocabulary/log-line.ts'
import type { Instant } from '../vocabulary/message.ts'
import type { Performer } from '../vocabulary/performer.ts'
import { type Due, listDue } from './due.ts'
import { createPerformers, limitsOf, type Views, type Wiring, wiring } from './performers.ts'
import { type IndexRebuilt, rebuildKeyedIndex } from './rebuild-index.ts'
import { createPreludes, createRouters } from './routers.ts'
import { runAll, settleAll } from './run.ts'
import { Schedules } from './schedules.ts'
import { createWaysOut } from './service-connections.ts'

/** What a listener is given: the event of its type, or the hint. */
export type Told<T extends keyof Events | keyof Hints> = T extends keyof Hints
  ? Hints[T]
  : T extends keyof Events
    ? Recorded<T>
    : never

/** Options of `openAverba`. Only `store` is required; a call to an area without its service is refused. */
export interface AverbaOptions extends Options {
  /** What else the process `averba run` does. A host that embeds averba leaves it out. */
  readonly run?: RunOptions
}

/** What the process `averba run` does. */
export interface RunOptions extends ServingOptions {
  /** Called once before anything runs: for `notifications.handle` and `log.follow`. */
  readonly prepare?: (averba: Averba) => void | Promise<void>
}

/**
 * Types the options of an `averba.config.ts`, so that an editor knows each of them: one object for the host, which
 * gives it to `openAverba`, and for the command line. Nothing is checked or opened here.
 *
 * @example
 * ```ts
 * import { defineConfig } from 'averba'
 *
 * export default defineConfig({ store: 'averba.sqlite' })
 * ```
 */
export function defineConfig(options: AverbaOptions): AverbaOptions {
  return options
}

/** An open log with the services that the host works with. */
export interface Averba {
  readonly consents: Consents
  readonly awareness: AwarenessArea
  readonly logins: Logins
  readonly validations: Validations
  readonly subscriptions: Subscriptions
  readonly notifications: Notifications
  readonly receiver: Receiver
  readonly log: Log
  readonly effects: Effects
  readonly audit: Audit
  readonly subjects: DataSubjects
  /**
   * The rows of a view as they were when the log ended at a position, or at an instant: built from the log, in memory.
   * A time of the log says what averba knew then.
   *
   * @throws {AverbaError} `INVALID_INPUT` for a view that is not there, a position or an instant that is none or has
   * not come yet, and where neither is given
   */
  viewAsOf<N extends keyof Views>(name: N, asOf: { position?: number; at?: Instant }): Promise<Views[N][]>
  /**
   * Typed tables of current state, read-only. Rows hold clear data and the addresses of sealed parts. A query throws
   * `VIEW_STOPPED` while a view that it reads stands still, and `INVALID_INPUT` when it reads anything else.
   */
  readonly views: ViewsHandle<Views>
  /**
   * Hears of events after their commit, and of the work itself, in this process, at most once: for screens and
   * metrics. What must not be missed is read from the log.
   */
  on<T extends keyof Events | keyof Hints>(type: T, listener: (told: Told<T>) => void): () => void
  /**
   * Goes on until the signal: performs what is due, and calls followers. Wakes up at once when this process appends,
   * and every second for what others did. Safe in several processes on one file. Closing ends it too.
   *
   * @throws {AverbaError} `CLOSED` once the log is closing
   */
  run(options: { signal: AbortSignal }): Promise<void>
  /**
   * Performs what is due now, waits for the calls that this process has begun, and calls followers for what is there
   * now. For scripts, cron and tests. After `timeoutMs` it begins nothing more and counts what has ended; what is under
   * way goes on by itself.
   *
   * @throws {AverbaError} `INVALID_INPUT` when `timeoutMs` is not a whole number of milliseconds; `REFUSED` within a
   * handler, whose end it would wait for
   */
  settle(options?: { timeoutMs?: number }): Promise<{ settled: number; deferred: number; unknown: number }>
  /**
   * What will happen by itself until an instant: calls that go, readings, ends of consents, deletions at the portal.
   */
  due(until: Instant): Promise<Due[]>
  /**
   * How averba is: store, keyring, views, parked calls, followers and notifications, certificates, token,
   * subscriptions, receiver, each with what to do. Asks no service unless it is told to `reach` for them. Never throws.
   */
  health(options?: HealthOptions): Promise<Health>
  /** Where averba stands, in numbers: for metrics. */
  figures(): Promise<Figures>
  /**
   * Builds every view anew from the log, beside the rows that serve, and puts it in their place;
   * `differences` 0 says that they were equal. A signal ends it between two pages, and the next call goes on.
   */
  rebuild(options?: RebuildAll): Promise<Rebuilt[]>
  /**
   * Makes the index by which CPFs, ids of the services and contents are found anew, from the log and its parts. What
   * was erased is not found again, but for failure records, which the portal's id finds.
   */
  rebuildIndex(): Promise<IndexRebuilt>
  /**
   * Lets the calls under way end, then closes the store. Nothing is lost. Within a handler it resolves at once, and the
   * log is closed when the handler has returned.
   */
  close(): Promise<void>
}

/**
 * Opens a log, or makes one. Starts no timer and no listener.
 *
 * @throws {AverbaError} `MISCONFIGURED`, `STORE_UNSAFE`, `STORE_BUSY`, `NOT_OURS`, `CORRUPT`,
 * `KEYS_MISSING`, `KEYS_MISMATCH`
 */
export function openAverba(options: AverbaOptions): Promise<Averba> {
  return openOn(undefined, options)
}

/**
 * The same on a medium that outlives the engine, or with machines and views of another version, as a simulated world
 * has it.
 */
export async function openOn(
  medium: StoreOptions['medium'],
  options: AverbaOptions,
  { machines, views }: Wiring = wiring,
): Promise<Averba> {
  const { clock = systemClock, entropy = systemEntropy } = options
  await checkOptions(options, clock)
  const log = safely(options.logger)
  const onTrouble = (what: string, error: unknown) => log({ message: what, error: nameOf(error) })
  const createId = createIds(clock, entropy)
  const desired = new Desired(options)
  const tracing = await loadTracing()
  let wake: () => void = () => undefined
  let tellCommitted: (ms: number) => void = () => undefined
  const store = await Store.open({
    onCommitted: () => wake(),
    path: options.store,
    ...(medium && { medium }),
    views,
    clock,
    entropy,
    createId,
    beginning: tablesOf(machines),
    onTrouble,
    ...(options.highWaterMark !== undefined && { highWaterMark: options.highWaterMark }),
    ...(options.anchor && { anchor: options.anchor }),
    ...(options.keys && { keys: options.keys }),
    ...(options.recordKeys && { recordKeys: options.recordKeys }),
    onViewStopped: view => log({ message: 'a view failed and stands still, and is tried again', view }),
    onViewTaken: view =>
      log({ message: 'another process has stopped a view, or has it in another version: see health', view }),
    onViewBack: view => log({ message: 'a view stood still and has caught up', view }),
    onTransacted: ms => tellCommitted(ms),
    onKeyringCreated: path => log({ message: 'a keyring was made: back it up, apart from the store', path }),
  })
  await checkPortalAddress(store, options.portal).catch(async error => {
    await store.close()
    throw error
  })
  await addTables(store, machines, clock)
  const waysOut = createWaysOut(options, { clock, tracing, log })
  // The engine performs effects through clients whose tokens come from the engine: filled in below.
  const performers: Record<string, Performer> = {}
  const routers: Record<string, Router> = {}
  const preludes: Record<string, Prelude> = {}
  const engine = new Engine({
    store,
    clock,
    entropy,
    createId,
    machines,
    performers,
    routers,
    preludes,
    limits: limitsOf(options),
    onTrouble,
    onGivenUp: ({ id, type }, after) =>
      log({ message: 'a call is parked: effects.retry lets it go', detail: `${type} ${id}: ${after}` }),
    tracing,
  })
  const followers = new Followers(store, clock, log)
  wake = () => followers.wake()
  tellCommitted = ms => engine.hint('committed', { ms })
  const subjects = new Subjects(store, createId)
  const { actor, basis } = options
  const defaults = { ...(actor && { actor }), ...(basis && { basis }) }
  const commands = new Commands(engine, store, clock, defaults, tracing)
  const handle = openViews<Views>(store.viewReader)
  const area = createArea({
    options,
    engine,
    store,
    commands,
    subjects,
    views: handle,
    rows: createRows(store),
    clock,
    entropy,
    createId,
    log,
  })
  const accepted = new AcceptedSecrets(area, desired)
  const troubles = new SubscriptionTroubles(area, desired, accepted)
  Object.assign(performers, createPerformers(area, desired, waysOut))
  Object.assign(routers, createRouters(area, desired, accepted.history))
  Object.assign(preludes, createPreludes(area))
  const subscriptions = createSubscriptions(area, desired)
  const schedules = new Schedules(area)
  tellOfIdleRetention(area)
  tellOfUnmadeChanges(area)

  let closed: Promise<void> | undefined
  const close = async () => {
    await Promise.all([engine.close(), followers.close()])
    await waysOut.close()
    await store.close()
  }

  const onMissed = (reason: HarvestReason) => void subscriptions.harvestSoon(reason)
  const { receiver, refused } = createReceiving({ area, desired, accepted, tracing, onMissed })
  const consents = createConsents(area)
  return {
    consents,
    awareness: createAwareness(area),
    logins: createLogins(area),
    validations: createValidations(area, consents),
    subscriptions,
    notifications: createNotifications(area, followers),
    receiver,
    log: createLog(area, followers, typesOf(machines)),
    effects: createEffects(area),
    subjects: createDataSubjects(area),
    audit: createAudit(area),
    views: handle,
    viewAsOf: <N extends keyof Views>(name: N, asOf: AsOf) =>
      engine.admit(async () => {
        await checkAsOf(area, asOf)
        return (await store.viewAsOf(name, asOf)) as Views[N][] // The view of this name has these rows.
      }),
    // A handler that caused the event does not wait for its listeners. The cast: the type names what is told.
    on: (type, listener) => engine.on(type, told => followers.scope.outside(() => listener(told as never))),
    run: ({ signal }) =>
      engine.admit(closing =>
        engine.answer(over => {
          const until = { signal: AbortSignal.any([signal, closing]), over }
          const parts = { engine, followers, schedules, troubles, store, clock, ...until, log }
          return tracing.apart(() => runAll(parts))
        }),
      ),
    async settle({ timeoutMs } = {}) {
      if (timeoutMs !== undefined) checkMs(timeoutMs, 'timeoutMs')
      if (followers.scope.isWithin) {
        throw new AverbaError('REFUSED', 'Cannot settle within a handler: it would wait for its own end', {
          hint: 'Let the handler return: what it asked for is performed by `run`, or by the next `settle`',
        })
      }
      return settleAll({ engine, followers, schedules, troubles, store, clock }, timeoutMs)
    },
    due: until =>
      engine.admit(() => {
        checkInstant(until, 'until')
        return listDue(area, schedules, until)
      }),
    health: options => checkHealth({ area, followers, troubles, refused }, options),
    figures: () => engine.admit(() => readFigures(area, followers)),
    rebuild: options => engine.admit(() => store.rebuild(options)),
    rebuildIndex: () => engine.admit(() => rebuildKeyedIndex(area)),
    close() {
      closed ??= close()
      if (!followers.scope.isWithin) return closed
      closed.catch(() => undefined) // Who closes outside of handlers is told.
      return Promise.resolve()
    },
  }
}

/** A logger gets allow-listed fields only, and its own failures stay away from what it was told of. */
function safely(logger: AverbaOptions['logger']): (line: LogLine) => void {
  return line => {
    // Nobody is left to tell of a failure of the logger.
    const tell = async () => logger?.(onlyAllowed(line))
    tell().catch(() => undefined)
  }
}
