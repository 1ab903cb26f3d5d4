import type { Engine } from '../engine/engine.ts'
import { readTrace } from '../engine/performing/attempt-trace.ts'
import type { DecisionRequest } from '../engine/recording/decisions.ts'
import type { RequestContext } from '../engine/recording/recorder.ts'
import { type CommandResult, erasedCommandError } from '../engine/recording/repeated-command.ts'
import { type Clock, cancelReason } from '../runtime/clock.ts'
import type { Actor, Basis, Json, PendingEffect, Problem } from '../vocabulary/message.ts'
import { checkKnownNames } from '../vocabulary/names.ts'
import type { CommandOptions, Outcome } from '../vocabulary/outcome.ts'
import type { Attributes, Tracing } from '../vocabulary/tracing.ts'
import { checkActor, checkBasis, checkId, checkMs } from './arguments.ts'
import { type LogStore, openAs, type Recorded } from './events.ts'

/** How long a caller waits for an outcome by default. */
export const defaultWaitMs = 30_000

/** The outcome of a call whose data subject was erased before the call was sent. */
const erasedProblem: Problem = {
  status: 0,
  code: 'SUBJECT_ERASED',
  title: 'The data subject was erased before it was sent',
}

/** The outcome of a call that another command replaced before it was sent. */
const withdrawnProblem: Problem = {
  status: 0,
  code: 'WITHDRAWN',
  title: 'Another command replaced it before it was sent',
}

const commandOptionNames = ['commandId', 'actor', 'basis', 'correlationId', 'waitMs', 'signal'] as const

/** What a command id identifies: the API method that was called or the type of the message, with its input. */
type CommandInput = ({ readonly method: string } | { readonly type: string }) & {
  readonly [key: string]: Json
}

/** Sends commands for every area of the API: records the intention, performs the effect, returns the outcome. */
export class Commands {
  readonly #engine: Engine
  readonly #store: LogStore
  readonly #clock: Clock
  readonly #defaults: { readonly actor?: Actor; readonly basis?: Basis }
  readonly #tracing: Tracing

  constructor(
    engine: Engine,
    store: LogStore,
    clock: Clock,
    defaults: { actor?: Actor; basis?: Basis },
    tracing: Tracing,
  ) {
    this.#engine = engine
    this.#store = store
    this.#clock = clock
    this.#defaults = defaults
    this.#tracing = tracing
  }

  record(
    input: CommandInput,
    createRequest: () => Promise<DecisionRequest>,
    commandOptions: CommandOptions = {},
  ): Promise<CommandResult> {
    return this.#traced(input, () => this.#engine.handle(input, createRequest, this.#requestContext(commandOptions)))
  }

  /**
   * Records a command, performs its effect and waits for it. A command without an effect is settled by its event.
   *
   * @param input what the command id identifies
   * @param value reads the value of a settled effect, given the event that ended it
   */
  send<T>(
    input: CommandInput,
    createRequest: () => Promise<DecisionRequest>,
    commandOptions: CommandOptions,
    value: (ended: Recorded) => Promise<T>,
  ): Promise<Outcome<T>> {
    return this.#traced(input, async (): Promise<Outcome<T>> => {
      const about = this.#requestContext(commandOptions)
      const { position, effect, replayed, isOfErased } = await this.#engine.handle(input, createRequest, about)
      if (effect === '') {
        const decided = await this.#eventAt(position)
        return { position, effect, replayed, status: 'settled', value: await value(decided) }
      }
      return this.#engine.answer(async over => {
        const pending =
          (await this.wait(until => this.#perform(effect, until), commandOptions, over)) ??
          (await this.#store.effect(effect))
        if (!pending) throw new TypeError(`The command has no effect "${effect}"`)
        if (isOfErased) throw erasedCommandError(about.commandId ?? '', await this.#finalStatus(pending))
        return { position, effect, replayed, ...(await this.#toOutcome(pending, value)) }
      })
    })
  }

  /** Runs a host's command in a span of its own, with its name and outcome but nothing of its input. */
  #traced<R extends CommandResult | Outcome<unknown>>(input: CommandInput, work: () => Promise<R>): Promise<R> {
    const method = String(input.method ?? input.type)
    const traced = async (end: (more: Attributes) => void) => {
      const result = await work()
      const outcome = 'status' in result ? result.status : 'recorded'
      end({ 'averba.outcome': outcome, 'averba.replayed': result.replayed })
      return result
    }
    return this.#engine.admit(() =>
      this.#tracing.span('internal', `averba ${method}`, { 'averba.method': method }, traced),
    )
  }

