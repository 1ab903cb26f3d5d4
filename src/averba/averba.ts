import { loadTracing } from '../adapters/opentelemetry.ts'
import { type ApiContext, createApiContext, createRows } from '../api/api-context.ts'
import { checkInstant, checkMs, explainMissing } from '../api/arguments.ts'
import { checkAsOf } from '../api/as-of.ts'
import { type Audit, createAuditModule } from '../api/audit/module.ts'
import { createCommands } from '../api/commands.ts'
import { type AwarenessArea, type Consents, createConsentModule, type Logins } from '../api/consents/module.ts'
import type { Events, Recorded } from '../api/events.ts'
import { createHealthModule, type HealthMethods } from '../api/health/module.ts'
import { createHttpClients } from '../api/http-clients.ts'
import { createLogModule, type Effects, type Log } from '../api/log/module.ts'
import type { DueItem, Figures, Module } from '../api/module.ts'
import { createNotificationModule, type Notifications } from '../api/notifications/module.ts'
import { checkCertificate, checkOptions, type HostOptions, type ServingOptions } from '../api/options.ts'
import { createReceiverModule, type Receiver } from '../api/receiver/module.ts'
import { createSubjectDirectory } from '../api/subject-directory.ts'
import { createSubjectModule, type DataSubjects } from '../api/subjects/module.ts'
import { createSubscriptionModule, type Subscriptions } from '../api/subscriptions/module.ts'
import { createValidationModule, type Validations } from '../api/validations/module.ts'
import { type EngineEvents, isEngineEvent } from '../engine/diagnostics.ts'
import { Engine } from '../engine/engine.ts'
import { Followers } from '../engine/following/followers.ts'
import { addTables, collectTables, listEventTypes } from '../engine/machine-tables.ts'
import type { Machine } from '../machines/definition/machine.ts'
import { machines } from '../machines/machines.ts'
import { systemClock } from '../runtime/clock.ts'
import { createIds, systemEntropy } from '../runtime/entropy.ts'
import { placeOf } from '../store/opening.ts'
import { Store } from '../store/store.ts'
import type { StoreOptions } from '../store/store-options.ts'
import type { RebuildAll, RebuildResult } from '../store/views/rebuilder.ts'
import type { ViewBound } from '../store/views/view-reader.ts'
import { openViews, type ViewsHandle } from '../store/views/views-handle.ts'
import { type Views, views } from '../views/views.ts'
import { errorName } from '../vocabulary/error-words.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { foreignCodeIn } from '../vocabulary/foreign-answer.ts'
import { type LogLevel, type LogLine, onlyAllowed } from '../vocabulary/log-line.ts'
import type { Instant } from '../vocabulary/message.ts'
import { checkKnownNames } from '../vocabulary/names.ts'
import type { View } from '../vocabulary/view.ts'
import { type IndexRebuildResult, rebuildKeyedIndex } from './rebuild-index.ts'
import { runAll, settleAll } from './run.ts'

/** The payload of a listener: the event of its type, any event for `recorded`, or the diagnostic event. */
export type ListenerPayload<T extends keyof Events | keyof EngineEvents> = T extends keyof Events
  ? Recorded<T>
  : T extends Exclude<keyof EngineEvents, 'recorded'>
    ? EngineEvents[T]
    : Recorded

/** Options of `openAverba`. Only `store` is required; calls to a service that is not configured are refused. */
export interface AverbaOptions extends HostOptions {
  /** Options of the process `averba run`, which a host that embeds averba leaves out. */
  readonly run?: RunOptions
}

/** Options of the process `averba run`. */
export interface RunOptions extends ServingOptions {
  /** Called once before anything runs: for `notifications.handle` and `log.follow`. */
  readonly prepare?: (averba: Averba) => void | Promise<void>
}

