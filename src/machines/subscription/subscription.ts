import { assign, type SnapshotFrom, setup } from 'xstate'
import type { MessageWithParts } from '../../vocabulary/message.ts'
import { defineMachine } from '../definition/define-machine.ts'
import { type Decision, type Machine, record, refuse } from '../definition/machine.ts'
import { contextAfter, emptyContext, pickEndpoint, type SubscriptionContext } from './context.ts'
import {
  answerOrLate,
  findKnownOutcome,
  isOfFormerRegistration,
  matchesRequest,
  resolveByDeletion,
  resolveChange,
  resolveEffect,
} from './doubt.ts'
import { isRelevantFailure } from './health.ts'
import type {
  AdoptMessage,
  HeldEndpoint,
  RegistrationRef,
  SubscriptionEvent,
  SubscriptionMessage,
  SubscriptionReading,
} from './messages.ts'
import { findDrift, findReappearance, healthEvents, laterGeneration } from './readings.ts'

export type { SubscriptionEvent } from './messages.ts'

function portalCall(verb: string, { evento, remoteId }: SubscriptionContext, held: HeldEndpoint) {
  return { type: `portal.${verb}`, data: { evento, ...held, ...(remoteId !== null && { remoteId }) } }
}

const listSubscriptions = { type: 'portal.listSubscriptions', data: {} }

/** The loss of a call for a former registration changes nothing. */
const formerRegistration = { guard: 'isOfFormerRegistration' as const }

/** A change does not reset the portal's thirty days of errors. */
const backToActive = [{ guard: 'isFailing' as const, target: 'active.failing' }, { target: 'active' }]

/** The portal lists it again: an earlier list was incomplete, or the deletion was not done. */
const reappeared = [
  { guard: 'isFailing' as const, target: 'active.failing', actions: 'keep' as const },
  { target: 'active', actions: 'keep' as const },
]

const chart = setup({
  types: { context: {} as SubscriptionContext, events: {} as SubscriptionEvent },
  guards: {
    // Used for `subscription.lost` only.
    isOfFormerRegistration: ({ context, event }) =>
      isOfFormerRegistration(event.data as RegistrationRef, context.remoteId),
    isByUs: ({ event }) => event.type === 'subscription.deleted' && event.data.by === 'us',
    isRelevantFailure: ({ context, event }) =>
      event.type === 'subscription.failing' && isRelevantFailure(context, event.data.failedAt),
    isFailing: ({ context }) => context.failingSince !== null,
    failsAgain: ({ event }) => event.type === 'subscription.recovered' && event.data.failsAgain,
  },
  actions: { keep: assign(({ context, event }) => contextAfter(context, event)) },
}).createMachine({
  id: 'subscription',
  context: emptyContext,
  initial: 'absent',
  on: {
    'subscription.deleted': [
      { guard: 'isByUs', target: '.deleted.byUs', actions: 'keep' },
      { target: '.deleted.byPortal', actions: 'keep' },
    ],
    'subscription.failing': { actions: 'keep' },
    'subscription.reappeared': { actions: 'keep' },
    // While a call waits for a person, deliveries still fail and others may change the subscription at the portal.
    'subscription.drifted': { actions: 'keep' },
    'subscription.recovered': { actions: 'keep' },
    'subscription.threatened': { actions: 'keep' },
  },
  states: {
    absent: { on: { 'subscription.declared': { target: 'declared', actions: 'keep' } } },
    declared: {
      on: {
        'subscription.registrationRequested': 'registering',
        'subscription.registered': { target: 'active', actions: 'keep' },
        'subscription.reappeared': reappeared,
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
        'subscription.rotationRequested': { target: 'changing', actions: 'keep' },
        'subscription.deletionRequested': 'deleting',
      },
      states: {
        healthy: {
          on: { 'subscription.failing': { guard: 'isRelevantFailure', target: 'failing', actions: 'keep' } },
        },
        failing: {
          on: {
            'subscription.recovered': [
              { guard: 'failsAgain', actions: 'keep' },
              { target: 'healthy', actions: 'keep' },
            ],
          },
        },
      },
    },
    changing: {
      initial: 'asked',
      on: {
        'subscription.changed': [
          { guard: 'isFailing', target: 'active.failing', actions: 'keep' },
          { target: 'active', actions: 'keep' },
        ],
        'subscription.declined': backToActive,
        'subscription.confirmed': backToActive,
      },
      states: {
        asked: { on: { 'subscription.lost': [formerRegistration, { target: 'uncertain' }] } },
        uncertain: {},
      },
    },
    deleting: {
      initial: 'asked',
      on: { 'subscription.declined': backToActive, 'subscription.confirmed': backToActive },
      states: {
        asked: { on: { 'subscription.lost': [formerRegistration, { target: 'uncertain' }] } },
        uncertain: {},
      },
    },
    deleted: {
      initial: 'byUs',
      on: {
        // The contract does not document how to restore a deleted one: a new registration gets a new id.
        'subscription.registrationRequested': 'registering',
        'subscription.registered': { target: 'active', actions: 'keep' },
        'subscription.reappeared': reappeared,
      },
      states: { byUs: {}, byPortal: {} },
    },
  },
})

