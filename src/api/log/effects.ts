import { readTrace } from '../../engine/performing/attempt-trace.ts'
import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import { refusalError } from '../../engine/recording/recorder.ts'
import { type AsyncList, lazyList } from '../../runtime/lazy-list.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import {
  type EffectState,
  effectStates,
  type Instant,
  openStates,
  type PendingEffect,
  unsentStates,
  type Waiting,
} from '../../vocabulary/message.ts'
import { checkKnownNames, effectStream, serviceOf } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import { type ApiContext, effectPages, readEvents } from '../api-context.ts'
import { checkCallId, checkOneOf } from '../arguments.ts'
import { resolveKnownAt } from '../as-of.ts'
import { openAs } from '../events.ts'
import { findUnreadAnswer, misunderstood, type UnreadAnswer } from '../unread-answer.ts'
import { readPastCalls } from './past-calls.ts'

/** The calls to services. Each is in the ledger until it has ended. */
export interface Effects {
  /** Gets one call by the id in an outcome, with the last answer to it that was not understood. */
  get(id: string): Promise<CallDetail | undefined>
  /**
   * Lists the calls: all, those of one state, or those that have not ended (`open`). The oldest first, but those of a
   * state that has ended the newest first. With `knownAt`, a position or an instant, as they were known then: rebuilt
   * from the log, which lacks some attempts, such as those at readings, and words for some reasons: one that has ended
   * names the event that recorded it.
   *
   * @throws {AverbaError} `INVALID_INPUT` for an unknown state or a future moment
   */
  list(filter?: { state?: EffectState | 'open'; knownAt?: Instant | number | undefined }): AsyncList<Call>
  /**
   * Releases a parked or deferred call: it is due at once, with its attempts counted from 0. Recorded with its actor.
   *
   * @throws {AverbaError} `NOT_FOUND`; `REFUSED` when it has ended, is under way, or in doubt: that is never repeated
   */
  retry(id: string, commandOptions?: CommandOptions): Promise<void>
  /**
   * Parks an unsent call until `retry`. Recorded with its actor.
   *
   * @throws {AverbaError} `NOT_FOUND`; `REFUSED` when it has ended, is under way or parked, or may have been done
   */
  park(id: string, commandOptions?: CommandOptions): Promise<void>
  /**
   * Gives up a call that was not done: an approval, a validation, or a change of a subscription. It is never sent and
   * `cancelled`; its outcome is `declined`, `WITHDRAWN`. Recorded with its actor.
   *
   * @throws {AverbaError} `NOT_FOUND`; `REFUSED` when it has ended, is under way, or may have been done, for a reading,
   * for a denial or revocation (see `consents.withdrawEnd`), and where its service is not configured
   */
  withdraw(id: string, commandOptions?: CommandOptions): Promise<void>
}

/** A call in the ledger. */
export interface Call extends PendingEffect {
  /** Only of a call that has not ended. */
  readonly waiting?: Waiting
}

/** A call, and what is known of the last answer to it that was not understood. */
export interface CallDetail extends Call {
  readonly unread?: UnreadAnswer
}

/** The only call whose outcome nothing but a person can find out. */
const paidCall = 'validationService.validatePerson'

const restoredReason = 'it may have been done: the log was restored since, and does not know'
const heldByOperator = 'parked by an operator'

/** Why an operator cannot change the state of a call. */
const refusalReasons: Readonly<Record<EffectState, string>> = {
  unknown: 'it may have been done and is not repeated automatically: a person has to decide',
  started: 'it is under way',
  settled: 'it has ended',
  declined: 'it has ended',
  cancelled: 'it has ended',
  parked: 'it is already parked',
  pending: 'it will be sent automatically',
  deferred: 'it will be sent automatically',
}
const probedReason = 'it may have been done: a pending reading will show it'