/** An open log with the configured services. */
export interface Averba extends HealthMethods {
  /** Consents of data subjects. */
  readonly consents: Consents
  /** Awareness records of data subjects. */
  readonly awareness: AwarenessArea
  /** Whether data subjects are logged in, and where they log in. */
  readonly logins: Logins
  /** Validations of claims about persons. */
  readonly validations: Validations
  /** The inbox of the portal's notifications. */
  readonly notifications: Notifications
  /** The portal's subscriptions. */
  readonly subscriptions: Subscriptions
  /** Receives notifications: its `listener` belongs behind an HTTPS server. */
  readonly receiver: Receiver
  /** Erasure, holds, reveals and reports of data subjects. */
  readonly subjects: DataSubjects
  /** The events, and those who follow them. */
  readonly log: Log
  /** The calls to services: what waits, and why. */
  readonly effects: Effects
  /** Proofs and reports that others can check. */
  readonly audit: Audit
  /**
   * The rows of a view as they were at a position or an instant of the log, built from the log in memory. An instant
   * shows what averba knew at that time.
   *
   * @throws {AverbaError} `INVALID_INPUT` for an unknown view, an invalid or future position or instant, or neither
   */
  viewAsOf<N extends keyof Views>(name: N, asOf: { position?: number; at?: Instant }): Promise<Views[N][]>
  /**
   * Typed, read-only tables of current state. Rows hold clear data and the addresses of sealed parts. A query throws
   * `VIEW_STOPPED` while one of its views is stopped, and `INVALID_INPUT` when it reads anything else.
   */
  readonly views: ViewsHandle<Views>
  /**
   * Subscribes to committed events and diagnostic events in this process. Delivery is best effort, for screens and
   * metrics: use `log.follow` for work that must not be missed.
   *
   * @throws {AverbaError} `INVALID_INPUT` for a type that this version does not record, or without a listener
   */
  on<T extends keyof Events | keyof EngineEvents>(type: T, listener: (payload: ListenerPayload<T>) => void): () => void
  /**
   * Performs due calls, runs schedules and calls followers until the signal: after each append, and when something
   * becomes due. On a file it looks every second whether another process has written. Closing ends it too.
   *
   * @throws {AverbaError} `CLOSED` once the log is closing
   */
  run(options: { signal: AbortSignal }): Promise<void>
  /**
   * Performs what is due now, waits for the calls that this process has begun, and calls followers for the events
   * available now. For scripts, cron and tests. After `timeoutMs` it begins nothing more and returns the counts so far;
   * work in progress continues.
   *
   * @throws {AverbaError} `INVALID_INPUT` when `timeoutMs` is not a whole number of milliseconds; `REFUSED` within a
   * handler, which it would wait for
   */
  settle(options?: { timeoutMs?: number }): Promise<{ settled: number; deferred: number; unknown: number }>
  /** What averba will do by itself until an instant: calls, readings, ends of consents, deletions at the portal. */
  due(until: Instant): Promise<DueItem[]>
  /** The current numbers of averba, for metrics. */
  figures(): Promise<Figures>
  /**
   * Rebuilds every view from the log beside the serving rows, and then replaces them; `differences` 0 means that they
   * were equal. A signal stops it between two pages, and the next call continues.
   */
  rebuild(options?: RebuildAll): Promise<RebuildResult[]>
  /**
   * Rebuilds the index by which CPFs, service ids and contents are found, from the log and its parts. Erased data is
   * not found again, except failure records, which are found by the portal's id.
   */
  rebuildIndex(): Promise<IndexRebuildResult>
  /**
   * Waits up to 15 seconds for calls and handlers in progress, then closes the store. Nothing is lost. Within a handler
   * it resolves at once, and the log is closed after the handler returns.
   */
  close(): Promise<void>
}

export interface Definitions {
  readonly machines: readonly Machine[]
  readonly views: readonly View[]
}

export const currentDefinitions: Definitions = { machines, views }

