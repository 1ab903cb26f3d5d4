import { type SnapshotFrom, setup } from 'xstate'
import type { Event, Message, PartAddress } from '../vocabulary/message.ts'
import { defineMachine } from './definition/define-machine.ts'
import { type Decision, type Machine, record, refuse } from './definition/machine.ts'

/** Which parts were decrypted for a host, their owners, and the purpose. */
export interface RevealedParts {
  readonly parts: readonly PartAddress[]
  readonly owners: readonly string[]
  readonly purpose: string
  /** The record's keys were disclosed, so others can decrypt the parts. */
  readonly isDisclosed?: true
}

/** The only event of the stream, recorded before anything is decrypted. */
export type RevealEvent = Event<'reveal.recorded', RevealedParts>

type RevealMessage = Message<'reveal.record', RevealedParts>

const chart = setup({ types: { events: {} as RevealEvent } }).createMachine({
  id: 'reveal',
  initial: 'absent',
  states: { absent: { on: { 'reveal.recorded': 'recorded' } }, recorded: {} },
})

function decide(state: SnapshotFrom<typeof chart>, message: RevealMessage): Decision<RevealEvent> {
  if (!state.matches('absent')) return refuse('it was recorded before')
  return record({ type: 'reveal.recorded', data: message.data })
}

/** Records that parts were decrypted for a host; the event's `actor` requested it. */
export const revealMachine: Machine = defineMachine({ name: 'reveal', version: 1, chart, decide })