type SubscriptionState = SnapshotFrom<typeof chart>

function decide(state: SubscriptionState, message: MessageWithParts<SubscriptionMessage>): Decision<SubscriptionEvent> {
  const { context } = state
  switch (message.type) {
    case 'subscription.declare':
      return state.matches('absent') ? record({ type: 'subscription.declared', data: message.data }) : record()
    case 'subscription.register':
      return decideRegistration(state, message.data)
    case 'subscription.change':
      return requestChange(state, 'changeRequested', { ...message.data, generation: context.generation })
    case 'subscription.rotate':
      return requestRotation(state, message.data.endpoint)
    case 'subscription.delete': {
      if (!state.matches('active')) return refuse('only an active subscription can be deleted')
      const effects = [portalCall('deleteSubscription', context, pickEndpoint(context))]
      return record({ type: 'subscription.deletionRequested', data: {}, effects })
    }
    case 'subscription.adopt':
    case 'subscription.takeOver':
      return decideAdoption(state, message)
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
    case 'portal.subscriptionChanged': {
      const { data } = message
      return record(answerOrLate('changeSubscription', data, context, { type: 'subscription.changed', data }))
    }
    case 'portal.subscriptionDeleted': {
      const event = { type: 'subscription.deleted', data: { by: 'us', deletedAt: null } } as const
      return record(answerOrLate('deleteSubscription', message.data, context, event))
    }
    case 'portal.declined': {
      const { data } = message
      return record(answerOrLate(data.operation, data, context, { type: 'subscription.declined', data }))
    }
    case 'portal.lost':
      return decideLoss(state, message.data)
  }
}

/** Requests a list to find out the outcome, unless one has already shown it. */
function decideLoss(
  state: SubscriptionState,
  data: { operation: string } & RegistrationRef,
): Decision<SubscriptionEvent> {
  const isFormer = isOfFormerRegistration(data, state.context.remoteId)
  const known = findKnownOutcome(data.operation, where => state.matches(where), isFormer)
  const follows = known ?? { effects: [listSubscriptions] }
  return record({ type: 'subscription.lost', data, ...follows })
}

function decideRegistration(
  state: SubscriptionState,
  { endpoint, follows = false }: { endpoint: string; follows?: boolean },
): Decision<SubscriptionEvent> {
  if (isUncertain(state)) return refuse('it may be registered already: list the subscriptions first')
  if (!state.matches('declared') && !state.matches('deleted')) return refuse('it is registered or being registered')
  const held = { endpoint, generation: state.context.generation }
  // After a former registration, failures need a date to tell which one they belong to.
  const isSecond = follows || state.context.formerId !== null
  const { type, data } = portalCall('subscribe', state.context, held)
  const effects = [{ type, data: { ...data, ...(isSecond && { follows: true }) } }]
  return record({ type: 'subscription.registrationRequested', data: held, effects })
}

/** Requests another endpoint or new secrets. Sends every field: the contract does not say what omitting one means. */
function requestChange(
  state: SubscriptionState,
  verb: 'changeRequested' | 'rotationRequested',
  asked: HeldEndpoint,
): Decision<SubscriptionEvent> {
  if (!state.matches('active')) return refuse('only an active subscription can be changed')
  const effects = [portalCall('changeSubscription', state.context, asked)]
  return record({ type: `subscription.${verb}`, data: asked, effects })
}

