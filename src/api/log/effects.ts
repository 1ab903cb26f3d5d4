import type { Delivery } from '../../engine/recording/decisions.ts'
import { refusal } from '../../engine/recording/recorder.ts'
import { type Listed, listedBy } from '../../runtime/lazy-list.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import { type EffectState, effectStates, type Owed } from '../../vocabulary/message.ts'
import { effectStream } from '../../vocabulary/names.ts'
import type { Ask } from '../../vocabulary/outcome.ts'
import type { Area } from '../area.ts'
import { checkOneOf } from '../arguments.ts'

/** The calls owed to the outside. Each stands in the ledger until it has ended. */
export interface Effects {
  /** One call owed to the outside, by the id that an outcome gives. */
  get(id: string): Promise<Owed | undefined>
  /**
   * The calls owed to the outside, the oldest first; of one state when given.
   *
   * @throws {AverbaError} `INVALID_INPUT` for an unknown state
   */
  list(filter?: { state?: EffectState }): Listed<Owed>
  /**
   * Lets a call go that is parked or put off: it is due at once, and its attempts are counted anew. `run` or `settle`
   * performs it. Recorded with its actor.
   *
   * @throws {AverbaError} `NOT_FOUND`; `REFUSED` when it has ended, is under way, or was perhaps done: what is in
   * doubt is never repeated by this
   */
  retry(id: string, ask?: Ask): Promise<void>
  /**
   * Holds a call that has not left, until `retry`. Recorded with its actor.
   *
   * @throws {AverbaError} `NOT_FOUND`; `REFUSED` when it has ended, is under way, is parked already, or was perhaps
   * done
   */
  park(id: string, ask?: Ask): Promise<void>
}

const pageRows = 100
const heldByOperator = 'an operator holds it'

/** Makes the area `effects`. */
export function createEffects({ engine, store, commands }: Area): Effects {
  /** Moves an effect and records it; `from` names the states in which it may be. */
  async function move(
    id: string,
    verb: 'retry' | 'park',
    from: readonly EffectState[],
    ask: Ask = {},
  ): Promise<void> {
    const deliver = async (): Promise<Delivery> => {
      const owed = await store.effect(id)
      if (!owed) throw unknownCall(verb)
      if (!from.includes(owed.state)) throw refusal(whyNot(owed, engine.classOf(owed.type) === 'probed'))
      const { type, attempts } = owed
      const isParking = verb === 'park'
      const data = {
        effect: id,
        type,
        ...(isParking && { attempts, because: owed.because || heldByOperator }),
      }
      return {
        targets: [{ stream: effectStream(owed), message: { type: `effect.${verb}`, data } }],
        moves: {
          effect: id,
          to: isParking ? 'parked' : 'owed',
          from,
          attempts,
          // What is held keeps its time; what is released is due now.
          dueAt: isParking ? owed.dueAt : toInstant(engine.now()),
          because: isParking ? heldByOperator : '',
        },
      }
    }
    await commands.record({ method: `effects.${verb}`, id }, deliver, ask)
  }

  async function* pagesOf(state: EffectState | undefined) {
    if (state !== undefined) checkOneOf(state, effectStates, 'state of a call')
    for (let after: Owed | undefined; ; ) {
      const filter = {
        withDamaged: true,
        limit: pageRows,
        ...(state && { states: [state] }),
        ...(after && { after }),
      }
      const page: Owed[] = await store.effects(filter)
      if (page.length > 0) yield page
      if (page.length < pageRows) return
      after = page.at(-1)
    }
  }

  return {
    get: id => store.effect(id),
    list: ({ state } = {}) => listedBy(() => pagesOf(state)),
    retry: (id, ask) => move(id, 'retry', ['parked', 'deferred'], ask),
    park: (id, ask) => move(id, 'park', ['owed', 'deferred'], ask),
  }
}

function unknownCall(verb: string): AverbaError {
  return new AverbaError('NOT_FOUND', `Cannot ${verb} the call: nothing is owed under this id`, {
    hint: 'Give the id that effects.list has, or an outcome as its effect',
  })
}

function whyNot({ state }: Owed, isProbed: boolean): string {
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
