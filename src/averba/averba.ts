import { loadTracing } from '../adapters/opentelemetry.ts'
import { type ApiContext, createApiContext } from '../api/api-context.ts'
import { checkInstant, checkMs } from '../api/arguments.ts'
import { checkAsOf } from '../api/as-of.ts'
import { type AuditMethods, createAuditModule } from '../api/audit/module.ts'
import { checkOptions } from '../api/check-options.ts'
import { Commands } from '../api/commands.ts'
import { type ConsentMethods, createConsentModule } from '../api/consents/module.ts'
import type { Events, Recorded } from '../api/events.ts'
import type { Figures } from '../api/figures.ts'
import { createHealthModule, type HealthMethods } from '../api/health/module.ts'
import { createHttpClients } from '../api/http-clients.ts'
import { createLogModule, type LogMethods } from '../api/log/module.ts'
import type { DueItem, Module } from '../api/module.ts'
import { createNotificationModule, type NotificationMethods } from '../api/notifications/module.ts'
import type { HostOptions, ServingOptions } from '../api/options.ts'
import { createReceiverModule, type ReceiverMethods } from '../api/receiver/module.ts'
import { Subjects } from '../api/subject-directory.ts'
import { createSubjectModule, type SubjectMethods } from '../api/subjects/module.ts'
import { createSubscriptionModule, type SubscriptionMethods } from '../api/subscriptions/module.ts'
import { createValidationModule, type ValidationMethods } from '../api/validations/module.ts'
import { createRows } from '../api/view-rows.ts'
import type { EngineEvents } from '../engine/diagnostics.ts'
import { Engine } from '../engine/engine.ts'
import { Followers } from '../engine/following/followers.ts'
import { addTables, tablesOf } from '../engine/machine-tables.ts'
import type { Machine } from '../machines/definition/machine.ts'
import { machines } from '../machines/machines.ts'
import { systemClock } from '../runtime/clock.ts'
import { createIds, systemEntropy } from '../runtime/entropy.ts'
import { Store } from '../store/store.ts'
import type { StoreOptions } from '../store/store-options.ts'
import type { RebuildAll } from '../store/views/rebuild-all.ts'
import type { RebuildResult, ViewBound } from '../store/views/rebuilder.ts'
import { openViews, type ViewsHandle } from '../store/views/views-handle.ts'
import { type Views, views } from '../views/views.ts'
import { errorName } from '../vocabulary/error-words.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { type LogLine, onlyAllowed } from '../vocabulary/log-line.ts'
import type { Instant } from '../vocabulary/message.ts'
import type { View } from '../vocabulary/view.ts'
import { type IndexRebuildResult, rebuildKeyedIndex } from './rebuild-index.ts'
import { runAll, settleAll } from './run.ts'

/** What a listener is given: the event of its type, or the hint. */
export type ListenerPayload<T extends keyof Events | keyof EngineEvents> = T extends keyof EngineEvents
  ? EngineEvents[T]
  : T extends keyof Events
    ? Recorded<T>
    : never

