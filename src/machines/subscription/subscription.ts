import { assign, type SnapshotFrom, setup } from 'xstate'
import type { MessageWithParts } from '../../vocabulary/message.ts'
import { defineMachine } from '../definition/define-machine.ts'
import { type Decision, type Machine, record, refuse } from '../definition/machine.ts'
import { contextAfter, emptyContext, heldBy, type SubscriptionContext } from './context.ts'
import {
  answered,
  changedOrNot,
  isAsked,
  isOfBefore,
  ofOneThatIsGone,
  resolution,
  toldMeanwhile,
} from './doubt.ts'
import { isNews } from './health.ts'
import type {
  AdoptMessage,
  HeldEndpoint,
  RegistrationRef,
  SubscriptionEvent,
  SubscriptionMessage,
  SubscriptionReading,
} from './messages.ts'
import { drift, health, raisedTo, reappearance } from './readings.ts'

export type { SubscriptionEvent } from './messages.ts'

// Effects

function effect(verb: string, { evento, remoteId }: SubscriptionContext, held: HeldEndpoint) {
  return { type: `portal.${verb}`, data: { evento, ...held, ...(remoteId !== null && { remoteId }) } }
}

const listSubscriptions = { type: 'portal.listSubscriptions', data: {} }

// Chart

/** The loss of a call of a registration that is gone changes nothing. */
const ofBefore = { guard: 'isOfBefore' as const }

/** A change does not end the portal's thirty days of errors. */
const backToActive = [{ guard: 'isFailing' as const, target: 'active.failing' }, { target: 'active' }]

/** The portal lists it again: a list had been incomplete, or nothing was deleted. */
const back = [
  { guard: 'isFailing' as const, target: 'active.failing', actions: 'keep' as const },
  { target: 'active', actions: 'keep' as const },
]

const chart = setup({
  types: { context: {} as SubscriptionContext, events: {} as SubscriptionEvent },
  guards: {
    // Of a loss alone.
    isOfBefore: ({ context, event }) => isOfBefore(event.data as RegistrationRef, context.remoteId),
    isByUs: ({ event }) => event.type === 'subscription.deleted' && event.data.by === 'us',
    isNews: ({ context, event }) =>
      event.type === 'subscription.failing' && isNews(context, event.data.failedAt),
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
    // A call that waits for a person stops neither the portal's thirty days nor changes that somebody makes there.
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
        'subscription.reappeared': back,
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
          on: { 'subscription.failing': { guard: 'isNews', target: 'failing', actions: 'keep' } },
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
      states: { asked: { on: { 'subscription.lost': [ofBefore, { target: 'uncertain' }] } }, uncertain: {} },
    },
    deleting: {
      initial: 'asked',
      on: { 'subscription.declined': backToActive, 'subscription.confirmed': backToActive },
      states: { asked: { on: { 'subscription.lost': [ofBefore, { target: 'uncertain' }] } }, uncertain: {} },
    },
    deleted: {
      initial: 'byUs',
      on: {
        // A return from deleted is not documented: a new registration gets a new id.
        'subscription.registrationRequested': 'registering',
        'subscription.registered': { target: 'active', actions: 'keep' },
        'subscription.reappeared': back,
      },
      states: { byUs: {}, byPortal: {} },
    },
  },
})

// Decide

type SubscriptionState = SnapshotFrom<typeof chart>

function decide(
  state: SubscriptionState,
  message: MessageWithParts<SubscriptionMessage>,
): Decision<SubscriptionEvent> {
  const { context } = state
  switch (message.type) {
    case 'subscription.declare':
      return state.matches('absent')
        ? record({ type: 'subscription.declared', data: message.data })
        : record()
    case 'subscription.register':
      return register(state, message.data)
    case 'subscription.change':
      return change(state, 'changeRequested', { ...message.data, generation: context.generation })
    case 'subscription.rotate':
      return rotate(state, message.data.endpoint)
    case 'subscription.delete': {
      if (!state.matches('active')) return refuse('only an active subscription can be deleted')
      const effects = [effect('deleteSubscription', context, heldBy(context))]
      return record({ type: 'subscription.deletionRequested', data: {}, effects })
    }
    case 'subscription.adopt':
    case 'subscription.takeOver':
      return adopt(state, message)
    case 'subscription.observe':
      return { events: message.isStale ? healthShown(state, message.data) : observe(state, message.data) }
    case 'subscription.miss':
      return { events: message.isStale ? [] : miss(state) }
    case 'subscription.observeFailure':
      return record({ type: 'subscription.failing', data: message.data })
    case 'subscription.recoverFailure':
      return record({ type: 'subscription.failureRecovered', data: message.data })
    case 'portal.subscribed':
      return record({ type: 'subscription.registered', data: { ...message.data, how: 'created' } })
    case 'portal.subscriptionChanged': {
      const { data } = message
      return record(answered('changeSubscription', data, context, { type: 'subscription.changed', data }))
    }
    case 'portal.subscriptionDeleted': {
      const event = { type: 'subscription.deleted', data: { by: 'us', deletedAt: null } } as const
      return record(answered('deleteSubscription', message.data, context, event))
    }
    case 'portal.declined': {
      const { data } = message
      return record(answered(data.operation, data, context, { type: 'subscription.declined', data }))
    }
    case 'portal.lost':
      return lose(state, message.data)
  }
}

