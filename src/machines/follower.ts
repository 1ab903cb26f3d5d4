import { setup } from 'xstate'
import type { Event, Message } from '../vocabulary/message.ts'
import { defineMachine } from './definition/define-machine.ts'
import { type Machine, record } from './definition/machine.ts'

interface SkippedEvent {
  readonly follower: string
  readonly position: number
  readonly reason: string
}

/** A person lets a parked follower skip an event. Recorded before the follower continues. */
export type FollowerEvent = Event<'follower.skipRequested', SkippedEvent>

type FollowerMessage = Message<'follower.skip', SkippedEvent>

const chart = setup({ types: { events: {} as FollowerEvent } }).createMachine({
  id: 'follower',
  initial: 'known',
  states: { known: { on: { 'follower.skipRequested': {} } } },
})

function decide(_: unknown, { data }: FollowerMessage) {
  return record({ type: 'follower.skipRequested', data } as const)
}

/** Records which events followers skipped by a person's decision; the event's `actor` is that person. */
export const followerMachine: Machine = defineMachine({ name: 'follower', version: 1, chart, decide })