/** Options of `openAverba`. Only `store` is required; a call to an area without its service is refused. */
export interface AverbaOptions extends HostOptions {
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
export interface Averba
  extends ConsentMethods,
    ValidationMethods,
    SubscriptionMethods,
    NotificationMethods,
    ReceiverMethods,
    LogMethods,
    SubjectMethods,
    AuditMethods,
    HealthMethods {
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
  on<T extends keyof Events | keyof EngineEvents>(
    type: T,
    listener: (told: ListenerPayload<T>) => void,
  ): () => void
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
  due(until: Instant): Promise<DueItem[]>
  /** Where averba stands, in numbers: for metrics. */
  figures(): Promise<Figures>
  /**
   * Builds every view anew from the log, beside the rows that serve, and puts it in their place;
   * `differences` 0 says that they were equal. A signal ends it between two pages, and the next call goes on.
   */
  rebuild(options?: RebuildAll): Promise<RebuildResult[]>
  /**
   * Makes the index by which CPFs, ids of the services and contents are found anew, from the log and its parts. What
   * was erased is not found again, but for failure records, which the portal's id finds.
   */
  rebuildIndex(): Promise<IndexRebuildResult>
  /**
   * Lets the calls under way end, then closes the store. Nothing is lost. Within a handler it resolves at once, and the
   * log is closed when the handler has returned.
   */
  close(): Promise<void>
}

/** The machines that decide, and the views that show. */
export interface Definitions {
  readonly machines: readonly Machine[]
  readonly views: readonly View[]
}

/** Every machine and view of this version. */
export const version: Definitions = { machines, views }

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
  { machines, views }: Definitions = version,
): Promise<Averba> {
  const { clock = systemClock } = options
  await checkOptions(options, clock)
  const context = await openArea(medium, options, { machines, views })
  const { store, engine } = context
  const { methods, modules } = createModules(context, machines)
  try {
    for (const each of modules) await each.checkLog?.()
    await addTables(store, machines, clock)
  } catch (error) {
    await Promise.all([context.http.close(), store.close()])
    throw error
  }
  for (const each of modules) engine.register(each)
  return { ...methods, ...createFace(context, modules) }
}

/** Opens the store, and puts together what the areas share. */
async function openArea(
  medium: StoreOptions['medium'],
  options: AverbaOptions,
  { machines, views }: Definitions,
): Promise<ApiContext> {
  const { clock = systemClock, entropy = systemEntropy, actor, basis } = options
  const log = safely(options.logger)
  const createId = createIds(clock, entropy)
  const tracing = await loadTracing()
  const store = await Store.open({
    path: options.store,
    ...(medium && { medium }),
    views,
    clock,
    entropy,
    createId,
    beginning: tablesOf(machines),
    ...(options.highWaterMark !== undefined && { highWaterMark: options.highWaterMark }),
    ...(options.anchor && { anchor: options.anchor }),
    ...(options.keys && { keys: options.keys }),
    ...(options.recordKeys && { recordKeys: options.recordKeys }),
    ...tellingOfStore(log),
  })
  const engine = new Engine({
    ...{ store, clock, entropy, createId, machines, tracing },
    onTrouble: (what, error) => log({ message: what, error: errorName(error) }),
    onGivenUp: ({ id, type }, after) =>
      log({ message: 'a call is parked: effects.retry lets it go', detail: `${type} ${id}: ${after}` }),
  })
  const defaults = { ...(actor && { actor }), ...(basis && { basis }) }
  return createApiContext({
    ...{ options, engine, store, clock, entropy, createId, log, tracing },
    followers: new Followers(store, clock, log),
    http: createHttpClients(options, { clock, tracing, log }),
    commands: new Commands(engine, store, clock, defaults, tracing),
    subjects: new Subjects(store, createId),
    views: openViews<Views>(store.viewReader),
    rows: createRows(store),
  })
}

/** What an operator should know of the store. */
function tellingOfStore(log: (line: LogLine) => void) {
  return {
    onTrouble: (what: string, error: unknown) => log({ message: what, error: errorName(error) }),
    onViewStopped: (view: string) =>
      log({ message: 'a view failed and stands still, and is tried again', view }),
    onViewTaken: (view: string) =>
      log({ message: 'another process has stopped a view, or has it in another version: see health', view }),
    onViewBack: (view: string) => log({ message: 'a view stood still and has caught up', view }),
    onKeyringCreated: (path: string) =>
      log({ message: 'a keyring was made: back it up, apart from the store', path }),
  }
}