/** See `openAverba` of src/index.ts. */
export function openAverba(options: AverbaOptions): Promise<Averba> {
  return openOn(undefined, options)
}

/** Like `openAverba`, on a medium that outlives the engine or with other machines and views: for simulated worlds. */
export async function openOn(
  medium: StoreOptions['medium'],
  options: AverbaOptions,
  { machines, views }: Definitions = currentDefinitions,
): Promise<Averba> {
  checkOptions(options)
  const { clock = systemClock } = options
  await checkCertificate(options, clock)
  const context = await openContext(medium, options, { machines, views })
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
  return explainMissing({ ...methods, ...createTopMethods(context, modules, machines) }, '')
}

async function openContext(
  medium: StoreOptions['medium'],
  options: AverbaOptions,
  { machines, views }: Definitions,
): Promise<ApiContext> {
  const { clock = systemClock, entropy = systemEntropy, actor, basis } = options
  const log = wrapLogger(options.logger)
  const createId = createIds(clock, entropy)
  const tracing = await loadTracing()
  const store = await Store.open<Events>({
    ...(await placeOf(options)),
    ...(medium && { medium }),
    views,
    clock,
    entropy,
    createId,
    beginning: collectTables(machines),
    ...(options.highWaterMark !== undefined && { highWaterMark: options.highWaterMark }),
    ...(options.anchor && { anchor: options.anchor }),
    ...(options.keys && { keys: options.keys }),
    ...(options.recordKeys && { recordKeys: options.recordKeys }),
    ...logStoreTroubles(log),
  })
  const engine = new Engine({
    ...{ store, clock, entropy, machines, tracing },
    onTrouble: (what, error) => log({ level: 'error', message: what, error: errorName(error) }),
    onTakenOver: ({ id, type }) =>
      log({ level: 'warn', message: 'a call is taken over: its last attempt has no outcome', detail: `${type} ${id}` }),
    onGivenUp: ({ id, type }, after, reason) => {
      const code = foreignCodeIn(reason)
      const message = 'a call is parked: effects.retry releases it'
      log({ level: 'error', message, detail: `${type} ${id}: ${after}`, ...(code && { error: code }) })
    },
  })
  const defaults = { ...(actor && { actor }), ...(basis && { basis }) }
  return createApiContext({
    ...{ options, engine, store, clock, entropy, createId, log, tracing },
    followers: new Followers(store, clock, log, failed => engine.emit('handlerFailed', failed)),
    http: createHttpClients(options, { clock, tracing, log }),
    commands: createCommands({ engine, store, clock, tracing }, defaults),
    subjects: createSubjectDirectory(store, createId),
    views: openViews<Views>(store.viewReader),
    rows: createRows(store),
  })
}

function logStoreTroubles(log: (line: LogLine) => void) {
  const ofView = (level: LogLevel, message: string) => (view: string) => log({ level, message, view })
  return {
    onTrouble: (what: string, error: unknown) => log({ level: 'error', message: what, error: errorName(error) }),
    onViewStopped: ofView('error', 'a view failed and is stopped; it is tried again'),
    onViewTaken: ofView('warn', 'another process has stopped a view, or has another version of it: see health'),
    onViewBack: ofView('info', 'a stopped view has caught up and is running again'),
    onKeyringCreated: (path: string) =>
      log({ level: 'info', message: 'a keyring was created: back it up, apart from the store', path }),
  }
}

