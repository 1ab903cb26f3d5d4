import { assign, type SnapshotFrom, setup } from 'xstate'
import { actionsOf, reports, typesOf } from '../definition/chart-rules.ts'
import type { EventCondition } from '../definition/machine.ts'
import {
  type HealthState,
  healthAfterDelivery,
  healthAfterFailure,
  initialHealth,
  isRelevantFailure,
} from './health.ts'
import {
  areSecretsOurs,
  type HeldEndpoint,
  latestGeneration,
  type RegistrationRef,
  type SubscriptionEvent,
} from './messages.ts'

export interface SubscriptionContext extends HeldEndpoint, HealthState {
  readonly evento: string
  /** The event that the portal last showed: it differs when somebody changed it there. */
  readonly eventoAtPortal: string
  /** The portal's id while it is registered. */
  readonly remoteId: number | null
  /** The portal's id of the former registration, which was deleted or not listed: the portal may list it again. */
  readonly formerId: number | null
  readonly asked: HeldEndpoint
}

const noEndpoint: HeldEndpoint = { endpoint: '', generation: 1 }

const registers = { target: 'registered', actions: 'keepRegistration' } as const
/** The portal lists the former registration again: an earlier list was incomplete, or the deletion was not done. */
const reappears = { target: 'registered', actions: 'keepReappearance' } as const
const requests = { target: 'registering' } as const
const notChangeable = { refused: 'only an active subscription can be changed' }
const late = { refused: 'the answer is late: its call has ended, or was for a former registration' }

const asked = { description: 'The portal has not answered.' }
const uncertain = { description: 'The answer was lost: a list shows what became of it.' }
const notDone = { 'subscription.changeNotMade': '#subscription.registration.registered.active' } as const
const ofRegistering = { guard: { type: 'reports', params: { operation: 'subscribe' } } } as const
/** An answer of the portal to a change or deletion of the current registration. */
const answersTo = (operation: 'changeSubscription' | 'deleteSubscription') =>
  ({ guard: { type: 'isOfRegistration', params: { operation } } }) as const

const keep = actionsOf<SubscriptionEvent, SubscriptionContext>()

