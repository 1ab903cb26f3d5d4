import { EventEmitter } from 'eventemitter3'
import type { Machine } from '../machines/definition/machine.ts'
import { canonicalJson } from '../proof/canonical-json.ts'
import { monotonicClock } from '../runtime/clock.ts'
import { AverbaError, closedError } from '../vocabulary/errors.ts'
import type { EffectState, Json, RecordedEvent } from '../vocabulary/message.ts'
import type { EffectClass, Performer } from '../vocabulary/performer.ts'
import { serviceOf } from '../vocabulary/service-name.ts'
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
import { type InFlight, Recorder, type RecordOptions, type RequestContext } from './recording/recorder.ts'
import { type CommandResult, replayed } from './recording/repeated-command.ts'

/** What an engine is made of. */
export interface EngineParts extends EffectRunnerParts {
  readonly createId: () => string
  readonly machines: readonly Machine[]
}

/** What an area of the API brings to the engine. */
export interface Registration extends Partial<EffectRegistry> {
  /** How much of a service is used at most, by the name that its effects begin with. */
  readonly limits?: Readonly<Record<string, ServiceLimits>>
}

/** What became of the effects that were due. One that was given up counts as deferred: it is certainly not done. */
export type AttemptCounts = Record<'settled' | 'deferred' | 'unknown', number>

const countedAs: Readonly<Partial<Record<EffectState, keyof AttemptCounts>>> = {
  settled: 'settled',
  declined: 'settled',
  deferred: 'deferred',
  parked: 'deferred',
  unknown: 'unknown',
}

const closeWaitMs = 15_000
/** How long `run` leaves a call alone after it made it, or another process had it. */
const restMs = 1_000
/** Of the calls that are due, when asked which of them are left to others. */
const lookedAtMax = 100

/**
 * The loop: a command is decided, its events and effects are recorded, the effects are performed, and
 * their outcomes come back as facts that are decided and recorded in turn.
 */
export class Engine {
  readonly #parts: EngineParts
  readonly #performers: Record<string, Performer> = {}
  readonly #routers: Record<string, Router> = {}
  readonly #chunkRecorders: Record<string, ChunkRecorder> = {}
  readonly #limits: Record<string, ServiceLimits> = {}
  readonly #recorder: Recorder
  readonly #attempts: EffectRunner
  readonly #throttles = new Map<string, Throttle>()
  /** Ends waiting for a turn where no caller waits. */
  readonly #closing = new AbortController()
  /** Ends all waiting. */
  readonly #over = new AbortController()
  readonly #emitter = new EventEmitter()
  /** Effects under way, by id; each resolves to whether its turn came before the signal. */
  readonly #performing = new Map<string, Promise<boolean>>()
  readonly #running = new Set<Promise<unknown>>()
  /** Work that `run` has waited for already: closing does not wait for it again. */
  readonly #waitedFor = new WeakSet<Promise<unknown>>()
  /** Answers that hosts wait for, which have to be given before the store closes. */
  readonly #answering = new Set<Promise<unknown>>()

  constructor(parts: EngineParts) {
    this.#parts = parts
    const decisions = new Decisions(parts.store, parts.machines)
    const announce = (event: RecordedEvent) => {
      this.#emitter.emit(event.type, event)
      this.#emitter.emit('recorded', event)
    }
    const { store, clock, onTrouble } = parts
    const waiting = { closing: this.#closing.signal, onTrouble }
    this.#recorder = new Recorder(store, clock, decisions, announce, waiting)
    const registered = {
      performers: this.#performers,
      routers: this.#routers,
      chunkRecorders: this.#chunkRecorders,
    }
    this.#attempts = new EffectRunner({ ...parts, ...registered }, this.#recorder, hint =>
      this.hint('attempted', hint),
    )
    store.transacted.add(ms => this.hint('committed', { ms }))
  }