/** Makes every area. In this order their jobs are done. */
function createModules(context: ApiContext, machines: readonly Machine[]) {
  const portal = createSubscriptionModule(context)
  const consents = createConsentModule(context)
  const validations = createValidationModule(context, consents.methods.consents)
  const notifications = createNotificationModule(context)
  const receiver = createReceiverModule(context, portal)
  const log = createLogModule(context, machines)
  const subjects = createSubjectModule(context)
  const audit = createAuditModule(context)
  const looked = [portal, consents, validations, notifications, receiver, log, subjects, audit]
  const health = createHealthModule(context, looked)
  const modules: readonly Module[] = [...looked, health]
  const methods = {
    ...consents.methods,
    ...validations.methods,
    ...portal.methods,
    ...notifications.methods,
    ...receiver.methods,
    ...log.methods,
    ...subjects.methods,
    ...audit.methods,
    ...health.methods,
  }
  return { modules, methods }
}

/** The methods of `Averba` that are of no single area. */
function createFace(context: ApiContext, modules: readonly Module[]) {
  const { engine, followers, http, store, tracing, views } = context
  let closed: Promise<void> | undefined
  const close = async () => {
    await Promise.all([engine.close(), followers.close()])
    await http.close()
    await store.close()
  }
  return {
    views,
    viewAsOf: <N extends keyof Views>(name: N, asOf: ViewBound) =>
      engine.admit(async () => {
        await checkAsOf(context, asOf)
        return (await store.viewAsOf(name, asOf)) as Views[N][] // The view of this name has these rows.
      }),
    // A handler that caused the event does not wait for its listeners. The cast: the type names what is told.
    on: <T extends keyof Events | keyof EngineEvents>(
      type: T,
      listener: (told: ListenerPayload<T>) => void,
    ) => engine.on(type, told => followers.scope.outside(() => listener(told as never))),
    run: ({ signal }: { signal: AbortSignal }) =>
      engine.admit(closing =>
        engine.answer(over => {
          const until = { signal: AbortSignal.any([signal, closing]), over }
          return tracing.withoutParent(() => runAll(context, modules, until))
        }),
      ),
    async settle({ timeoutMs }: { timeoutMs?: number } = {}) {
      if (timeoutMs !== undefined) checkMs(timeoutMs, 'timeoutMs')
      if (followers.scope.isWithin) {
        throw new AverbaError('REFUSED', 'Cannot settle within a handler: it would wait for its own end', {
          hint: 'Let the handler return: what it asked for is performed by `run`, or by the next `settle`',
        })
      }
      return settleAll(context, modules, timeoutMs)
    },
    due: (until: Instant) =>
      engine.admit(() => {
        checkInstant(until, 'until')
        return listDue(modules, until)
      }),
    figures: () => engine.admit(() => readFigures(modules)),
    rebuild: (options?: RebuildAll) => engine.admit(() => store.rebuild(options)),
    rebuildIndex: () => engine.admit(() => rebuildKeyedIndex(store, modules)),
    close() {
      closed ??= close()
      if (!followers.scope.isWithin) return closed
      closed.catch(() => undefined) // Who closes outside of handlers is told.
      return Promise.resolve()
    },
  }
}

/** What will happen by itself until an instant, the first first. */
async function listDue(modules: readonly Module[], until: Instant): Promise<DueItem[]> {
  const all = (await Promise.all(modules.map(each => each.due?.(until) ?? []))).flat()
  return all.filter(each => each.at <= until).sort((a, b) => (a.at < b.at ? -1 : 1))
}

/** Gathers the numbers of all areas, as they stand. */
async function readFigures(modules: readonly Module[]): Promise<Figures> {
  const parts = await Promise.all(modules.map(each => each.figures?.()))
  return Object.assign({}, ...parts) as Figures // Every member is an area's: the tests ask for each.
}

/** A logger gets allow-listed fields only, and its own failures stay away from what it was told of. */
function safely(logger: AverbaOptions['logger']): (line: LogLine) => void {
  return line => {
    // Nobody is left to tell of a failure of the logger.
    const tell = async () => logger?.(onlyAllowed(line))
    tell().catch(() => undefined)
  }
}