/** The chart of a subscription: its registration, whether deliveries fail, and whose secrets the portal has. */
export const chart = setup({
  types: typesOf<SubscriptionEvent, SubscriptionContext>(),
  guards: {
    reports,
    // The portal deleted a registration while a call was pending, and there may be a new one since.
    isOfRegistration: ({ context, event }, params: EventCondition | undefined) =>
      !isOfFormer(event.data as RegistrationRef, context) && reports({ event }, params ?? {}), // Answers name it.
    isRelevant: ({ context, event }) =>
      event.type === 'subscription.failing' && isRelevantFailure(context, event.data.failedAt),
    areSecretsOurs: ({ context, event }) =>
      event.type === 'subscription.drifted' && areSecretsOurs(context, event.data.generation),
    isAsDeclared: ({ context, event }) =>
      event.type === 'subscription.rotationRequested' &&
      context.endpoint === event.data.endpoint &&
      context.eventoAtPortal === context.evento,
  },
  actions: {
    keepDeclaration: keep('subscription.declared', ({ data: { evento, endpoint } }) => ({
      ...{ evento, eventoAtPortal: evento, endpoint },
    })),
    keepRegistration: keep('subscription.registered', ({ data }, { evento, formerId }) => ({
      ...{ remoteId: data.remoteId, formerId: formerId === data.remoteId ? null : formerId },
      ...{ ...pickEndpoint(data), eventoAtPortal: evento },
    })),
    keepReappearance: keep('subscription.reappeared', ({ data }) => ({ remoteId: data.remoteId, formerId: null })),
    forgetFormer: assign({ formerId: null }),
    endRegistration: assign({ remoteId: null, formerId: ({ context }) => context.remoteId }),
    keepRequest: keep(['subscription.changeRequested', 'subscription.rotationRequested'], ({ data }) => ({
      asked: data,
    })),
    keepChange: keep('subscription.changed', ({ data }, { evento }) => ({
      ...{ ...pickEndpoint(data), eventoAtPortal: evento },
    })),
    keepDrift: keep('subscription.drifted', ({ data }, context) => {
      const { evento, endpoint, generation, registeredAt = context.registeredAt } = data
      return { eventoAtPortal: evento, endpoint, generation: latestGeneration(context, generation), registeredAt }
    }),
    beginHealth: keep('subscription.registered', ({ data: { lastSuccessAt = null, registeredAt = null } }) => ({
      ...{ ...initialHealth, lastSuccessAt, registeredAt },
    })),
    keepDelivery: keep('subscription.delivered', ({ data }, context) =>
      healthAfterDelivery(data.lastSuccessAt, context),
    ),
    keepDate: keep('subscription.dated', ({ data }) => data),
    keepFailure: keep('subscription.failing', ({ data }, context) => healthAfterFailure(context, data.failedAt)),
    keepRecovery: keep('subscription.recovered', ({ data }, { registeredAt }) => ({
      ...{ ...initialHealth, ...data, registeredAt },
    })),
    keepThreat: keep('subscription.threatened', ({ data }) => ({ announced: data.percent })),
  },
}).createMachine({
  id: 'subscription',
  description: 'A subscription of ours to one event at the portal.',
  context: {
    ...{ evento: '', eventoAtPortal: '', remoteId: null, formerId: null },
    ...{ ...noEndpoint, asked: noEndpoint },
    ...initialHealth,
  },
  type: 'parallel',
  // The content of a failure record counts whatever became of the subscription.
  on: { 'subscription.unexpected': {}, 'subscription.failureRecovered': {} },
  states: {
    registration: {
      description: 'Whether the portal has it, and which call of ours is open.',
      initial: 'absent',
      meta: {
        refuses: {
          'subscription.registrationRequested': { refused: 'it is registered or being registered' },
          'subscription.changeRequested': notChangeable,
          'subscription.rotationRequested': notChangeable,
          'subscription.deletionRequested': { refused: 'only an active subscription can be deleted' },
          'subscription.registered': { refused: 'it is registered already' },
          ...{ 'subscription.changed': late, 'subscription.deleted': late },
          ...{ 'subscription.declined': late, 'subscription.lost': late },
        },
      },
      states: {
        absent: {
          description: 'It was not declared.',
          on: { 'subscription.declared': { target: 'declared', actions: 'keepDeclaration' } },
        },
        declared: {
          description: 'The host wants it, and the portal has never had it, or no longer.',
          on: {
            'subscription.registrationRequested': requests,
            'subscription.registered': registers,
            'subscription.reappeared': reappears,
          },
        },
        registering: {
          description: 'Its registration was requested.',
          initial: 'asked',
          on: {
            'subscription.registered': registers,
            'subscription.declined': { ...ofRegistering, target: 'declared' },
            'subscription.lost': { ...ofRegistering, target: '.uncertain' },
          },
          states: {
            asked,
            uncertain: {
              ...uncertain,
              meta: {
                refuses: {
                  'subscription.registrationRequested': {
                    refused: 'it may be registered already: list the subscriptions first',
                  },
                },
              },
            },
          },
        },
        registered: {
          description: 'The portal has it, and delivers notifications.',
          initial: 'active',
          on: {
            'subscription.drifted': { actions: 'keepDrift' },
            // Another former registration is listed again beside this one.
            'subscription.reappeared': { actions: 'forgetFormer' },
            'subscription.deleted': [
              {
                guard: { type: 'isOfRegistration', params: { by: 'us' } },
                target: 'deleted.byUs',
                actions: 'endRegistration',
              },
              {
                guard: { type: 'reports', params: { by: 'portal' } },
                target: 'deleted.byPortal',
                actions: 'endRegistration',
              },
            ],
          },
          states: {
            active: {
              description: 'No call of ours is open.',
              on: {
                'subscription.changeRequested': { target: 'changing', actions: 'keepRequest' },
                'subscription.rotationRequested': { guard: 'isAsDeclared', target: 'changing', actions: 'keepRequest' },
                'subscription.deletionRequested': 'deleting',
              },
              meta: {
                refuses: {
                  'subscription.rotationRequested': {
                    refused: 'the portal has another endpoint or event than declared: plan and apply first',
                  },
                },
              },
            },
            changing: {
              description: 'Another endpoint or other secrets were requested.',
              initial: 'asked',
              on: {
                'subscription.changed': { guard: 'isOfRegistration', target: 'active', actions: 'keepChange' },
                'subscription.declined': { ...answersTo('changeSubscription'), target: 'active' },
                'subscription.lost': { ...answersTo('changeSubscription'), target: '.uncertain' },
              },
              states: { asked, uncertain: { ...uncertain, on: notDone } },
            },
            deleting: {
              description: 'Its deletion was requested.',
              initial: 'asked',
              on: {
                'subscription.declined': { ...answersTo('deleteSubscription'), target: 'active' },
                'subscription.lost': { ...answersTo('deleteSubscription'), target: '.uncertain' },
              },
              states: { asked, uncertain: { ...uncertain, on: notDone } },
            },
          },
        },
        deleted: {
          description: 'The portal had it, and has it no longer.',
          initial: 'byUs',
          on: {
            // The contract does not document how to restore a deleted one: a new registration gets a new id.
            'subscription.registrationRequested': requests,
            'subscription.registered': registers,
            'subscription.reappeared': reappears,
          },
          states: {
            byUs: { description: 'We requested the deletion.' },
            byPortal: { description: 'The portal deleted it, by itself or for somebody else.' },
          },
        },
      },
    },
    health: {
      description: 'Whether deliveries fail.',
      initial: 'healthy',
      on: {
        'subscription.registered': { target: '.healthy', actions: 'beginHealth' },
        'subscription.delivered': { actions: 'keepDelivery' },
        'subscription.dated': { actions: 'keepDate' },
      },
      states: {
        healthy: {
          description: 'No delivery is known to have failed since the last success.',
          on: { 'subscription.failing': [{ guard: 'isRelevant', target: 'failing', actions: 'keepFailure' }, {}] },
        },
        failing: {
          description: 'Deliveries fail: after thirty days without a success the portal deletes it.',
          on: {
            'subscription.failing': { actions: 'keepFailure' },
            'subscription.recovered': { target: 'healthy', actions: 'keepRecovery' },
            'subscription.threatened': { actions: 'keepThreat' },
          },
        },
      },
    },
    secrets: {
      description: 'Whose secrets the portal sends.',
      initial: 'ours',
      on: {
        'subscription.registered': [
          { guard: { type: 'reports', params: { how: 'takenOver' } }, target: '.foreign' },
          { target: '.ours' },
        ],
        'subscription.changed': '.ours',
        'subscription.drifted': [{ guard: 'areSecretsOurs', target: '.ours' }, { target: '.foreign' }],
      },
      states: {
        ours: { description: 'The portal sends secrets that we know.' },
        foreign: { description: 'The portal sends secrets that somebody else gave it.' },
      },
    },
  },
})

export function isOfFormer({ remoteId }: RegistrationRef, known: Pick<SubscriptionContext, 'remoteId'>): boolean {
  return remoteId !== undefined && remoteId !== known.remoteId
}

/** Picks the endpoint and the generation of secrets from a larger object. */
export function pickEndpoint({ endpoint, generation }: HeldEndpoint): HeldEndpoint {
  return { endpoint, generation }
}

export type SubscriptionState = SnapshotFrom<typeof chart>
