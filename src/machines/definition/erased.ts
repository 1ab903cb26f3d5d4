import type { Event, Message } from '../../vocabulary/message.ts'
import { type Decision, record, refuse } from './machine.ts'

/** The answer to a command about somebody who was erased. */
export function refuseErased(): Decision<never> {
  return refuse('its data subject was erased', 'SUBJECT_ERASED')
}

/**
 * Decides about somebody who was erased: commands are refused, some messages are ignored, and any other is recorded and
 * owes nothing.
 */
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
      return { ...bare, anomaly: event.anomaly ?? 'its data subject had been erased' } as E // The same, owing nothing.
    }),
  }
}
