import type { Event } from '../message.ts'
import { type Decision, refuse } from './machine.ts'

/** The answer to a command about somebody who was erased. */
export function refuseErased(): Decision<never> {
  return refuse('its data subject was erased', 'SUBJECT_ERASED')
}

/** What a fact makes that arrives after the erasure of whom it concerns: it is recorded, and owes nothing. */
export function afterErasure<E extends Event>(decision: Decision<E>): Decision<E> {
  if ('refused' in decision) return decision
  return {
    events: decision.events.map(event => {
      const { effects: _, ...bare } = event
      return { ...bare, anomaly: event.anomaly ?? 'its data subject had been erased' } as E // The same, owing nothing.
    }),
  }
}
