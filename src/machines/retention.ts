import { setup } from 'xstate'
import type { Event, Message } from '../vocabulary/message.ts'
import { defineMachine } from './definition/define-machine.ts'
import { type Decision, type Machine, record } from './definition/machine.ts'

/** The parts that were destroyed when their retention period ended, each as `<position>/<name>`. */
interface RetentionApplied {
  readonly kind: string
  readonly rule: string
  readonly parts: readonly string[]
}

/** Recorded in the transaction that destroys the parts. */
export type RetentionEvent = Event<'retention.applied', RetentionApplied>

type RetentionMessage = Message<'retention.apply', RetentionApplied>

const chart = setup({ types: { events: {} as RetentionEvent } }).createMachine({
  id: 'retention',
  initial: 'unapplied',
  states: {
    unapplied: { on: { 'retention.applied': 'applied' } },
    applied: {},
  },
})

function decide(_: unknown, message: RetentionMessage): Decision<RetentionEvent> {
  return record({ type: 'retention.applied', data: message.data })
}

/** Records which parts retention destroyed. */
export const retentionMachine: Machine = defineMachine({ name: 'retention', version: 1, chart, decide })
