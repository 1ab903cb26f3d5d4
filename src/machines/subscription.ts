import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Carried, Event, Instant, Message } from '../message.ts'
import { defineMachine } from './define-machine.ts'
import { type Decision, type Machine, record, refuse } from './machine.ts'

// Events

/** What we want the portal to hold. The secrets themselves are asked of the host when they are sent. */
export interface Desired {
  readonly evento: string
  readonly endpoint: string
}

export type SubscriptionEvent =
  /** Always the first. */
  | Event<'subscription.declared', Desired & { subscription: string }>
  | Event<'subscription.registrationRequested' | 'subscription.changeRequested', { endpoint: string }>
  | Event<'subscription.registered', { remoteId: number; how: 'created' | 'adopted'; endpoint: string }>
  | Event<'subscription.changed', { endpoint: string }>
  | Event<'subscription.drifted', { endpoint: string; areSecretsOurs: boolean }>
  | Event<'subscription.deletionRequested', unknown>
  /** Its part `reason`, where the portal gave one, holds its text. */
  | Event<'subscription.deleted', { by: 'us' | 'portal'; deletedAt: Instant | null }>
  | Event<'subscription.declined', { operation: string; httpStatus: number; code: string | null }>
  | Event<'subscription.lost', { operation: string }>
  /** The portal shows it as it was before a change or deletion whose answer was lost. */
  | Event<'subscription.confirmed', unknown>
  /** A delivery failed; its part `failure` holds the portal's record of it, content included. */
  | Event<'subscription.failing', Failing>
  | Event<'subscription.recovered', { lastSuccessAt: Instant }>

interface Failing {
  /** Our id of the failure record, and the portal's. */
  readonly failure: string
  readonly remoteId: number
  readonly failedAt: Instant | null
  readonly evento: string
}

// Commands, and facts from outside

/** One row of the portal's list, without its secrets. */
export interface SubscriptionReading {
  readonly remoteId: number
  readonly endpoint: string
  readonly areSecretsOurs: boolean
  readonly isDeleted: boolean
  readonly deletedAt: Instant | null
  readonly lastSuccessAt: Instant | null
}

export type SubscriptionMessage =
  | Message<'subscription.declare', Desired & { subscription: string }>
  | Message<'subscription.register' | 'subscription.change', { endpoint: string }>
  | Message<'subscription.delete', unknown>
  | Message<'subscription.adopt' | 'subscription.observe', SubscriptionReading>
  | Message<'subscription.miss', unknown>
  | Message<'subscription.observeFailure', Failing>
  | Message<'portal.subscribed', { remoteId: number; endpoint: string }>
  | Message<'portal.subscriptionChanged', { endpoint: string }>
  | Message<'portal.subscriptionDeleted', unknown>
  | Message<'portal.declined', { operation: string; httpStatus: number; code: string | null }>
  | Message<'portal.lost', { operation: string }>

// Effects

function effect(verb: string, context: Context, endpoint = context.endpoint) {
  const { evento, remoteId } = context
  return { type: `portal.${verb}`, data: { evento, endpoint, ...(remoteId !== null && { remoteId }) } }
}

const listSubscriptions = { type: 'portal.listSubscriptions', data: {} }

// Chart

interface Context {
  readonly evento: string
  readonly endpoint: string
  readonly remoteId: number | null
  /** The endpoint that a change asked for. */
  readonly asked: string
  /** The portal's ids of the failure records that are in the log. */
  readonly failures: readonly number[]
  readonly lastFailureAt: Instant | null
}

