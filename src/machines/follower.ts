import type { Event, Message } from '../vocabulary/message.ts'
import { defineDecider, record } from './definition/define-machine.ts'

interface FailedEvent {
  readonly follower: string
  readonly position: number
  readonly reason: string
}

/** A person lets a parked follower go on. Recorded before it does. */
export type FollowerEvent =
  /** It tries the event that failed again. */
  | Event<'follower.retryRequested', FailedEvent>
  /** It skips the event that failed. */
  | Event<'follower.skipRequested', FailedEvent>

type FollowerMessage = Message<'follower.retry', FailedEvent> | Message<'follower.skip', FailedEvent>

/** Records what persons decided about events that followers failed at; the event's `actor` is that person. */
export const followerMachine = defineDecider({
  name: 'follower',
  description: 'The events that a parked follower tries again or skips, because a person decided so.',
  version: 1,
  initial: null,
  evolve: state => state,
  decide: (_, { type, data }: FollowerMessage) => record<FollowerEvent>({ type: `${type}Requested`, data }),
  commands: { 'follower.retry': ['follower.retryRequested'], 'follower.skip': ['follower.skipRequested'] },
})
