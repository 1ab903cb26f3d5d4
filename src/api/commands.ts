import type { Engine } from '../engine/engine.ts'
import { readTrace } from '../engine/performing/attempt-trace.ts'
import type { DecisionRequest } from '../engine/recording/decisions.ts'
import { type CommandResult, erasedCommandError, type RequestContext } from '../engine/recording/recorder.ts'
import { type Clock, cancelReason } from '../runtime/clock.ts'
import { toInstant } from '../vocabulary/instant.ts'
import {
  type Actor,
  type Basis,
  type Json,
  type PendingEffect,
  type Problem,
  withdrawnProblem,
} from '../vocabulary/message.ts'
import { checkKnownNames } from '../vocabulary/names.ts'
import type { CommandOptions, Outcome } from '../vocabulary/outcome.ts'
import type { Attributes, Tracing } from '../vocabulary/tracing.ts'
import { checkActor, checkBasis, checkId, checkMs, checkSignal } from './arguments.ts'
import { type LogStore, openAs, type Recorded } from './events.ts'

export const defaultWaitMs = 30_000

const erasedProblem: Problem = {
  status: 0,
  code: 'SUBJECT_ERASED',
  title: 'The data subject was erased before it was sent',
}

const commandOptionNames = ['commandId', 'actor', 'basis', 'correlationId', 'waitMs', 'signal'] as const

/** What a command id identifies: the API method that was called or the type of the message, with its input. */
type CommandInput = ({ readonly method: string } | { readonly type: string }) & {
  readonly [key: string]: Json
}

/** What became of a command, for each member of the union. */
type EndedBy<T, O = Outcome<T>> = O extends unknown ? Omit<O, 'position' | 'effect' | 'replayed'> : never

interface CommandContext {
  readonly engine: Engine
  readonly store: LogStore
  readonly clock: Clock
  readonly tracing: Tracing
}

/** Sends commands for every area of the API: records the intention, performs the effect, returns the outcome. */
export type Commands = ReturnType<typeof createCommands>