const chart = setup({
  types: { context: {} as Context, events: {} as SubscriptionEvent },
  guards: {
    isByUs: ({ event }) => event.type === 'subscription.deleted' && event.data.by === 'us',
  },
  actions: { keep: assign(({ context, event }) => contextAfter(context, event)) },
}).createMachine({
  id: 'subscription',
  context: { evento: '', endpoint: '', asked: '', remoteId: null, failures: [], lastFailureAt: null },
  initial: 'absent',
  on: {
    'subscription.deleted': [
      { guard: 'isByUs', target: '.deleted.byUs', actions: 'keep' },
      { target: '.deleted.byPortal', actions: 'keep' },
    ],
    'subscription.failing': { actions: 'keep' },
  },
  states: {
    absent: { on: { 'subscription.declared': { target: 'declared', actions: 'keep' } } },
    declared: {
      on: {
        'subscription.registrationRequested': 'registering',
        'subscription.registered': { target: 'active', actions: 'keep' },
      },
    },
    registering: {
      initial: 'asked',
      on: {
        'subscription.registered': { target: 'active', actions: 'keep' },
        'subscription.declined': 'declared',
      },
      states: { asked: { on: { 'subscription.lost': 'uncertain' } }, uncertain: {} },
    },
    active: {
      initial: 'healthy',
      on: {
        'subscription.changeRequested': { target: 'changing', actions: 'keep' },
        'subscription.deletionRequested': 'deleting',
        'subscription.drifted': { actions: 'keep' },
      },
      states: {
        healthy: { on: { 'subscription.failing': { target: 'failing', actions: 'keep' } } },
        failing: {
          on: { 'subscription.recovered': 'healthy', 'subscription.failing': { actions: 'keep' } },
        },
      },
    },
    changing: {
      initial: 'asked',
      on: {
        'subscription.changed': { target: 'active', actions: 'keep' },
        'subscription.declined': 'active',
        'subscription.confirmed': 'active',
      },
      states: { asked: { on: { 'subscription.lost': 'uncertain' } }, uncertain: {} },
    },
    deleting: {
      initial: 'asked',
      on: { 'subscription.declined': 'active', 'subscription.confirmed': 'active' },
      states: { asked: { on: { 'subscription.lost': 'uncertain' } }, uncertain: {} },
    },
    deleted: {
      initial: 'byUs',
      on: {
        // Return from deleted is not shown: a new registration gets a new id.
        'subscription.registrationRequested': 'registering',
        'subscription.registered': { target: 'active', actions: 'keep' },
      },
      states: { byUs: {}, byPortal: {} },
    },
  },
})

function contextAfter(context: Context, event: SubscriptionEvent): Partial<Context> {
  switch (event.type) {
    case 'subscription.declared':
      return { evento: event.data.evento, endpoint: event.data.endpoint }
    case 'subscription.registered':
      return { remoteId: event.data.remoteId, endpoint: event.data.endpoint, lastFailureAt: null }
    case 'subscription.changeRequested':
      return { asked: event.data.endpoint }
    case 'subscription.changed':
    case 'subscription.drifted':
      return { endpoint: event.data.endpoint }
    case 'subscription.failing':
      return {
        failures: [...context.failures, event.data.remoteId],
        lastFailureAt: event.data.failedAt ?? context.lastFailureAt,
      }
    case 'subscription.deleted':
      return { remoteId: null }
    default:
      return {}
  }
}

// Decide

type State = SnapshotFrom<typeof chart>

function decide(state: State, message: Carried<SubscriptionMessage>): Decision<SubscriptionEvent> {
  const { context } = state
  switch (message.type) {
    case 'subscription.declare':
      return state.matches('absent')
        ? record({ type: 'subscription.declared', data: message.data })
        : record()
    case 'subscription.register':
      return register(state, message.data.endpoint)
    case 'subscription.change': {
      if (!state.matches('active')) return refuse('only an active subscription can be changed')
      const effects = [effect('changeSubscription', context, message.data.endpoint)]
      return record({ type: 'subscription.changeRequested', data: message.data, effects })
    }
    case 'subscription.delete': {
      if (!state.matches('active')) return refuse('only an active subscription can be deleted')
      const effects = [effect('deleteSubscription', context)]
      return record({ type: 'subscription.deletionRequested', data: {}, effects })
    }
    case 'subscription.adopt': {
      const { remoteId, endpoint } = message.data
      if (context.remoteId === remoteId || message.isStale) return record()
      if (state.matches('active')) return refuse('it is registered under another id')
      const data = { remoteId, endpoint, how: 'adopted' } as const
      return record({
        type: 'subscription.registered',
        data,
        ...(isUncertain(state) && resolution('settled')),
      })
    }
    case 'subscription.observe':
      return { events: message.isStale ? [] : observe(state, message.data) }
    case 'subscription.miss':
      return { events: message.isStale ? [] : miss(state) }
    case 'subscription.observeFailure':
      if (context.failures.includes(message.data.remoteId)) return record()
      return record({ type: 'subscription.failing', data: message.data })
    case 'portal.subscribed':
      return record({ type: 'subscription.registered', data: { ...message.data, how: 'created' } })
    case 'portal.subscriptionChanged':
      return record({ type: 'subscription.changed', data: message.data })
    case 'portal.subscriptionDeleted':
      return record({ type: 'subscription.deleted', data: { by: 'us', deletedAt: null } })
    case 'portal.declined':
      return record({ type: 'subscription.declined', data: message.data })
    case 'portal.lost':
      // What became of it is found by listing, before anything else is done.
      return record({ type: 'subscription.lost', data: message.data, effects: [listSubscriptions] })
  }
}

