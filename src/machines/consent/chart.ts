import { assign, type SnapshotFrom, setup } from 'xstate'
import {
  type ConsentContext,
  type ConsentView,
  historyAfter,
  initialContext,
  noDoubt,
  owes,
  readingAfter,
  shownBy,
} from './context.ts'
import type { ConsentEvent } from './events.ts'
import type { ConsentStatus } from './status.ts'

// The service's status counts, even when its table has no such transition.
const asShown = [
  { guard: 'showsPendente', target: '.PENDENTE', actions: 'keepReading' },
  { guard: 'showsAtivo', target: '.ATIVO', actions: 'keepReading' },
  { guard: 'showsNegado', target: '.NEGADO', actions: 'keepReading' },
  { guard: 'showsRevogado', target: '.REVOGADO', actions: 'keepReading' },
  { guard: 'showsExpirado', target: '.EXPIRADO', actions: 'keepReading' },
] as const

const ended = { target: 'known', actions: 'forgetDoubt' } as const
// A change is ended by its answer or by a reading of the consent, not by a list without the consent.
const gone = { actions: 'forgetShown' } as const
// The service accepted the change but shows another status, so the change stays uncertain.
const contrary = { guard: 'isContrary', target: 'uncertain', actions: 'keepContrary' } as const
// While our change is pending or uncertain, other differences wait until it ends.
const seenBeside = { 'consent.changeSeen': { actions: 'keepShown' } } as const
const doubtEnds = {
  'consent.approved': ended,
  'consent.denied': ended,
  'consent.revoked': ended,
  'consent.expired': ended,
  'consent.conflicted': [contrary, ended],
  'consent.vanished': ended,
  'consent.confirmed': ended,
  'consent.changeNotMade': ended,
} as const
// A status that does not decide our change ends neither a pending nor an uncertain one.
const out = { guard: 'isChangePending', actions: 'forgetShown' } as const
const outEnds = {
  ...doubtEnds,
  'consent.approved': [out, ended],
  'consent.denied': [out, ended],
  'consent.revoked': [out, ended],
  'consent.expired': [out, ended],
  'consent.conflicted': [contrary, out, ended],
} as const
const lost = { guard: 'isChangePending', actions: 'forgetSeen' } as const
const lostEnds = {
  ...doubtEnds,
  'consent.approved': [lost, ended],
  'consent.denied': [lost, ended],
  'consent.revoked': [lost, ended],
  'consent.expired': [lost, ended],
  'consent.conflicted': [contrary, lost, ended],
} as const

