import type { Event, Message } from '../vocabulary/message.ts'
import { defineDecider, record } from './definition/define-machine.ts'

/** A follower, its next event, and why that failed; empty when it did not. */
interface NextEvent {
  readonly follower: string
  readonly position: number
  readonly reason: string
}

/** What a person decided about a follower. Recorded before it is done. */
export type FollowerEvent =
  /** It tries the event that failed again. */
  | Event<'follower.retryRequested', NextEvent>
  /** It skips the event that failed. */
  | Event<'follower.skipRequested', NextEvent>
  /** It is forgotten: no process runs it any longer. */
  | Event<'follower.removeRequested', NextEvent>

type FollowerMessage = Message<'follower.retry' | 'follower.skip' | 'follower.remove', NextEvent>

/** Records what persons decided about followers; the event's `actor` is that person. */
export const followerMachine = defineDecider({
  name: 'follower',
  description: 'What persons decided about followers: that a parked one goes on, or that one is removed.',
  version: 1,
  initial: null,
  evolve: state => state,
  decide: (_, { type, data }: FollowerMessage) => record<FollowerEvent>({ type: `${type}Requested`, data }),
  commands: {
    'follower.retry': ['follower.retryRequested'],
    'follower.skip': ['follower.skipRequested'],
    'follower.remove': ['follower.removeRequested'],
  },
})