export function createCommands(
  { engine, store, clock, tracing }: CommandContext,
  defaults: { actor?: Actor; basis?: Basis },
) {
  function record(
    input: CommandInput,
    createRequest: () => Promise<DecisionRequest>,
    commandOptions: CommandOptions = {},
  ): Promise<CommandResult> {
    return traced(input, () => engine.handle(input, createRequest, requestContext(commandOptions)))
  }

  /**
   * Records a command, performs its effect and waits for it.
   *
   * @param input what the command id identifies
   * @param value reads the value of a settled effect, given the event that ended it
   * @param withoutEffect what a command that has no effect ends with: its event settles it unless this says otherwise
   */
  function send<T>(
    input: CommandInput,
    createRequest: () => Promise<DecisionRequest>,
    commandOptions: CommandOptions,
    value: (ended: Recorded) => Promise<T>,
    withoutEffect: (decided: Recorded) => Promise<EndedBy<T>> = async decided => ({
      status: 'settled',
      value: await value(decided),
    }),
  ): Promise<Outcome<T>> {
    return traced(input, async (): Promise<Outcome<T>> => {
      const about = requestContext(commandOptions)
      const { position, effect, replayed, isOfErased } = await engine.handle(input, createRequest, about)
      if (effect === '') return { position, effect, replayed, ...(await withoutEffect(await eventAt(position))) }
      return engine.answer(async over => {
        const pending =
          (await wait(until => perform(effect, until), commandOptions, over)) ?? (await store.effect(effect))
        if (!pending) throw new TypeError(`The command has no effect "${effect}"`)
        if (isOfErased) throw erasedCommandError(about.commandId ?? '', await finalStatus(pending))
        return { position, effect, replayed, ...(await toOutcome(pending, value)) }
      })
    })
  }

  /** Runs a host's command in a span of its own, with its name and outcome but nothing of its input. */
  function traced<R extends CommandResult | Outcome<unknown>>(input: CommandInput, work: () => Promise<R>): Promise<R> {
    const method = String(input.method ?? input.type)
    const run = async (end: (more: Attributes) => void) => {
      const result = await work()
      const outcome = 'status' in result ? result.status : 'recorded'
      end({ 'averba.outcome': outcome, 'averba.replayed': result.replayed })
      return result
    }
    return engine.admit(() => tracing.span('internal', `averba ${method}`, { 'averba.method': method }, run))
  }

  /** Performs an effect, and the reading that finds out an unknown or declined outcome. Returns its state. */
  async function perform(id: string, until: AbortSignal): Promise<PendingEffect | undefined> {
    await engine.perform(id, until)
    const pending = await store.effect(id)
    if (pending?.state !== 'unknown' && pending?.state !== 'declined') return pending
    const probes = await store.effects({ stream: pending.stream, states: ['pending'] })
    const { settledAt = 0 } = pending
    const isOfEnd = ({ type, position }: PendingEffect) =>
      engine.classOf(type) === 'read' && (pending.state === 'unknown' || position >= settledAt)
    for (const probe of probes.filter(isOfEnd)) await engine.perform(probe.id, until)
    return store.effect(id)
  }

  /** Waits for work up to the caller's `waitMs` or signal, and at most until the log closes. Then its signal aborts. */
  async function wait<T>(
    work: (until: AbortSignal) => Promise<T>,
    { waitMs = defaultWaitMs, signal }: CommandOptions,
    over?: AbortSignal,
  ): Promise<T | undefined> {
    // What fails stays in the ledger.
    if (waitMs === 0) return void work(AbortSignal.abort(cancelReason)).catch(() => undefined)
    const done = new AbortController()
    const until = AbortSignal.any([signal, over, done.signal].filter(each => each !== undefined))
    const timeout = clock.sleep(waitMs, until, 'the wait of a caller')
    return Promise.race([work(until), timeout.then(() => undefined)]).finally(() => done.abort(cancelReason))
  }

  async function toOutcome<T>(pending: PendingEffect, value: (ended: Recorded) => Promise<T>) {
    switch (pending.state) {
      case 'pending':
      case 'started':
      // It continues when an operator retries it.
      case 'parked':
        return { status: 'pending' } as const
      case 'deferred':
        return { status: 'deferred', retryAt: pending.dueAt ?? toInstant(clock.now()), reason: pending.reason } as const
      case 'unknown':
        return { status: 'unknown', next: engine.classOf(pending.type) === 'probed' ? 'probe' : 'person' } as const
      case 'cancelled':
        if ((await endingEvent(pending)).type === 'effect.withdrawn')
          return { status: 'declined', problem: withdrawnProblem } as const
        if (await mayHaveLeft(pending)) return { status: 'unknown', next: 'person' } as const
        return { status: 'declined', problem: erasedProblem } as const
      case 'declined':
        return { status: 'declined', problem: await openProblem(await endingEvent(pending)) } as const
      case 'settled':
        return { status: 'settled', value: await value(await endingEvent(pending)) } as const
    }
  }

  /** How the call of an erased person ended, without its destroyed value; `undefined` while it has not ended. */
  async function finalStatus(pending: PendingEffect): Promise<'settled' | 'declined' | 'unknown' | undefined> {
    const { status } = await toOutcome(pending, async () => undefined)
    return status === 'pending' || status === 'deferred' ? undefined : status
  }

  /** Whether a cancelled call was under way: an attempt had begun, and did not report that it did nothing. */
  async function mayHaveLeft(pending: PendingEffect): Promise<boolean> {
    if (engine.classOf(pending.type) === 'read') return false
    const { settledAt = 0 } = pending
    // A restored log does not know what happened after the backup.
    const isCancelledSince = !store.isFromBeforeRestore({ position: settledAt })
    if (store.isFromBeforeRestore(pending) && isCancelledSince) return true
    return (await readTrace(store, pending)).isInProgress
  }

  async function endingEvent(pending: PendingEffect): Promise<Recorded> {
    if (pending.settledAt === undefined) throw new TypeError(`The effect "${pending.id}" has not ended`)
    return eventAt(pending.settledAt)
  }

  async function eventAt(position: number): Promise<Recorded> {
    const event = await store.readAt(position)
    if (!event) throw new TypeError(`There is no event at ${position}`)
    return event
  }

  /** Opens the problem sealed with the event. A reading that resolved an unknown outcome has no problem. */
  async function openProblem(event: Recorded): Promise<Problem> {
    const problem = await openAs(store, 'problem', `${event.id}/problem`)
    if (problem === undefined) return { status: 0, code: 'NOT_DONE', title: 'A reading showed that it was not done' }
    return problem
  }

  /** Checks all options, `waitMs` included, before anything is recorded. */
  function requestContext(commandOptions: CommandOptions): RequestContext {
    checkKnownNames(commandOptions, commandOptionNames, { noun: 'option', more: ', and those of the method' })
    const { commandId, actor, basis, correlationId, waitMs, signal } = commandOptions
    if (signal !== undefined) checkSignal(signal)
    if (waitMs !== undefined) checkMs(waitMs, 'waitMs')
    if (commandId !== undefined) checkId(commandId, 'command id')
    if (correlationId !== undefined) checkId(correlationId, 'correlation id')
    const by = actor ?? defaults.actor
    const on = basis ?? defaults.basis
    if (by) checkActor(by)
    if (on) checkBasis(on)
    return {
      ...(commandId !== undefined && { commandId }),
      ...(by && { actor: { kind: by.kind, ref: by.ref } }),
      ...(on && { basis: { purpose: on.purpose, legalBasis: on.legalBasis } }),
      ...(correlationId !== undefined && { correlationId }),
    }
  }

  return { record, send, wait }
}