/** The chart of a consent: its status, and in parallel whether that status is certain. */
export const chart = setup({
  types: { context: {} as ConsentContext, events: {} as ConsentEvent },
  guards: {
    isContrary: ({ event }) => isContrary(event),
    isChangePending: ({ event }) => 'isChangePending' in event.data && event.data.isChangePending === true,
    staysChanging: ({ event }) => knowledgeIn(event) === 'changing',
    staysUncertain: ({ event }) => knowledgeIn(event) === 'uncertain',
    showsPendente: ({ event }) => shows(event) === 'PENDENTE',
    showsAtivo: ({ event }) => shows(event) === 'ATIVO',
    showsNegado: ({ event }) => shows(event) === 'NEGADO',
    showsRevogado: ({ event }) => shows(event) === 'REVOGADO',
    showsExpirado: ({ event }) => shows(event) === 'EXPIRADO',
  },
  actions: {
    keepReading: assign(({ context, event }) => readingAfter(context, event)),
    keepAsked: assign({
      asked: ({ event }) => (event.type === 'consent.changeRequested' ? event.data.status : null),
      askedAt: ({ event }) => (event.type === 'consent.changeRequested' ? (event.data.askedAt ?? null) : null),
      statusesSinceRequest: ({ context }) => [context.reading.status],
      endedAt: null,
    }),
    keepShown: assign(({ context, event }) => (event.type === 'consent.changeSeen' ? shownBy(context, event) : {})),
    endShown: assign({
      shown: ({ context, event }) => (shows(event) === context.reading.status ? null : context.shown),
    }),
    forgetShown: assign({ shown: null, isConcurrentRead: false, isReadingOwed: false }),
    forgetSeen: assign({ shown: null, isConcurrentRead: false }),
    keepHistory: assign(({ context, event }) =>
      event.type === 'consent.described' ? historyAfter(context, event) : {},
    ),
    keepOwed: assign(({ event }) =>
      event.type === 'consent.detailRequested' && event.data.askedAt !== undefined
        ? { historyAskedAt: event.data.askedAt, isReadingOwed: true }
        : {},
    ),
    endReading: assign({ isReadingOwed: false }),
    keepLost: assign({
      isLost: true,
      lostAt: ({ event }) => (event.type === 'consent.changeLost' ? (event.data.lostAt ?? null) : null),
    }),
    keepDeclined: assign(({ event }) => ({
      ...{ asked: null, askedAt: null, isLost: false, lostAt: null },
      isReadingOwed: owes(event),
    })),
    // Keep what was requested until a reading shows whether the change was made.
    keepContrary: assign(({ event }) => ({
      isLost: false,
      lostAt: event.type === 'consent.conflicted' ? (event.data.askedAt ?? null) : null,
      isReadingOwed: owes(event),
    })),
    keepLapsed: assign({
      lapsed: ({ event }) => (event.type === 'consent.lapsed' ? event.data.expiresAt : null),
    }),
    forgetDoubt: assign(noDoubt),
    markErased: assign({ isErased: true }),
  },
}).createMachine({
  id: 'consent',
  context: initialContext,
  type: 'parallel',
  states: {
    status: {
      initial: 'absent',
      on: {
        'consent.appeared': asShown,
        'consent.conflicted': asShown,
        'consent.amended': { actions: 'keepReading' },
        'consent.described': { actions: 'keepHistory' },
        'consent.detailRequested': { actions: 'keepOwed' },
        'consent.readDeclined': { actions: 'endReading' },
        'consent.readGivenUp': { actions: 'endReading' },
        'consent.lapsed': { actions: 'keepLapsed' },
        'consent.vanished': { target: '.vanished', actions: 'keepReading' },
        'consent.erased': { actions: 'markErased' },
      },
      states: {
        absent: {},
        PENDENTE: {
          on: {
            'consent.approved': { target: 'ATIVO', actions: 'keepReading' },
            'consent.denied': { target: 'NEGADO', actions: 'keepReading' },
            'consent.expired': { target: 'EXPIRADO', actions: 'keepReading' },
          },
        },
        ATIVO: {
          on: {
            'consent.revoked': { target: 'REVOGADO', actions: 'keepReading' },
            'consent.expired': { target: 'EXPIRADO', actions: 'keepReading' },
          },
        },
        NEGADO: {},
        REVOGADO: {},
        EXPIRADO: {},
        vanished: {},
      },
    },
    knowledge: {
      initial: 'known',
      states: {
        known: {
          on: {
            'consent.changeRequested': { target: 'changing', actions: 'keepAsked' },
            'consent.changeSeen': { target: 'changed', actions: 'keepShown' },
          },
        },
        changed: { on: { ...doubtEnds, ...seenBeside } },
        changing: {
          on: {
            ...outEnds,
            'consent.vanished': gone,
            'consent.appeared': [{ guard: 'staysChanging' }, ended],
            'consent.changeRequested': { actions: 'keepAsked' },
            'consent.changeSeen': { actions: ['keepShown', 'endShown'] },
            'consent.changeLost': { target: 'uncertain', actions: 'keepLost' },
            'consent.changeDeclined': { target: 'uncertain', actions: 'keepDeclined' },
          },
        },
        uncertain: {
          on: {
            ...lostEnds,
            ...seenBeside,
            'consent.vanished': gone,
            'consent.appeared': [{ guard: 'staysUncertain' }, ended],
          },
        },
      },
    },
  },
})

function shows(event: ConsentEvent): ConsentStatus | undefined {
  return 'status' in event.data ? (event.data.status ?? undefined) : undefined
}

function knowledgeIn(event: ConsentEvent): 'changing' | 'uncertain' | undefined {
  return event.type === 'consent.appeared' ? event.data.knowledge : undefined
}

/** Checks that the answer to a change shows another status than requested. */
function isContrary(event: ConsentEvent): boolean {
  return event.type === 'consent.conflicted' && event.data.isContrary === true
}

/** The state of the consent chart. */
export type ConsentChartState = SnapshotFrom<typeof chart>

/** Returns the machine's state in the form that decisions about readings need. */
export function heldOf(state: ConsentChartState): ConsentView {
  return {
    ...state.context,
    isVanished: state.matches({ status: 'vanished' }),
    isUnknown: isUnknown(state),
    isDoubtful: state.matches({ knowledge: 'uncertain' }),
    isQuiet: state.matches({ knowledge: 'known' }) || state.matches({ knowledge: 'changed' }),
  }
}

/** Checks that the consent was never read, or is no longer listed. */
export function isUnknown(state: ConsentChartState): boolean {
  return state.matches({ status: 'absent' }) || state.matches({ status: 'vanished' })
}