/** A listing will tell the outcome, before anything else is done, unless one has told already. */
function lose(
  state: SubscriptionState,
  data: { operation: string } & RegistrationRef,
): Decision<SubscriptionEvent> {
  const isBefore = isOfBefore(data, state.context.remoteId)
  const known = toldMeanwhile(data.operation, where => state.matches(where), isBefore)
  const follows = known ?? { effects: [listSubscriptions] }
  return record({ type: 'subscription.lost', data, ...follows })
}

function register(
  state: SubscriptionState,
  { endpoint, follows = false }: { endpoint: string; follows?: boolean },
): Decision<SubscriptionEvent> {
  if (isUncertain(state)) return refuse('it may be registered already: list first')
  if (!state.matches('declared') && !state.matches('deleted'))
    return refuse('it is registered, or about to be')
  const held = { endpoint, generation: state.context.generation }
  // Only where there was one before can a failure be of another one.
  const isSecond = follows || state.context.formerId !== null
  const { type, data } = effect('subscribe', state.context, held)
  const effects = [{ type, data: { ...data, ...(isSecond && { follows: true }) } }]
  return record({ type: 'subscription.registrationRequested', data: held, effects })
}

/** Asks for another endpoint or for new secrets: always every field, since what leaving one out means is not shown. */
function change(
  state: SubscriptionState,
  verb: 'changeRequested' | 'rotationRequested',
  asked: HeldEndpoint,
): Decision<SubscriptionEvent> {
  if (!state.matches('active')) return refuse('only an active subscription can be changed')
  const effects = [effect('changeSubscription', state.context, asked)]
  return record({ type: `subscription.${verb}`, data: asked, effects })
}

/**
 * Asks for new secrets, and for nothing else: what differs in the portal is changed by a plan that somebody has read.
 */
function rotate(state: SubscriptionState, endpoint: string): Decision<SubscriptionEvent> {
  const { context } = state
  if (state.matches('active') && (context.endpoint !== endpoint || context.eventoAtPortal !== context.evento))
    return refuse('the portal holds it with another endpoint or event than is declared: plan and apply first')
  return change(state, 'rotationRequested', { endpoint, generation: context.generation + 1 })
}

/** Takes over what the portal lists already: nothing is owed to the outside. */
function adopt(
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
  const ends = isUncertain(state) && resolution('settled')
  return record({ type: 'subscription.registered', data, ...ends })
}

/** The portal's list does not show it, although it includes deleted ones. */
function miss(state: SubscriptionState): SubscriptionEvent[] {
  if (isUncertain(state)) {
    const data = { operation: 'subscribe', httpStatus: 0, code: 'NOT_DONE' }
    return [{ type: 'subscription.declined', data, ...resolution('declined') }]
  }
  if (state.context.remoteId === null) return []
  const anomaly = 'the portal lists it neither as active nor as deleted'
  const ends = ofOneThatIsGone(where => state.matches(where))
  return [{ type: 'subscription.deleted', data: { by: 'portal', deletedAt: null }, anomaly, ...ends }]
}

function isUncertain(state: SubscriptionState): boolean {
  return state.matches({ registering: 'uncertain' })
}

/** What the portal's list adds to what we hold. */
function observe(state: SubscriptionState, shown: SubscriptionReading): SubscriptionEvent[] {
  const { context } = state
  // A registration under way is found by its event and endpoint instead.
  if (shown.remoteId !== context.remoteId)
    return state.matches('registering') ? [] : reappearance(context, shown)
  if (shown.isDeleted) {
    const by = state.matches('deleting') ? 'us' : 'portal'
    const ends = ofOneThatIsGone(where => state.matches(where))
    // The next one is registered with no earlier secret than this one had.
    const raised = raisedTo(context, shown.generation) === undefined ? [] : drift(context, shown)
    return [...raised, { type: 'subscription.deleted', data: { by, deletedAt: shown.deletedAt }, ...ends }]
  }
  return [
    ...ending(state, shown),
    ...(state.matches('changing') && isAsked(context, shown) ? [] : drift(context, shown)),
    ...healthShown(state, shown),
  ]
}

/** When a delivery succeeded stays true, whatever was recorded meanwhile: failures are read while the list is. */
function healthShown(state: SubscriptionState, shown: SubscriptionReading): SubscriptionEvent[] {
  const { context } = state
  if (shown.remoteId !== context.remoteId || shown.isDeleted) return []
  const isFailing = context.failingSince !== null || state.matches({ active: 'failing' })
  return isFailing ? health(context, shown) : []
}

/** How a call ended whose answer was lost, as the list shows. */
function ending(state: SubscriptionState, shown: SubscriptionReading): SubscriptionEvent[] {
  if (state.matches({ deleting: 'uncertain' }))
    return [{ type: 'subscription.confirmed', data: {}, ...resolution('declined', 'deleteSubscription') }]
  return state.matches({ changing: 'uncertain' }) ? [changedOrNot(state.context, shown)] : []
}

// What became of deliveries says nothing of what the portal holds: were a list older for it, no list of a day on
// which something failed would count.
const silent = [
  'subscription.answeredLate',
  'subscription.failing',
  'subscription.failureRecovered',
  'subscription.recovered',
  'subscription.threatened',
] as const

/** A subscription to one event, as we want the portal to notify us (document 3). */
export const subscriptionMachine: Machine = defineMachine({
  name: 'subscription',
  version: 1,
  chart,
  decide,
  silent,
})
