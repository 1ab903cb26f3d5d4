import type { MessageWithParts } from '../../vocabulary/message.ts'
import { defineMachine, record } from '../definition/define-machine.ts'
import type { Recording } from '../definition/machine.ts'
import { chart, pickEndpoint, type SubscriptionContext, type SubscriptionState } from './chart.ts'
import { endCall, findKnownOutcome, findUncertainCall } from './doubt.ts'
import type { AdoptMessage, HeldEndpoint, SubscriptionEvent, SubscriptionMessage } from './messages.ts'
import { eventsIfMissing, eventsOfReading, healthEventsOfReading } from './readings.ts'

export type { SubscriptionEvent } from './messages.ts'

function portalCall(verb: string, { evento, remoteId }: SubscriptionContext, held: HeldEndpoint) {
  return { type: `portal.${verb}`, data: { evento, ...held, ...(remoteId !== null && { remoteId }) } }
}

const listSubscriptions = { type: 'portal.listSubscriptions', data: {} }

function decide(
  state: SubscriptionState,
  message: MessageWithParts<SubscriptionMessage>,
): Recording<SubscriptionEvent> {
  const { context } = state
  const { generation } = context
  switch (message.type) {
    case 'subscription.declare':
      if (!state.matches({ registration: 'absent' })) return record()
      return record({ type: 'subscription.declared', data: message.data })
    case 'subscription.register':
      return record(requestRegistration(context, message.data))
    case 'subscription.change':
      return record(requestChange(context, 'changeRequested', { ...message.data, generation }))
    case 'subscription.rotate':
      return record(requestChange(context, 'rotationRequested', { ...message.data, generation: generation + 1 }))
    case 'subscription.delete': {
      const effects = [portalCall('deleteSubscription', context, pickEndpoint(context))]
      return record({ type: 'subscription.deletionRequested', data: {}, effects })
    }
    case 'subscription.adopt':
    case 'subscription.takeOver':
      if (context.remoteId === message.data.remoteId || message.isStale) return record()
      return record(...adopt(state, message))
    case 'subscription.observe':
      return {
        events: message.isStale ? healthEventsOfReading(state, message.data) : eventsOfReading(state, message.data),
      }
    case 'subscription.miss':
      return { events: message.isStale ? [] : eventsIfMissing(state) }
    case 'subscription.observeFailure':
      return record({ type: 'subscription.failing', data: message.data })
    case 'subscription.recoverFailure':
      return record({ type: 'subscription.failureRecovered', data: message.data })
    case 'portal.subscribed':
      return record({ type: 'subscription.registered', data: { ...message.data, how: 'created' } })
    case 'portal.subscriptionChanged':
      return record({ type: 'subscription.changed', data: message.data })
    case 'portal.subscriptionDeleted':
      return record({ type: 'subscription.deleted', data: { ...message.data, by: 'us', deletedAt: null } })
    case 'portal.declined':
      return record({ type: 'subscription.declined', data: message.data })
    case 'portal.lost': {
      // Requests a list to find out the outcome, unless one has already shown it.
      const follows = findKnownOutcome(state, message.data) ?? { effects: [listSubscriptions] }
      return record({ type: 'subscription.lost', data: message.data, ...follows })
    }
  }
}

function requestRegistration(
  context: SubscriptionContext,
  { endpoint, follows = false }: { endpoint: string; follows?: boolean },
): SubscriptionEvent {
  const held = { endpoint, generation: context.generation }
  // After a former registration, failures need a date to tell which one they belong to.
  const isSecond = follows || context.formerId !== null
  const { type, data } = portalCall('subscribe', context, held)
  const effects = [{ type, data: { ...data, ...(isSecond && { follows: true }) } }]
  return { type: 'subscription.registrationRequested', data: held, effects }
}

/**
 * Requests another endpoint or new secrets. Sends every field: the contract does not say what omitting one means. A
 * rotation requests new secrets only: other differences at the portal are changed by a plan that a person has read.
 */
function requestChange(
  context: SubscriptionContext,
  verb: 'changeRequested' | 'rotationRequested',
  asked: HeldEndpoint,
): SubscriptionEvent {
  const effects = [portalCall('changeSubscription', context, asked)]
  return { type: `subscription.${verb}`, data: asked, effects }
}

/** Makes a listed registration ours, without a request. One that is taken over is known to have other secrets. */
function adopt(state: SubscriptionState, { type, data: shown }: AdoptMessage): SubscriptionEvent[] {
  const { remoteId, evento, endpoint, generation, lastSuccessAt, registeredAt } = shown
  const how = type === 'subscription.takeOver' ? 'takenOver' : 'adopted'
  const held = { endpoint, generation: generation ?? state.context.generation }
  const times = { ...(lastSuccessAt && { lastSuccessAt }), ...(registeredAt && { registeredAt }) }
  const data = { remoteId, ...held, how, ...times } as const
  const ended = findUncertainCall(state) === 'subscribe' && endCall('subscribe', true)
  const registered = { type: 'subscription.registered', data, ...ended } as const
  if (generation !== null || how === 'takenOver') return [registered]
  return [registered, { type: 'subscription.drifted', data: { evento, endpoint, generation } }]
}

const changes = ['portal.changeSubscription']

/** A subscription to one event at the portal (document 3). */
export const subscriptionMachine = defineMachine({
  name: 'subscription',
  version: 1,
  chart,
  decide,
  // Results of deliveries do not make a list stale: otherwise no list would count on a day with failures.
  silent: [
    'subscription.failing',
    'subscription.failureRecovered',
    'subscription.recovered',
    'subscription.threatened',
    'subscription.delivered',
    'subscription.dated',
  ],
  commands: {
    'subscription.declare': ['subscription.declared'],
    'subscription.register': ['subscription.registrationRequested'],
    'subscription.change': ['subscription.changeRequested'],
    'subscription.rotate': ['subscription.rotationRequested'],
    'subscription.delete': ['subscription.deletionRequested'],
    'subscription.adopt': [
      { event: 'subscription.registered', if: { how: 'adopted' } },
      { event: 'subscription.drifted', if: { generation: null } },
    ],
    'subscription.takeOver': [{ event: 'subscription.registered', if: { how: 'takenOver' } }],
  },
  facts: {
    'subscription.observe': [
      ...(['subscription.deleted', 'subscription.reappeared', 'subscription.drifted'] as const),
      ...(['subscription.changeNotMade', 'subscription.changed'] as const),
      ...(['subscription.recovered', 'subscription.threatened'] as const),
      ...(['subscription.delivered', 'subscription.dated'] as const),
    ],
    'subscription.miss': [
      { event: 'subscription.declined', if: { operation: 'subscribe' } },
      { event: 'subscription.deleted', if: { by: 'portal' } },
    ],
    'subscription.observeFailure': ['subscription.failing'],
    'subscription.recoverFailure': ['subscription.failureRecovered'],
    'portal.subscribed': [{ event: 'subscription.registered', if: { how: 'created' } }],
    'portal.subscriptionChanged': ['subscription.changed'],
    'portal.subscriptionDeleted': [{ event: 'subscription.deleted', if: { by: 'us' } }],
    'portal.declined': ['subscription.declined'],
    'portal.lost': ['subscription.lost'],
  },
  effects: {
    'subscription.registrationRequested': ['portal.subscribe'],
    'subscription.changeRequested': changes,
    'subscription.rotationRequested': changes,
    'subscription.deletionRequested': ['portal.deleteSubscription'],
    'subscription.lost': ['portal.listSubscriptions'],
  },
})
