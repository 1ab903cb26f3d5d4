import type { Event, Message } from '../../vocabulary/message.ts'
import { type Decision, record, refuse } from './machine.ts'

/** Refuses a command about an erased data subject. */
export function refuseErased(): Decision<never> {
  return refuse('its data subject was erased', 'SUBJECT_ERASED')
}

/** Decides about an erased data subject: refuses, ignores, or records without effects. */
export function decideErased<E extends Event>(
  { type }: Message,
  how: Readonly<Record<string, 'refused' | 'passed over' | undefined>>,
  decide: () => Decision<E>,
): Decision<E> {
  if (how[type] === 'refused') return refuseErased()
  return how[type] === 'passed over' ? record() : withoutEffects(decide())
}

function withoutEffects<E extends Event>(decision: Decision<E>): Decision<E> {
  if ('refused' in decision) return decision
  return {
    events: decision.events.map(event => {
      const { effects: _, ...bare } = event
      return { ...bare, anomaly: event.anomaly ?? 'its data subject had been erased' } as E // Without its effects.
    }),
  }
}