  /** Takes what performs effects and takes in their answers, before any effect is performed. One of each type. */
  register({ performers = {}, routers = {}, chunkRecorders = {}, limits = {} }: Registration): void {
    addTo(this.#performers, performers)
    addTo(this.#routers, routers)
    addTo(this.#chunkRecorders, chunkRecorders)
    addTo(this.#limits, limits)
  }

  /**
   * Lets a host's work in, and keeps the store open until it has ended. The work gets a signal that the log is closing.
   *
   * @throws {AverbaError} `CLOSED` once the log is closing
   */
  async admit<T>(work: (closing: AbortSignal) => Promise<T>): Promise<T> {
    this.#checkOpen()
    return this.#hold(work(this.#closing.signal))
  }

  #checkOpen(): void {
    if (this.#closing.signal.aborted) throw closedError()
  }

  #hold<T>(work: Promise<T>, among = this.#running): Promise<T> {
    const held = work.finally(() => among.delete(held))
    among.add(held)
    return held
  }

  /**
   * Gives a host its answer: closing waits for it, however long it takes. Once the signal says that the wait is over,
   * the answer has to come soon.
   */
  answer<T>(give: (over: AbortSignal) => Promise<T>): Promise<T> {
    return this.#hold(give(this.#over.signal), this.#answering)
  }

  /**
   * Decides a command and records what follows from it. The same id gives the same answer again.
   *
   * @param input what the command id stands for, personal data included: kept as a keyed digest only
   * @throws {AverbaError} `REFUSED`, `CONFLICT`, `COMMAND_REUSED`, and `SUBJECT_ERASED` where the digest went with the
   * person
   */
  async handle(
    input: Json,
    deliver: () => Promise<DecisionRequest>,
    about: RequestContext = {},
  ): Promise<CommandResult> {
    const { store, createId } = this.#parts
    const commandId = about.commandId ?? createId()
    // With the id in it, no two commands have the same digest, whoever they are about.
    const digest = store.digest('command', canonicalJson({ commandId, input }, { fractions: true }))
    const isNew = about.commandId === undefined
    const known = isNew ? undefined : await store.receipt(commandId)
    if (known) return replayed(known, digest)
    const receipt = { commandId, digest, isNew }
    const recording = this.#recorder.record(deliver, { about: { ...about, commandId }, receipt })
    const appended = await recording.catch(async (error: unknown) => {
      // Another call with the same id may have been faster: its answer is the answer.
      const meanwhile = isNew ? undefined : await store.receipt(commandId).catch(() => undefined)
      if (meanwhile && error instanceof AverbaError) return { status: 'known', receipt: meanwhile } as const
      throw error
    })
    if (appended.status === 'known') return replayed(appended.receipt, digest)
    const effect = appended.events.find(event => event.effects?.length)
    return {
      position: appended.position,
      effect: effect ? `${effect.id}/0` : '',
      replayed: false,
      events: appended.events,
    }
  }

  /**
   * Records a fact from outside: decided again on the newest versions until it is in.
   *
   * @throws {AverbaError} where the sender keeps the fact: `STORE_BUSY` when too many are under way, and `CLOSED` once
   * the log is closing
   */
  async record(
    deliver: () => Promise<DecisionRequest>,
    options: Pick<RecordOptions, 'isKeptElsewhere'> = {},
  ): Promise<readonly RecordedEvent[]> {
    if (options.isKeptElsewhere) this.#checkOpen()
    return this.#hold(this.#recorder.record(deliver, options).then(made => made.events))
  }

  /** How many commands and facts are under way. */
  get underWay(): InFlight {
    return this.#recorder.underWay
  }

  /**
   * Performs one effect, if it is due and nobody else does, and records how it ended. It waits for its turn at the
   * service before it is taken, so that closing leaves it as it was.
   */
  async perform(id: string): Promise<void> {
    await this.#performUntil(this.#over.signal, id)
  }

  /** Performs an effect once at a time, whoever asks. Where a caller before left the queue, the next one tries. */
  #performUntil(signal: AbortSignal, id: string): Promise<boolean> {
    const running = this.#performing.get(id)
    if (running)
      return running.then(hadTurn => hadTurn || (!signal.aborted && this.#performUntil(signal, id)))
    const work = this.#hold(this.#perform(id, signal)).finally(() => this.#performing.delete(id))
    this.#performing.set(id, work)
    return work
  }

  async #perform(id: string, signal: AbortSignal): Promise<boolean> {
    const found = await this.#attempts.taking.find(id)
    // Nothing to do, such as what is left to others, takes nobody's turn.
    if (!found) return true
    return this.#throttleOf(serviceOf(found.pending.type)).pass(() => this.#attempts.make(found), signal)
  }

  #throttleOf(service: string): Throttle {
    const throttle =
      this.#throttles.get(service) ?? new Throttle(this.#parts.clock, this.#limits[service] ?? {})
    this.#throttles.set(service, throttle)
    return throttle
  }

  /** The services that this process performs effects at. */
  get services(): string[] {
    return [...new Set(Object.keys(this.#performers).map(serviceOf))]
  }

  /**
   * Performs what is due now, and what comes due by it, every service at its own pace, until the signal. What this
   * process has already begun is no longer due, but is waited for as well. Each call is made once; one that fails holds
   * up no other.
   */
  async settle(counts: AttemptCounts, signal: AbortSignal): Promise<void> {
    const over = AbortSignal.any([this.#closing.signal, signal])
    const bugs: unknown[] = []
    const onFailed = (error: unknown) => void bugs.push(error)
    const settle = (id: string) => this.#settleOne(id, over, counts)
    const ids = new Set(this.#performing.keys())
    const begun = [...ids].map(id => settle(id).catch(onFailed))
    // What waits for its turn is still due: it is counted with what was begun.
    const make = async (id: string) => ids.has(id) || settle(id)
    const services = this.services.map(service =>
      this.#dueCalls(service, { make, restMs: Number.POSITIVE_INFINITY, onFailed }),
    )
    const makeAll = (calls: DueCalls) =>
      calls.makeAll(over).catch(async error => {
        onFailed(error)
        await calls.over()
        return 0
      })
    for (let made = -1; made !== 0; ) {
      const waited = begun.splice(0)
      const all = await Promise.all(services.map(makeAll))
      await Promise.all(waited)
      // A service with nothing left may owe something again because of another.
      made = all.reduce((sum, each) => sum + each, waited.length)
    }
    if (bugs.length > 0) throw bugs[0]
  }

  /** What comes due at one service, for as long as it is asked for. No two services wait for each other. */
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
      max: this.#throttleOf(service).atOnceMax * 2, // Few are queued: a host's own call comes soon.
      elapsedMs: monotonicClock(clock),
    })
  }

  /** Of the oldest calls that are due, those that this process leaves to one that is configured as they were asked. */
  async left(): Promise<string[]> {
    const { store, clock } = this.#parts
    const types = Object.keys(this.#performers).filter(type => this.#performers[type]?.takes)
    const due = await store.dueEffects(clock.now(), { types, limit: lookedAtMax })
    const areLeft = await Promise.all(due.map(id => this.#attempts.taking.isLeft(id)))
    return due.filter((_, n) => areLeft[n])
  }

  /** Performs one, and counts what became of it, also when that failed. True where it has not ended. */
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

  /** Tells of the work itself, as `on` tells of events. */
  hint<K extends Exclude<keyof EngineEvents, 'recorded'>>(name: K, hint: EngineEvents[K]): void {
    this.#emitter.emit(name, hint)
  }

  /** The class of what performs effects of a type; `undefined` for a type that this process cannot perform. */
  classOf(type: string): EffectClass | undefined {
    return this.#performers[type]?.effectClass
  }

  /** Calls a listener for events after their commit, and for hints, in this process, at most once. */
  on(type: string, listener: (told: unknown) => unknown): () => void {
    const guarded = (told: unknown) => {
      const fail = (error: unknown) => this.#parts.onTrouble('a listener failed', error)
      try {
        Promise.resolve(listener(told)).catch(fail)
      } catch (error) {
        fail(error)
      }
    }
    this.#emitter.on(type, guarded)
    return () => this.#emitter.off(type, guarded)
  }

  /** The time by the engine's clock. */
  now(): number {
    return this.#parts.clock.now()
  }

  /** Notes what is under way now; calling the result keeps closing from waiting for that again. */
  noteUnderWay(): () => void {
    const noted = [...this.#running]
    return () => {
      for (const each of noted) this.#waitedFor.add(each)
    }
  }

  /** Lets what is under way end, within a bound: what has not ended then stays in the ledger. */
  async close(): Promise<void> {
    this.#closing.abort()
    const stop = new AbortController()
    const ended = async () => {
      const left = () => [...this.#running].filter(each => !this.#waitedFor.has(each))
      while (left().length > 0) await Promise.allSettled(left())
    }
    await Promise.race([
      ended(),
      this.#parts.clock.sleep(closeWaitMs, stop.signal, 'the end of what is under way'),
    ])
    stop.abort()
    this.#over.abort()
    await Promise.allSettled(this.#answering)
    this.#emitter.removeAllListeners()
  }
}

function addTo<T>(known: Record<string, T>, more: Readonly<Record<string, T>>): void {
  for (const [name, one] of Object.entries(more)) {
    if (Object.hasOwn(known, name)) throw new TypeError(`Two areas register "${name}"`)
    known[name] = one
  }
}