  /**
   * Performs an effect and returns its state. When the outcome is unknown, or was declined against what we know, it
   * also performs the pending reading that finds out.
   */
  async #perform(id: string, until: AbortSignal): Promise<PendingEffect | undefined> {
    await this.#engine.perform(id, until)
    const pending = await this.#store.effect(id)
    if (pending?.state !== 'unknown' && pending?.state !== 'declined') return pending
    const probes = await this.#store.effects({ stream: pending.stream, states: ['pending'] })
    const isOfEnd = (probe: PendingEffect) => pending.state === 'unknown' || probe.position === pending.settledAt
    for (const probe of probes.filter(isOfEnd)) await this.#engine.perform(probe.id, until)
    return this.#store.effect(id)
  }

  /** Waits for work up to the caller's `waitMs` or signal, and at most until the log closes. Then its signal aborts. */
  async wait<T>(
    work: (until: AbortSignal) => Promise<T>,
    { waitMs = defaultWaitMs, signal }: CommandOptions,
    over?: AbortSignal,
  ): Promise<T | undefined> {
    // What fails stays in the ledger.
    if (waitMs === 0) return void work(AbortSignal.abort(cancelReason)).catch(() => undefined)
    const done = new AbortController()
    const until = AbortSignal.any([signal, over, done.signal].filter(each => each !== undefined))
    const timeout = this.#clock.sleep(waitMs, until, 'the wait of a caller')
    return Promise.race([work(until), timeout.then(() => undefined)]).finally(() => done.abort(cancelReason))
  }

  async #toOutcome<T>(pending: PendingEffect, value: (ended: Recorded) => Promise<T>) {
    switch (pending.state) {
      case 'pending':
      case 'started':
      // It continues when an operator retries it.
      case 'parked':
        return { status: 'pending' } as const
      case 'deferred':
        return { status: 'deferred', retryAt: pending.dueAt, reason: pending.reason } as const
      case 'unknown':
        return {
          status: 'unknown',
          next: this.#engine.classOf(pending.type) === 'probed' ? 'probe' : 'person',
        } as const
      case 'cancelled':
        if (await this.#isWithdrawn(pending)) return { status: 'declined', problem: withdrawnProblem } as const
        if (await this.#mayHaveLeft(pending)) return { status: 'unknown', next: 'person' } as const
        return { status: 'declined', problem: erasedProblem } as const
      case 'declined':
        return {
          status: 'declined',
          problem: await this.#openProblem(await this.#endingEvent(pending)),
        } as const
      case 'settled':
        return { status: 'settled', value: await value(await this.#endingEvent(pending)) } as const
    }
  }

  /** How the call of an erased person ended, without its destroyed value; `undefined` while it has not ended. */
  async #finalStatus(pending: PendingEffect): Promise<'settled' | 'declined' | 'unknown' | undefined> {
    const { status } = await this.#toOutcome(pending, async () => undefined)
    return status === 'pending' || status === 'deferred' ? undefined : status
  }

  async #isWithdrawn(pending: PendingEffect): Promise<boolean> {
    return (await this.#endingEvent(pending)).type === 'effect.withdrawn'
  }

  /**
   * Whether a call was under way when it was cancelled: an attempt had begun and did not report that it did nothing.
   */
  async #mayHaveLeft(pending: PendingEffect): Promise<boolean> {
    if (this.#engine.classOf(pending.type) === 'read') return false
    const { settledAt = 0 } = pending
    // A restored log does not know what happened after the backup.
    const isCancelledSince = !this.#store.isFromBeforeRestore({ position: settledAt })
    if (this.#store.isFromBeforeRestore(pending) && isCancelledSince) return true
    return (await readTrace(this.#store, pending)).isInProgress
  }

  async #endingEvent(pending: PendingEffect): Promise<Recorded> {
    if (pending.settledAt === undefined) throw new TypeError(`The effect "${pending.id}" has not ended`)
    return this.#eventAt(pending.settledAt)
  }

  async #eventAt(position: number): Promise<Recorded> {
    const event = await this.#store.readAt(position)
    if (!event) throw new TypeError(`There is no event at ${position}`)
    return event
  }

  /** Opens the problem sealed with the event. A reading that resolved an unknown outcome has no problem. */
  async #openProblem(event: Recorded): Promise<Problem> {
    const problem = await openAs(this.#store, 'problem', `${event.id}/problem`)
    if (problem === undefined) return { status: 0, code: 'NOT_DONE', title: 'A reading showed that it was not done' }
    return problem
  }

  /** Checks all options, `waitMs` included, before anything is recorded. */
  #requestContext(commandOptions: CommandOptions): RequestContext {
    checkKnownNames(commandOptions, commandOptionNames, { noun: 'option' })
    const { commandId, actor, basis, correlationId, waitMs } = commandOptions
    if (waitMs !== undefined) checkMs(waitMs, 'waitMs')
    if (commandId !== undefined) checkId(commandId, 'command id')
    if (correlationId !== undefined) checkId(correlationId, 'correlation id')
    const by = actor ?? this.#defaults.actor
    const on = basis ?? this.#defaults.basis
    if (by) checkActor(by)
    if (on) checkBasis(on)
    return {
      ...(commandId !== undefined && { commandId }),
      ...(by && { actor: { kind: by.kind, ref: by.ref } }),
      ...(on && { basis: { purpose: on.purpose, legalBasis: on.legalBasis } }),
      ...(correlationId !== undefined && { correlationId }),
    }
  }
}