/** Requests new secrets only. Other differences at the portal are changed by a plan that a person has read. */
function requestRotation(state: SubscriptionState, endpoint: string): Decision<SubscriptionEvent> {
  const { context } = state
  if (state.matches('active') && (context.endpoint !== endpoint || context.eventoAtPortal !== context.evento))
    return refuse('the portal has another endpoint or event than declared: plan and apply first')
  return requestChange(state, 'rotationRequested', { endpoint, generation: context.generation + 1 })
}

/** Makes a listed registration ours, without a request. */
function decideAdoption(
  state: SubscriptionState,
  message: MessageWithParts<AdoptMessage>,
): Decision<SubscriptionEvent> {
  const { context } = state
  const { remoteId, endpoint, generation, lastSuccessAt, registeredAt } = message.data
  if (context.remoteId === remoteId || message.isStale) return record()
  if (state.matches('active')) return refuse('it is registered under another id')
  const how = message.type === 'subscription.takeOver' ? 'takenOver' : 'adopted'
  const held = { endpoint, generation: generation ?? context.generation }
  const times = { ...(lastSuccessAt && { lastSuccessAt }), ...(registeredAt && { registeredAt }) }
  const data = { remoteId, ...held, how, ...times } as const
  const ends = isUncertain(state) && resolveEffect('settled')
  return record({ type: 'subscription.registered', data, ...ends })
}

/** The portal's list, which includes deleted subscriptions, does not have it. */
function eventsIfMissing(state: SubscriptionState): SubscriptionEvent[] {
  if (isUncertain(state)) {
    const data = { operation: 'subscribe', httpStatus: 0, code: 'NOT_DONE' }
    return [{ type: 'subscription.declined', data, ...resolveEffect('declined') }]
  }
  if (state.context.remoteId === null) return []
  const anomaly = 'the portal lists it neither as active nor as deleted'
  const ends = resolveByDeletion(where => state.matches(where))
  return [{ type: 'subscription.deleted', data: { by: 'portal', deletedAt: null }, anomaly, ...ends }]
}

function isUncertain(state: SubscriptionState): boolean {
  return state.matches({ registering: 'uncertain' })
}

function eventsOfReading(state: SubscriptionState, shown: SubscriptionReading): SubscriptionEvent[] {
  const { context } = state
  // A pending registration is matched by its event and endpoint instead.
  if (shown.remoteId !== context.remoteId) return state.matches('registering') ? [] : findReappearance(context, shown)
  if (shown.isDeleted) {
    const by = state.matches('deleting') ? 'us' : 'portal'
    const ends = resolveByDeletion(where => state.matches(where))
    // The next registration must not use an older secret than this one.
    const raised = laterGeneration(context, shown.generation) === undefined ? [] : findDrift(context, shown)
    return [...raised, { type: 'subscription.deleted', data: { by, deletedAt: shown.deletedAt }, ...ends }]
  }
  return [
    ...resolveUncertain(state, shown),
    ...(state.matches('changing') && matchesRequest(context, shown) ? [] : findDrift(context, shown)),
    ...healthEventsOfReading(state, shown),
  ]
}

/** The time of a success counts even in a stale reading: failures are read at the same time as the list. */
function healthEventsOfReading(state: SubscriptionState, shown: SubscriptionReading): SubscriptionEvent[] {
  const { context } = state
  if (shown.remoteId !== context.remoteId || shown.isDeleted) return []
  const isFailing = context.failingSince !== null || state.matches({ active: 'failing' })
  return isFailing ? healthEvents(context, shown) : []
}

/** Ends an uncertain change or deletion by what the list shows. */
function resolveUncertain(state: SubscriptionState, shown: SubscriptionReading): SubscriptionEvent[] {
  if (state.matches({ deleting: 'uncertain' }))
    return [{ type: 'subscription.confirmed', data: {}, ...resolveEffect('declined', 'deleteSubscription') }]
  return state.matches({ changing: 'uncertain' }) ? [resolveChange(state.context, shown)] : []
}

// Results of deliveries do not make a list stale: otherwise no list would count on a day with failures.
const silent = [
  'subscription.answeredLate',
  'subscription.failing',
  'subscription.failureRecovered',
  'subscription.recovered',
  'subscription.threatened',
] as const

/** A subscription to one event at the portal (document 3). */
export const subscriptionMachine: Machine = defineMachine({
  name: 'subscription',
  version: 1,
  chart,
  decide,
  silent,
})
