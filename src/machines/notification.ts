import { type SnapshotFrom, setup } from 'xstate'
import type { Event, Message } from '../message.ts'
import { defineMachine } from './define-machine.ts'
import { type Decision, type Machine, record } from './machine.ts'

// Events

/** How the recipient was named: a person, the representatives of a company, or a public body. */
export interface Received {
  readonly notification: string
  readonly evento: string
  /** Null when the portal named none of the three kinds. */
  readonly recipientKind: 'CPF' | 'CNPJ' | 'ORGAO' | null
  readonly bodyBytes: number
}

export type NotificationEvent =
  /** Always the first: its part `body` holds the bytes, its part `recipient` who was addressed. */
  | Event<'notification.received', Received>
  /** The same content for the same recipient came again within the window. */
  | Event<'notification.copied', unknown>

// Facts from outside

export type NotificationMessage = Message<'portal.notified', Received>

// Chart

const chart = setup({ types: { events: {} as NotificationEvent } }).createMachine({
  id: 'notification',
  initial: 'absent',
  states: {
    absent: { on: { 'notification.received': 'received' } },
    received: {},
  },
})

// Decide

function decide(
  state: SnapshotFrom<typeof chart>,
  message: NotificationMessage,
): Decision<NotificationEvent> {
  if (state.matches('absent')) return record({ type: 'notification.received', data: message.data })
  return record({ type: 'notification.copied', data: {} })
}

/** A notification that the portal sent (document 3, section 6): stored before it is acknowledged. */
export const notificationMachine: Machine = defineMachine({ name: 'notification', version: 1, chart, decide })
