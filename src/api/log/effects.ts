import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import { refusal } from '../../engine/recording/recorder.ts'
import { type AsyncList, listedBy } from '../../runtime/lazy-list.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import { type EffectState, effectStates, type PendingEffect } from '../../vocabulary/message.ts'
import { effectStream } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { checkOneOf } from '../arguments.ts'

/** The calls owed to the outside. Each stands in the ledger until it has ended. */
export interface Effects {
  /** One call owed to the outside, by the id that an outcome gives. */
  get(id: string): Promise<PendingEffect | undefined>
  /**
   * The calls owed to the outside, the oldest first; of one state when given.
   *
   * @throws {AverbaError} `INVALID_INPUT` for an unknown state
   */
  list(filter?: { state?: EffectState }): AsyncList<PendingEffect>
  /**
   * Lets a call go that is parked or put off: it is due at once, and its attempts are counted anew. `run` or `settle`
   * performs it. Recorded with its actor.
   *
   * @throws {AverbaError} `NOT_FOUND`; `REFUSED` when it has ended, is under way, or was perhaps done: what is in
   * doubt is never repeated by this
   */
  retry(id: string, commandOptions?: CommandOptions): Promise<void>
  /**
   * Holds a call that has not left, until `retry`. Recorded with its actor.
   *
   * @throws {AverbaError} `NOT_FOUND`; `REFUSED` when it has ended, is under way, is parked already, or was perhaps
   * done
   */
  park(id: string, commandOptions?: CommandOptions): Promise<void>
}

const pageRows = 100
const heldByOperator = 'an operator holds it'

/** Makes the area `effects`. */
export function createEffects({ engine, store, commands }: ApiContext): Effects {
  /** Moves an effect and records it; `from` names the states in which it may be. */
  async function move(
    id: string,
    verb: 'retry' | 'park',
    from: readonly EffectState[],
    commandOptions: CommandOptions = {},
  ): Promise<void> {
    const deliver = async (): Promise<DecisionRequest> => {
      const pending = await store.effect(id)
      if (!pending) throw unknownCall(verb)
      if (!from.includes(pending.state))
        throw refusal(whyNot(pending, engine.classOf(pending.type) === 'probed'))
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
          to: isParking ? 'parked' : 'owed',
          from,
          attempts,
          // What is held keeps its time; what is released is due now.
          dueAt: isParking ? pending.dueAt : toInstant(engine.now()),
          reason: isParking ? heldByOperator : '',
        },
      }
    }
    await commands.record({ method: `effects.${verb}`, id }, deliver, commandOptions)
  }

  async function* pagesOf(state: EffectState | undefined) {
    if (state !== undefined) checkOneOf(state, effectStates, 'state of a call')
    for (let after: PendingEffect | undefined; ; ) {
      const filter = {
        withDamaged: true,
        limit: pageRows,
        ...(state && { states: [state] }),
        ...(after && { after }),
      }
      const page: PendingEffect[] = await store.effects(filter)
      if (page.length > 0) yield page
      if (page.length < pageRows) return
      after = page.at(-1)
    }
  }

  return {
    get: id => store.effect(id),
    list: ({ state } = {}) => listedBy(() => pagesOf(state)),
    retry: (id, commandOptions) => move(id, 'retry', ['parked', 'deferred'], commandOptions),
    park: (id, commandOptions) => move(id, 'park', ['owed', 'deferred'], commandOptions),
  }
}

function unknownCall(verb: string): AverbaError {
  return new AverbaError('NOT_FOUND', `Cannot ${verb} the call: nothing is owed under this id`, {
    hint: 'Give the id that effects.list has, or an outcome as its effect',
  })
}

function whyNot({ state }: PendingEffect, isProbed: boolean): string {
  switch (state) {
    case 'unknown':
      return isProbed
        ? 'it was perhaps done: the reading that it owes will tell'
        : 'it was perhaps done, and is never repeated by itself: a person decides'
    case 'started':
      return 'it is under way'
    case 'settled':
    case 'declined':
    case 'cancelled':
      return 'it has ended'
    case 'parked':
      return 'it is parked'
    case 'owed':
    case 'deferred':
      return 'it goes by itself'
  }
}