function register(state: State, endpoint: string): Decision<SubscriptionEvent> {
  if (isUncertain(state)) return refuse('it may be registered already: list first')
  if (!state.matches('declared') && !state.matches('deleted'))
    return refuse('it is registered, or about to be')
  return record({
    type: 'subscription.registrationRequested',
    data: { endpoint },
    effects: [effect('subscribe', state.context, endpoint)],
  })
}

/** The portal's list, deleted ones included, does not show it. */
function miss(state: State): SubscriptionEvent[] {
  if (isUncertain(state)) {
    const data = { operation: 'subscribe', httpStatus: 0, code: 'NOT_DONE' }
    return [{ type: 'subscription.declined', data, ...resolution('declined') }]
  }
  if (state.context.remoteId === null) return []
  const anomaly = 'the portal lists it neither as active nor as deleted'
  return [{ type: 'subscription.deleted', data: { by: 'portal', deletedAt: null }, anomaly }]
}

function isUncertain(state: State): boolean {
  return state.matches({ registering: 'uncertain' })
}

/** Ends the call whose answer was lost. */
function resolution(as: 'settled' | 'declined', verb = 'subscribe'): Pick<Event, 'resolves'> {
  return { resolves: { effect: `portal.${verb}`, as } }
}

/** What the portal's list adds to what we hold. */
function observe(state: State, shown: SubscriptionReading): SubscriptionEvent[] {
  const { context } = state
  if (shown.remoteId !== context.remoteId) return []
  if (shown.isDeleted) {
    const by = state.matches('deleting') ? 'us' : 'portal'
    const ends = state.matches({ deleting: 'uncertain' }) && resolution('settled', 'deleteSubscription')
    return [{ type: 'subscription.deleted', data: { by, deletedAt: shown.deletedAt }, ...ends }]
  }
  if (state.matches({ deleting: 'uncertain' })) {
    return [{ type: 'subscription.confirmed', data: {}, ...resolution('declined', 'deleteSubscription') }]
  }
  if (state.matches({ changing: 'uncertain' })) return [changedOrNot(context, shown)]
  return [...drift(state, shown), ...recovery(state, shown)]
}

/** A change whose answer was lost was made when the portal shows what was asked for. */
function changedOrNot(
  { asked }: Context,
  { endpoint, areSecretsOurs }: SubscriptionReading,
): SubscriptionEvent {
  const isDone = endpoint === asked && areSecretsOurs
  const ends = resolution(isDone ? 'settled' : 'declined', 'changeSubscription')
  return isDone
    ? { type: 'subscription.changed', data: { endpoint }, ...ends }
    : { type: 'subscription.confirmed', data: {}, ...ends }
}

function drift(state: State, { endpoint, areSecretsOurs }: SubscriptionReading): SubscriptionEvent[] {
  if (!state.matches('active') || (endpoint === state.context.endpoint && areSecretsOurs)) return []
  return [{ type: 'subscription.drifted', data: { endpoint, areSecretsOurs } }]
}

function recovery(state: State, { lastSuccessAt }: SubscriptionReading): SubscriptionEvent[] {
  const isAfterFailure = lastSuccessAt !== null && lastSuccessAt > (state.context.lastFailureAt ?? '')
  if (!state.matches({ active: 'failing' }) || !isAfterFailure) return []
  return [{ type: 'subscription.recovered', data: { lastSuccessAt } }]
}

/** A subscription to one event, as we want the portal to notify us (document 3). */
export const subscriptionMachine: Machine = defineMachine({ name: 'subscription', version: 1, chart, decide })
