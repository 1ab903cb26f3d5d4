import type { Event, Message } from '../vocabulary/message.ts'
import { defineDecider, record } from './definition/define-machine.ts'

interface SkippedEvent {
  readonly follower: string
  readonly position: number
  readonly reason: string
}

/** A person lets a parked follower skip an event. Recorded before the follower continues. */
export type FollowerEvent = Event<'follower.skipRequested', SkippedEvent>

type FollowerMessage = Message<'follower.skip', SkippedEvent>

/** Records which events followers skipped by a person's decision; the event's `actor` is that person. */
export const followerMachine = defineDecider({
  name: 'follower',
  description: 'The events that a parked follower skips, because a person decided so.',
  version: 1,
  initial: null,
  evolve: state => state,
  decide: (_, { data }: FollowerMessage) => record<FollowerEvent>({ type: 'follower.skipRequested', data }),
  commands: { 'follower.skip': ['follower.skipRequested'] },
})
