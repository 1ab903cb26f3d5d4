import { EventEmitter } from 'eventemitter3'
import type { Machine } from '../machines/definition/machine.ts'
import { canonicalJson } from '../proof/canonical-json.ts'
import { monotonicClock, systemClock, waitAtMost } from '../runtime/clock.ts'
import { WorkInProgress } from '../runtime/work-in-progress.ts'
import { AverbaError, closedError } from '../vocabulary/errors.ts'
import type { EffectState, Fact, Json, PendingEffect, RecordedEvent } from '../vocabulary/message.ts'
import { serviceOf } from '../vocabulary/names.ts'
import type { EffectClass, Performer } from '../vocabulary/performer.ts'
import type { EngineEvents } from './diagnostics.ts'
import { DueCalls, type DueCallsParts, findDue } from './performing/due-calls.ts'
import {
  type ChunkRecorder,
  type EffectRegistry,
  EffectRunner,
  type EffectRunnerParts,
  type Router,
} from './performing/effect-runner.ts'
import { type ServiceLimits, Throttle } from './performing/throttle.ts'
import { type DecisionRequest, Decisions } from './recording/decisions.ts'
import {
  type CommandResult,
  type InFlight,
  newResult,
  Recorder,
  type RecordOptions,
  type RequestContext,
  repeatResult,
} from './recording/recorder.ts'

export interface EngineParts extends EffectRunnerParts {
  readonly machines: readonly Machine[]
}

/** What a module of the API registers with the engine. */
export interface Registration extends Partial<EffectRegistry> {
  /** Limits of each service, by the first part of its effect types. */
  readonly limits?: Readonly<Record<string, ServiceLimits>>
}

/** How the due effects ended. Those given up count as deferred: they were certainly not done. */
export type AttemptCounts = Record<'settled' | 'deferred' | 'unknown', number>

const countedAs: Readonly<Partial<Record<EffectState, keyof AttemptCounts>>> = {
  settled: 'settled',
  declined: 'settled',
  deferred: 'deferred',
  parked: 'deferred',
  unknown: 'unknown',
}

const closeWaitMs = 15_000
/** How long it waits for answers to be recorded: a server that is away may not say what became of a commit. */
const answersWaitMs = 2_000
const restMs = 1_000
/** How soon a caller looks whether another process has ended its call; then ever later, by a quarter of its wait. */
const othersPoll = { firstMs: 50, growth: 1.25, maxMs: 1_000 }
/** How far ahead the next due call is searched for: a loop looks again before that. */
const dueSearchMs = 15 * 60_000
/** How many due calls `listLeftToOthers` looks at. */
const leftSearchMax = 100

type EmitterEvents = { readonly [K in keyof EngineEvents]: [EngineEvents[K]] }

/** The main loop: decides commands, records events and effects, performs effects, and records their outcomes. */
export class Engine {
  readonly #parts: EngineParts
  readonly #performers: Record<string, Performer> = {}
  readonly #routers: Record<string, Router> = {}
  readonly #chunkRecorders: Record<string, ChunkRecorder> = {}
  readonly #limits: Record<string, ServiceLimits> = {}
  readonly #recorder: Recorder
  readonly #effectRunner: EffectRunner
  readonly #throttles = new Map<string, Throttle>()
  /** Ends waiting for a throttle where no caller is waiting. */
  readonly #closing = new AbortController()
  readonly #waitOver = new AbortController()
  readonly #emitter = new EventEmitter<EmitterEvents>()
  /** Effects in progress, by id. Each resolves to whether it got its turn before the signal. */
  readonly #performing = new Map<string, Promise<boolean>>()
  readonly #work = new WorkInProgress()
  /** Answers to hosts, which must be given before the store closes. */
  readonly #answers = new Set<Promise<unknown>>()