/** Creates every module of the API. Their jobs run in this order. */
function createModules(context: ApiContext, machines: readonly Machine[]) {
  const portal = createSubscriptionModule(context)
  const consents = createConsentModule(context)
  const validations = createValidationModule(context, consents.methods.consents)
  const notifications = createNotificationModule(context)
  const receiver = createReceiverModule(context, portal)
  const log = createLogModule(context, machines)
  const subjects = createSubjectModule(context)
  const audit = createAuditModule(context)
  const areas = [portal, consents, validations, notifications, receiver, log, subjects, audit]
  const health = createHealthModule(context, areas)
  const modules: readonly Module[] = [...areas, health]
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

/** The methods of `Averba` that belong to no single module. */
function createTopMethods(context: ApiContext, modules: readonly Module[], machines: readonly Machine[]) {
  const { engine, followers, http, store, tracing } = context
  const recordedTypes = listEventTypes(machines)
  let closed: Promise<void> | undefined
  const close = async () => {
    await Promise.all([engine.close(), followers.close()])
    await http.close()
    await store.close()
  }
  return {
    views: openViews<Views>(store.viewReader, store.database.hostQueries),
    viewAsOf: <N extends keyof Views>(name: N, asOf: ViewBound = {}) =>
      engine.admit(async () => {
        await checkAsOf(context, asOf)
        return context.rows.asOf(name, asOf)
      }),
    on<T extends keyof Events | keyof EngineEvents>(type: T, listener: (payload: ListenerPayload<T>) => void) {
      if (!(isEngineEvent(type) || recordedTypes.has(type)) || typeof listener !== 'function')
        throw new AverbaError('INVALID_INPUT', 'Cannot listen: the type is unknown, or the listener is no function', {
          hint: 'Types are those of Events and EngineEvents: averba.on("consent.revoked", event => …)',
        })
      // A handler that caused the event does not wait for its listeners. The cast: the type names the payload.
      const tell = (payload: unknown) => followers.scope.outside(() => listener(payload as never))
      return isEngineEvent(type)
        ? engine.on(type, tell)
        : engine.on('recorded', event => event.type === type && tell(event))
    },
    run: ({ signal }: { signal: AbortSignal }) =>
      engine.admit(closing =>
        engine.answer(over => {
          const until = { signal: AbortSignal.any([signal, closing]), over }
          return tracing.withoutParent(() => runAll(context, modules, until))
        }),
      ),
    async settle(options: { timeoutMs?: number } = {}) {
      checkKnownNames(options, ['timeoutMs'], { noun: 'option' })
      const { timeoutMs } = options
      if (timeoutMs !== undefined) checkMs(timeoutMs, 'timeoutMs')
      if (followers.scope.isWithin)
        throw new AverbaError('REFUSED', 'Cannot settle within a handler: it would wait for its own end', {
          hint: 'Let the handler return: `run`, or the next `settle`, performs what it asked for',
        })
      return settleAll(context, modules, timeoutMs)
    },
    due: (until: Instant) =>
      engine.admit(() => {
        checkInstant(until, 'until')
        return listDue(modules, until)
      }),
    figures: () => engine.admit(() => readFigures(modules)),
    rebuild: (options: RebuildAll = {}) => engine.admit(() => store.rebuild(options)),
    rebuildIndex: () => engine.admit(() => rebuildKeyedIndex(store, modules)),
    close() {
      closed ??= close()
      if (!followers.scope.isWithin) return closed
      closed.catch(() => undefined) // A caller outside of handlers gets the error.
      return Promise.resolve()
    },
  }
}

async function listDue(modules: readonly Module[], until: Instant): Promise<DueItem[]> {
  const all = (await Promise.all(modules.map(each => each.due?.(until) ?? []))).flat()
  return all.filter(each => each.at <= until).sort((a, b) => (a.at < b.at ? -1 : 1))
}

async function readFigures(modules: readonly Module[]): Promise<Figures> {
  const parts = await Promise.all(modules.map(each => each.figures?.()))
  return Object.assign({}, ...parts) // Tests check that the modules have every member.
}

/** Wraps a logger: it gets allow-listed fields only, and its own failures are ignored. */
function wrapLogger(logger: AverbaOptions['logger']): (line: LogLine) => void {
  return line => {
    // A failure of the logger cannot be reported.
    const tell = async () => logger?.(onlyAllowed(line))
    tell().catch(() => undefined)
  }
}