export function createEffects({ clock, engine, store, commands }: ApiContext): Effects {
  /** Describes what calls wait for, or waited for then. Looks once which due calls are left to other processes. */
  function describeWaiting(pastMs?: number): (pending: PendingEffect) => Promise<Call> {
    const isNow = pastMs === undefined
    let left: Promise<readonly string[]> | undefined
    const isLeft = async ({ id, type }: PendingEffect) => {
      if (!isNow) return false
      left ??= engine.listLeftToOthers()
      return engine.classOf(type) === undefined || (await left).includes(id)
    }
    let pauses: Promise<ReadonlyMap<string, Instant>> | undefined
    return async pending => {
      const reason = await findReason(pending, pastMs ?? clock.now(), isLeft)
      if (reason === undefined) return pending
      if (reason === 'process' && isNow) pauses ??= store.rates.pauses()
      const pausedUntil = reason === 'process' ? (await pauses)?.get(serviceOf(pending.type)) : undefined
      const until = pausedUntil ?? (reason === 'time' ? (pending.dueAt ?? null) : null)
      const waiting = { for: pausedUntil ? 'time' : reason, until, actions: isNow ? actionsFor(pending) : [] } as const
      const isUnsaid = pausedUntil !== undefined && pending.reason === ''
      return { ...pending, waiting, ...(isUnsaid && { reason: 'its service asked for a pause' }) }
    }
  }

  async function findReason(
    pending: PendingEffect,
    now: number,
    isLeft: (pending: PendingEffect) => Promise<boolean>,
  ): Promise<Waiting['for'] | undefined> {
    const { state, type, dueAt, isDamaged } = pending
    if (!openStates.includes(state)) return undefined
    if (isDamaged) return 'repair'
    if (state === 'started') return 'answer'
    if (state === 'parked') return 'release'
    if (state === 'unknown' && type === paidCall) return 'person'
    if (dueAt !== undefined && fromInstant(dueAt) > now) return 'time'
    if (await isLeft(pending)) return 'otherProcess'
    return state === 'unknown' ? 'reading' : 'process'
  }

  function actionsFor(pending: PendingEffect): Waiting['actions'] {
    const { state, type, isDamaged } = pending
    if (isDamaged) return []
    if (state === 'unknown') return type === paidCall ? ['resolve'] : []
    if (!unsentStates.includes(state)) return []
    const canBeWithdrawn = engine.withdrawnFact(pending, false) !== undefined && !store.isFromBeforeRestore(pending)
    return [
      ...(state === 'pending' ? [] : (['retry'] as const)),
      ...(state === 'parked' || serviceOf(type) === 'keys' ? [] : (['park'] as const)),
      ...(canBeWithdrawn ? (['withdraw'] as const) : []),
    ]
  }

  function readUnread(pending: PendingEffect): Promise<UnreadAnswer | undefined> {
    const last = { stream: effectStream(pending), types: misunderstood, backward: true }
    return findUnreadAnswer(readEvents(store, last), address => openAs(store, 'answer', address))
  }

  async function find(id: string, verb: 'retry' | 'park' | 'withdraw'): Promise<PendingEffect> {
    checkCallId(id)
    const pending = await store.effect(id)
    if (pending) return pending
    const hint = 'Give an id of effects.list, or the effect of an outcome'
    throw new AverbaError('NOT_FOUND', `Cannot ${verb} the call: no call has this id`, { hint })
  }

  function refuseState({ state, type }: PendingEffect): AverbaError {
    const isProbed = state === 'unknown' && engine.classOf(type) === 'probed'
    return refusalError(isProbed ? probedReason : refusalReasons[state])
  }

  async function changeState(
    id: string,
    verb: 'retry' | 'park',
    from: readonly EffectState[],
    commandOptions: CommandOptions = {},
  ): Promise<void> {
    const createRequest = async (): Promise<DecisionRequest> => {
      const pending = await find(id, verb)
      if (!from.includes(pending.state)) throw refuseState(pending)
      const { type, attempts } = pending
      const isParking = verb === 'park'
      // Released, it would be made at once: before the backups that need these keys are gone.
      if (isParking && serviceOf(type) === 'keys')
        throw refusalError('it destroys keys at its time, and is part of an erasure')
      const data = { effect: id, type, ...(isParking && { attempts, reason: pending.reason || heldByOperator }) }
      return {
        targets: [{ stream: effectStream(pending), message: { type: `effect.${verb}`, data } }],
        moves: {
          effect: id,
          to: isParking ? 'parked' : 'pending',
          from,
          attempts,
          ...(!isParking && { dueAt: toInstant(clock.now()) }),
          reason: isParking ? heldByOperator : '',
        },
      }
    }
    await commands.record({ method: `effects.${verb}`, id }, createRequest, commandOptions)
  }

  function notWithdrawnReason({ type, data }: PendingEffect): string {
    if (type === 'consentService.changeStatus' && Object(data).status !== 'ATIVO')
      return 'a denial or revocation is given up by consents.withdrawEnd only, with a reason'
    return engine.classOf(type) === 'read'
      ? 'a reading is never given up: it changes nothing'
      : 'its service is not configured in this process'
  }

  async function withdraw(id: string, commandOptions: CommandOptions = {}): Promise<void> {
    const createRequest = async (): Promise<DecisionRequest> => {
      const pending = await find(id, 'withdraw')
      const { state, type, stream } = pending
      if (!unsentStates.includes(state)) throw refuseState(pending)
      if (store.isFromBeforeRestore(pending)) throw refusalError(restoredReason)
      const { wasAnswered } = await readTrace(store, pending)
      const fact = engine.withdrawnFact(pending, wasAnswered)
      if (fact === undefined) throw refusalError(notWithdrawnReason(pending))
      const ref = { effect: id, type }
      return {
        targets: [
          { stream: effectStream(pending), message: { type: 'effect.withdraw', data: ref } },
          { stream, message: fact },
        ],
        // An attempt may begin meanwhile, also of another process.
        cancelsFrom: unsentStates,
      }
    }
    await commands.record({ method: 'effects.withdraw', id }, createRequest, commandOptions)
  }

  return {
    async get(id) {
      checkCallId(id)
      const found = await store.effect(id)
      const unread = found && (await readUnread(found))
      return found && { ...(await describeWaiting()(found)), ...(unread && { unread }) }
    },
    list: (filter = {}) =>
      lazyList(async function* () {
        checkKnownNames(filter, ['state', 'knownAt'], { noun: 'member', of: 'the filter' })
        const { state, knownAt } = filter
        if (state !== undefined) checkOneOf(state, [...effectStates, 'open'], 'state of a call')
        const states = state === 'open' ? openStates : state && [state]
        const past = knownAt === undefined ? undefined : await resolveKnownAt({ store, clock }, knownAt)
        const describe = describeWaiting(past && fromInstant(past.at))
        const pages = past ? [await readPastCalls(store, past.position, states)] : effectPages(store, states)
        for await (const page of pages) yield Promise.all(page.map(describe))
      }),
    withdraw,
    retry: (id, commandOptions) => changeState(id, 'retry', ['parked', 'deferred'], commandOptions),
    park: (id, commandOptions) => changeState(id, 'park', ['pending', 'deferred'], commandOptions),
  }
}