  constructor(parts: EngineParts) {
    this.#parts = parts
    const decisions = new Decisions(parts.store, parts.machines)
    const announce = (event: RecordedEvent) => this.emit('recorded', event)
    const { store, clock, onTrouble } = parts
    const waiting = { closing: this.#closing.signal, onTrouble }
    this.#recorder = new Recorder(store, clock, decisions, announce, waiting)
    const registered = { performers: this.#performers, routers: this.#routers, chunkRecorders: this.#chunkRecorders }
    this.#effectRunner = new EffectRunner({ ...parts, ...registered }, this.#recorder, report =>
      this.emit('attempted', report),
    )
    store.onTransacted = ms => this.emit('committed', { ms })
  }

  /** Registers performers, routers and limits, before any effect is performed. Each type has exactly one. */
  register({ performers = {}, routers = {}, chunkRecorders = {}, limits = {} }: Registration): void {
    addUnique(this.#performers, performers)
    addUnique(this.#routers, routers)
    addUnique(this.#chunkRecorders, chunkRecorders)
    addUnique(this.#limits, limits)
  }

  /**
   * Starts work of a host; the store stays open until it ends, and its signal aborts when the log is closing.
   *
   * @throws {AverbaError} `CLOSED` once the log is closing
   */
  async admit<T>(work: (closing: AbortSignal) => Promise<T>): Promise<T> {
    this.#checkOpen()
    return this.#work.track(work(this.#closing.signal))
  }

  #checkOpen(): void {
    if (this.#closing.signal.aborted) throw closedError()
  }

  /** Runs work whose result a host waits for: closing waits for it, so it must heed the signal. */
  answer<T>(give: (over: AbortSignal) => Promise<T>): Promise<T> {
    const answer = give(this.#waitOver.signal).finally(() => this.#answers.delete(answer))
    this.#answers.add(answer)
    return answer
  }

  /**
   * Decides a command and records the result. The same command id gives the same result again.
   *
   * @param input what identifies the command, personal data included: stored as a keyed digest only
   * @throws {AverbaError} `REFUSED`, `CONFLICT`, `COMMAND_REUSED`, and `SUBJECT_ERASED` when its person was erased
   */
  async handle(
    input: Json,
    createRequest: () => Promise<DecisionRequest>,
    about: RequestContext = {},
  ): Promise<CommandResult> {
    const { store } = this.#parts
    const { commandId } = about
    // A command without an id cannot be repeated.
    if (commandId === undefined)
      return newResult(await this.#recorder.record(createRequest, { isCommand: true, about }))
    // The id is part of it, so no two commands share a digest, whoever they are about.
    const digest = store.digest('command', canonicalJson({ commandId, input }, { fractions: true }))
    const known = await store.receipt(commandId)
    if (known) return repeatResult(known, digest)
    const receipt = { commandId, digest }
    const recording = this.#recorder.record(createRequest, { isCommand: true, about, receipt })
    const appended = await recording.catch(async (error: unknown) => {
      // Another call with the same id may have been recorded first: its result counts.
      const meanwhile = await store.receipt(commandId).catch(() => undefined)
      if (meanwhile && error instanceof AverbaError) return { status: 'known', receipt: meanwhile } as const
      throw error
    })
    return appended.status === 'known' ? repeatResult(appended.receipt, digest) : newResult(appended)
  }

  /**
   * Records a fact from outside. It is decided again on the newest versions until it is recorded.
   *
   * @throws {AverbaError} when the sender keeps the fact: `STORE_BUSY` when too many are in progress, `CLOSED`
   */
  async record(
    createRequest: () => Promise<DecisionRequest>,
    options: Pick<RecordOptions, 'isKeptElsewhere'> = {},
  ): Promise<readonly RecordedEvent[]> {
    if (options.isKeptElsewhere) this.#checkOpen()
    return this.#work.track(this.#recorder.record(createRequest, options).then(made => made.events))
  }

  /** Repeats what nobody else would ask for again while the store cannot be written, until the log is closing. */
  whenWritable<T>(work: () => Promise<T>, what: string): Promise<T> {
    return this.#work.track(this.#recorder.whenWritable(work, what))
  }

  get inFlight(): InFlight {
    return this.#recorder.inFlight
  }

  /**
   * Performs one effect and records its outcome. It is claimed after the throttle, so waiting changes nothing. While
   * another process performs it, waits for that, until the signal or the end of the other's lease.
   */
  async perform(id: string, signal: AbortSignal = this.#waitOver.signal): Promise<void> {
    const { store, clock } = this.#parts
    for (let waitMs = othersPoll.firstMs; ; waitMs = Math.min(waitMs * othersPoll.growth, othersPoll.maxMs)) {
      await this.#performUntil(this.#waitOver.signal, id)
      if (signal.aborted || (await store.effect(id))?.state !== 'started') return
      await clock.sleep(waitMs, signal, 'a call of another process')
    }
  }

  /** Runs an effect once at a time for all callers. If an earlier caller gave up waiting, the next one tries. */
  #performUntil(signal: AbortSignal, id: string): Promise<boolean> {
    const running = this.#performing.get(id)
    if (running) return running.then(hadTurn => hadTurn || (!signal.aborted && this.#performUntil(signal, id)))
    const work = this.#work.track(this.#perform(id, signal)).finally(() => this.#performing.delete(id))
    this.#performing.set(id, work)
    return work
  }

  async #perform(id: string, signal: AbortSignal): Promise<boolean> {
    const found = await this.#effectRunner.claimer.findClaimable(id)
    // An effect that cannot be claimed takes no turn of the throttle.
    if (!found) return true
    return this.#throttleOf(serviceOf(found.pending.type)).run(() => this.#effectRunner.makeAttempt(found), signal)
  }

  #throttleOf(service: string): Throttle {
    const known = this.#throttles.get(service)
    if (known) return known
    const { clock, store } = this.#parts
    const throttle = new Throttle({ clock, rates: store.rates, service, limits: this.#limits[service] ?? {} })
    this.#throttles.set(service, throttle)
    return throttle
  }

  get services(): string[] {
    return [...new Set(Object.keys(this.#performers).map(serviceOf))]
  }

  /** Performs all that is due or becomes due, until the signal, each call once. A failure stops no other call. */
  async settle(counts: AttemptCounts, signal: AbortSignal): Promise<void> {
    const over = AbortSignal.any([this.#closing.signal, signal])
    const bugs: unknown[] = []
    const onFailed = (error: unknown) => void bugs.push(error)
    const settle = (id: string) => this.#settleOne(id, over, counts)
    const ids = new Set(this.#performing.keys())
    const begun = [...ids].map(id => settle(id).catch(onFailed))
    // Calls waiting for the throttle are still due: they are counted with those already begun.
    const make = async (id: string) => ids.has(id) || settle(id)
    const services = this.services.map(service =>
      this.#dueCalls(service, { make, restMs: Number.POSITIVE_INFINITY, onFailed }),
    )
    const makeAll = (calls: DueCalls) =>
      calls.makeAll(over).catch(async error => {
        onFailed(error)
        await calls.waitForAll()
        return 0
      })
    for (let made = -1; made !== 0; ) {
      const waited = begun.splice(0)
      const all = await Promise.all(services.map(makeAll))
      await Promise.all(waited)
      // Outcomes at one service may make calls due at another.
      made = all.reduce((sum, each) => sum + each, waited.length)
    }
    counts.deferred += await this.#countUnwanted()
    if (bugs.length > 0) throw bugs[0]
  }

  /** How many due calls are left for later, since their services ask for a pause. */
  async #countUnwanted(): Promise<number> {
    const { store, clock } = this.#parts
    const types = Object.keys(this.#performers)
    const count = async (withUnwanted: boolean) => (await store.dueEffects(clock.now(), { types, withUnwanted })).length
    return (await count(true)) - (await count(false))
  }

  callsOf(service: string, signal: AbortSignal, onFailed: (error: unknown) => void): DueCalls {
    const over = AbortSignal.any([this.#closing.signal, signal])
    const make = async (id: string) => {
      await this.#performUntil(over, id)
      return true
    }
    return this.#dueCalls(service, { make, restMs, onFailed })
  }

  #dueCalls(service: string, how: Pick<DueCallsParts, 'make' | 'restMs' | 'onFailed'>): DueCalls {
    const { clock } = this.#parts
    const types = Object.keys(this.#performers).filter(type => serviceOf(type) === service)
    return new DueCalls({
      ...how,
      find: limit => findDue({ ...this.#parts, performers: this.#performers }, types, limit),
      nextDueAt: () => this.#parts.store.nextDueAt(types, clock.now() + dueSearchMs),
      max: this.#throttleOf(service).atOnceMax * 2, // Few are queued, so that a host's own call gets its turn soon.
      elapsedMs: monotonicClock(clock),
      now: () => clock.now(),
    })
  }

  /** Of the oldest due calls, those that this process leaves to one with another configuration. */
  async listLeftToOthers(): Promise<string[]> {
    const { store, clock } = this.#parts
    const types = Object.keys(this.#performers).filter(type => this.#performers[type]?.takes)
    const due = await store.dueEffects(clock.now(), { types, limit: leftSearchMax, withUnwanted: true })
    const areLeft = await Promise.all(due.map(id => this.#effectRunner.claimer.isLeftToOthers(id)))
    return due.filter((_, n) => areLeft[n])
  }

  /** Performs one effect and counts its outcome, also after an error. True if it has not ended. */
  async #settleOne(id: string, signal: AbortSignal, counts: AttemptCounts): Promise<boolean> {
    let count: keyof AttemptCounts | undefined
    try {
      await this.#performUntil(signal, id)
    } finally {
      const state = (await this.#parts.store.effect(id))?.state
      count = state && countedAs[state]
      if (count) counts[count] += 1
    }
    return count !== 'settled'
  }

  emit<K extends keyof EngineEvents>(name: K, ...payload: EventEmitter.EventArgs<EmitterEvents, K>): void {
    this.#emitter.emit(name, ...payload)
  }

  /** The class of an effect type; `undefined` when this process cannot perform it. */
  classOf(type: string): EffectClass | undefined {
    return this.#performers[type]?.effectClass
  }

  /** The fact with which a call ends that a person gives up; `undefined` for one that cannot be given up here. */
  withdrawnFact(pending: PendingEffect, sentBefore: boolean): Fact | undefined {
    return this.#performers[pending.type]?.withdrawnFact?.(pending, sentBefore)
  }

  /** Adds a listener, whose failures are reported. The returned function removes it. */
  on<K extends keyof EngineEvents>(name: K, listener: EventEmitter.EventListener<EmitterEvents, K>): () => void {
    const guarded: typeof listener = async (...payload) => {
      try {
        await listener(...payload)
      } catch (error) {
        this.#parts.onTrouble('a listener failed', error)
      }
    }
    this.#emitter.on(name, guarded)
    return () => this.#emitter.off(name, guarded)
  }

  /** Remembers the work in progress; the returned function keeps `close` from waiting for it again. */
  noteInFlight(): () => void {
    return this.#work.note()
  }

  /** Waits for work in progress, up to a limit. Effects that have not ended by then stay in the ledger. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#work.waitForAll(this.#parts.clock, closeWaitMs, 'work in progress to end')
    this.#waitOver.abort()
    await waitAtMost(systemClock, answersWaitMs, Promise.allSettled(this.#answers))
    this.#emitter.removeAllListeners()
  }
}

function addUnique<T>(known: Record<string, T>, more: Readonly<Record<string, T>>): void {
  for (const [name, one] of Object.entries(more)) {
    if (Object.hasOwn(known, name)) throw new TypeError(`Two modules register "${name}"`)
    known[name] = one
  }
}
