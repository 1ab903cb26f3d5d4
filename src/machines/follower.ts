import { setup } from 'xstate'
import type { Event, Message } from '../vocabulary/message.ts'
import { defineMachine } from './definition/define-machine.ts'
import { type Machine, record } from './definition/machine.ts'

// Events

interface SkippedEvent {
  readonly follower: string
  /** The event that it has not done. */
  readonly position: number
  /** Why it was parked before it. */
  readonly reason: string
}

/** A person has a parked follower go on past an event: it stands in the log before the follower moves. */
export type FollowerEvent = Event<'follower.skipRequested', SkippedEvent>

// Commands

type FollowerMessage = Message<'follower.skip', SkippedEvent>

// Chart

const chart = setup({ types: { events: {} as FollowerEvent } }).createMachine({
  id: 'follower',
  initial: 'known',
  states: { known: { on: { 'follower.skipRequested': {} } } },
})

// Decide

function decide(_: unknown, { data }: FollowerMessage) {
  return record({ type: 'follower.skipRequested', data } as const)
}

/** What followers of the log have not done, by a person's decision: who decided stands in the event's `actor`. */
export const followerMachine: Machine = defineMachine({ name: 'follower', version: 1, chart, decide })
