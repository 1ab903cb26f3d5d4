import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import { refusalError } from '../../engine/recording/recorder.ts'
import { type AsyncList, lazyList } from '../../runtime/lazy-list.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import { type EffectState, effectStates, type PendingEffect } from '../../vocabulary/message.ts'
import { effectStream } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import { type ApiContext, effectPages, readEvents } from '../api-context.ts'
import { checkOneOf } from '../arguments.ts'
import { openAs } from '../events.ts'
import { findUnreadAnswer, misunderstood, type UnreadAnswer } from '../unread-answer.ts'

/** The calls to services. Each is in the ledger until it has ended. */
export interface Effects {
  /** Gets one call by the id in an outcome, with the last answer to it that was not understood. */
  get(id: string): Promise<CallDetail | undefined>
  /**
   * Lists the calls, oldest first, optionally of one state.
   *
   * @throws {AverbaError} `INVALID_INPUT` for an unknown state
   */
  list(filter?: { state?: EffectState }): AsyncList<PendingEffect>
  /**
   * Releases a parked or deferred call: it is due at once, with its attempts counted from 0. Recorded with its actor.
   *
   * @throws {AverbaError} `NOT_FOUND`; `REFUSED` when it has ended, is under way, or may have been done: a call in
   * doubt is never repeated
   */
  retry(id: string, commandOptions?: CommandOptions): Promise<void>
  /**
   * Parks an unsent call until `retry`. Recorded with its actor.
   *
   * @throws {AverbaError} `NOT_FOUND`; `REFUSED` when it has ended, is under way, is already parked, or may have been
   * done
   */
  park(id: string, commandOptions?: CommandOptions): Promise<void>
}

/** A call, and what is known of the last answer to it that was not understood. */
export interface CallDetail extends PendingEffect {
  readonly unread?: UnreadAnswer
}

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

/** Creates the `effects` area. */
export function createEffects({ engine, store, commands }: ApiContext): Effects {
  function readUnread(pending: PendingEffect): Promise<UnreadAnswer | undefined> {
    const last = { stream: effectStream(pending), types: misunderstood, backward: true }
    return findUnreadAnswer(readEvents(store, last), address => openAs(store, 'answer', address))
  }

  /** Changes the state of an effect and records it; `from` lists the allowed states. */
  async function changeState(
    id: string,
    verb: 'retry' | 'park',
    from: readonly EffectState[],
    commandOptions: CommandOptions = {},
  ): Promise<void> {
    const createRequest = async (): Promise<DecisionRequest> => {
      const pending = await store.effect(id)
      if (!pending) {
        const hint = 'Give an id of effects.list, or the effect of an outcome'
        throw new AverbaError('NOT_FOUND', `Cannot ${verb} the call: no call has this id`, { hint })
      }
      if (!from.includes(pending.state)) {
        const isProbed = pending.state === 'unknown' && engine.classOf(pending.type) === 'probed'
        throw refusalError(isProbed ? probedReason : refusalReasons[pending.state])
      }
      const { type, attempts } = pending
      const isParking = verb === 'park'
      const data = {
        effect: id,
        type,
        ...(isParking && { attempts, reason: pending.reason || heldByOperator }),
      }
      return {
        targets: [{ stream: effectStream(pending), message: { type: `effect.${verb}`, data } }],
        moves: {
          effect: id,
          to: isParking ? 'parked' : 'pending',
          from,
          attempts,
          // A parked call keeps its time; a released one is due now.
          dueAt: isParking ? pending.dueAt : toInstant(engine.now()),
          reason: isParking ? heldByOperator : '',
        },
      }
    }
    await commands.record({ method: `effects.${verb}`, id }, createRequest, commandOptions)
  }

  return {
    async get(id) {
      const found = await store.effect(id)
      const unread = found && (await readUnread(found))
      return found && { ...found, ...(unread && { unread }) }
    },
    list: ({ state } = {}) =>
      lazyList(async function* () {
        if (state !== undefined) checkOneOf(state, effectStates, 'state of a call')
        yield* effectPages(store, state && [state])
      }),
    retry: (id, commandOptions) => changeState(id, 'retry', ['parked', 'deferred'], commandOptions),
    park: (id, commandOptions) => changeState(id, 'park', ['pending', 'deferred'], commandOptions),
  }
}
