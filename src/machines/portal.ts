import { type SnapshotFrom, setup } from 'xstate'
import type { Event, Instant, Message } from '../message.ts'
import { defineMachine } from './define-machine.ts'
import { type Decision, type Machine, record } from './machine.ts'

// Events

export type PortalEvent =
  | Event<'portal.listRequested', unknown>
  /** Its part `list` holds the subscriptions as listed, secrets taken out. */
  | Event<'portal.listed', Listed>
  /** `day` is a day in Brasilia, `yyyy-MM-dd`; null asks for the portal's today. */
  | Event<'portal.failuresRequested', { day: string | null }>
  /** Its part `answered` says which records the portal's answer had. */
  | Event<'portal.failuresListed', { read: number; unreadable: number }>
  /** A failed delivery of an event that none of our subscriptions names; its part `failure` holds it. */
  | Event<'portal.foreignFailure', ForeignFailure>
  | Event<'portal.readDeclined', { operation: string; httpStatus: number }>

interface Listed {
  readonly active: number
  readonly deleted: number
  readonly unreadable: number
}

interface ForeignFailure {
  readonly failure: string
  readonly evento: string
  readonly failedAt: Instant | null
}

// Commands, and facts from outside

export type PortalMessage =
  | Message<'portal.list', unknown>
  | Message<'portal.listFailures', { day: string | null }>
  | Message<'portal.observeForeignFailure', ForeignFailure>
  | Message<'portal.subscriptionsListed', Listed>
  | Message<'portal.failuresListed', { read: number; unreadable: number }>
  | Message<'portal.declined', { operation: string; httpStatus: number }>

// Chart

const chart = setup({ types: { events: {} as PortalEvent } }).createMachine({
  id: 'portal',
  initial: 'unread',
  states: {
    unread: { on: { 'portal.listed': 'read', 'portal.failuresListed': 'read' } },
    read: {},
  },
})

// Decide

function decide(_: SnapshotFrom<typeof chart>, message: PortalMessage): Decision<PortalEvent> {
  switch (message.type) {
    case 'portal.list':
      return record({
        type: 'portal.listRequested',
        data: {},
        effects: [{ type: 'portal.listSubscriptions', data: {} }],
      })
    case 'portal.listFailures':
      return record({
        type: 'portal.failuresRequested',
        data: message.data,
        effects: [{ type: 'portal.listFailures', data: message.data }],
      })
    case 'portal.observeForeignFailure':
      return record({ type: 'portal.foreignFailure', data: message.data })
    case 'portal.subscriptionsListed':
      return record({ type: 'portal.listed', data: message.data })
    case 'portal.failuresListed':
      return record({ type: 'portal.failuresListed', data: message.data })
    case 'portal.declined': {
      const { operation, httpStatus } = message.data
      return record({ type: 'portal.readDeclined', data: { operation, httpStatus } })
    }
  }
}

/** Our account at the portal: what was read of it as a whole, beside the single subscriptions. */
export const portalMachine: Machine = defineMachine({ name: 'portal', version: 1, chart, decide })
