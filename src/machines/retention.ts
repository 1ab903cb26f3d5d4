import type { Event, Message } from '../vocabulary/message.ts'
import { defineDecider, record } from './definition/define-machine.ts'

/** The parts that were destroyed when their retention period ended, each as `<position>/<name>`. */
interface RetentionApplied {
  readonly kind: string
  readonly rule: string
  readonly parts: readonly string[]
}

/** Recorded in the transaction that destroys the parts. */
export type RetentionEvent = Event<'retention.applied', RetentionApplied>

type RetentionMessage = Message<'retention.apply', RetentionApplied>

export const retentionMachine = defineDecider({
  name: 'retention',
  description: 'The parts that were destroyed when their retention period ended.',
  version: 1,
  initial: null,
  evolve: state => state,
  decide: (_, { data }: RetentionMessage) => record<RetentionEvent>({ type: 'retention.applied', data }),
  commands: { 'retention.apply': ['retention.applied'] },
})
