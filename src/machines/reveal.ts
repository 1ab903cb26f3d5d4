import { type SnapshotFrom, setup } from 'xstate'
import type { Event, Message, PartAddress } from '../vocabulary/message.ts'
import { defineMachine } from './definition/define-machine.ts'
import { type Decision, type Machine, record, refuse } from './definition/machine.ts'

// Events

/** Which parts were opened for a host, whose they are, and what for. */
export interface RevealedParts {
  readonly parts: readonly PartAddress[]
  readonly owners: readonly string[]
  readonly purpose: string
  /** The keys of the record were given away, with which others can open the parts. */
  readonly isDisclosed?: true
}

/** The first and only: it stands in the log before anything is opened. */
export type RevealEvent = Event<'reveal.recorded', RevealedParts>

// Commands

type RevealMessage = Message<'reveal.record', RevealedParts>

// Chart

const chart = setup({ types: { events: {} as RevealEvent } }).createMachine({
  id: 'reveal',
  initial: 'absent',
  states: { absent: { on: { 'reveal.recorded': 'recorded' } }, recorded: {} },
})

// Decide

function decide(state: SnapshotFrom<typeof chart>, message: RevealMessage): Decision<RevealEvent> {
  if (!state.matches('absent')) return refuse('it was recorded before')
  return record({ type: 'reveal.recorded', data: message.data })
}

/** An opening of sealed parts on a host's behalf: who asked for it stands in the event's `actor`. */
export const revealMachine: Machine = defineMachine({ name: 'reveal', version: 1, chart, decide })
