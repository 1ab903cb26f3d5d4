import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Instant } from '../message.ts'
import type { ConsentEvent, ConsentReading } from './consent-events.ts'
import type { HistoryEntry } from './consent-history.ts'
import type { Held } from './consent-readings.ts'
import type { Shown } from './consent-standing.ts'
import { type ConsentStatus, consentStatuses, type RequestableStatus } from './consent-status.ts'

interface Context {
  readonly consent: string
  readonly subject: string
  readonly reading: ConsentReading
  /** What we asked the service for and have not heard of, or what its answer contradicts. */
  readonly asked: RequestableStatus | null
  /** What a list shows in place of what we hold, until its history has been read. */
  readonly shown: Shown | null
  /** Whether the reading that shows it crossed something newer. */
  readonly isCrossed: boolean
  /** A reading in full is owed that may settle it. */
  readonly isReadingOwed: boolean
  /** The answer to what we asked for was lost. */
  readonly isLost: boolean
  /** When that was noticed, or when we asked for what the answer contradicts. */
  readonly lostAt: Instant | null
  /** All statuses that it has had since the last change was asked for, as far as we know. */
  readonly passed: readonly ConsentStatus[]
  /** The service's own time of the status that we hold, where its history told. */
  readonly since: Instant | null
  /** The history as last read. */
  readonly history: readonly HistoryEntry[]
  /** The status that it came with. */
  readonly historyStatus: ConsentStatus | null
  /** When it was read, or a list owed another reading because of it. */
  readonly historyAskedAt: Instant | null
  /** The expiry that was recorded as passed. */
  readonly lapsed: Instant | null
  readonly isErased: boolean
}

const nothing: ConsentReading = { status: 'PENDENTE', createdAt: null, expiresAt: null, controller: null }

const noDoubt = {
  asked: null,
  shown: null,
  isCrossed: false,
  isReadingOwed: false,
  isLost: false,
  lostAt: null,
} as const

// What the service shows is true, even where its table has no such move.
const asShown = [
  { guard: 'showsPendente', target: '.PENDENTE', actions: 'keepReading' },
  { guard: 'showsAtivo', target: '.ATIVO', actions: 'keepReading' },
  { guard: 'showsNegado', target: '.NEGADO', actions: 'keepReading' },
  { guard: 'showsRevogado', target: '.REVOGADO', actions: 'keepReading' },
  { guard: 'showsExpirado', target: '.EXPIRADO', actions: 'keepReading' },
] as const

const ended = { target: 'known', actions: 'forgetDoubt' } as const
// What we asked for is ended by its answer, or by a reading that tells of it: a list that lacks it tells nothing.
const gone = { actions: 'forgetShown' } as const
// The service said yes and shows the opposite: the change stays in doubt.
const contrary = { guard: 'isContrary', target: 'uncertain', actions: 'keepContrary' } as const
// A denial or a revocation of ours is ended by an end alone: until it is answered, or while that is in doubt.
const stillOut = { guard: 'isOut', actions: 'forgetShown' } as const
const stillDoubtful = { guard: 'isOut', actions: 'forgetSeen' } as const
// While a change of ours is out or in doubt, any other doubt waits for its end.
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

/** What is known of a consent: its status, and beside it whether that is in doubt. */
export const chart = setup({
  types: { context: {} as Context, events: {} as ConsentEvent },
  guards: {
    isContrary: ({ event }) => isContrary(event),
    isOut: ({ event }) => 'isOut' in event.data && event.data.isOut === true,
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
      passed: ({ context }) => [context.reading.status],
    }),
    keepShown: assign(({ context, event }) =>
      event.type === 'consent.changeSeen' ? shownBy(context, event) : {},
    ),
    endShown: assign({
      shown: ({ context, event }) => (shows(event) === context.reading.status ? null : context.shown),
    }),
    forgetShown: assign({ shown: null, isCrossed: false, isReadingOwed: false }),
    forgetSeen: assign({ shown: null, isCrossed: false }),
    keepHistory: assign(({ event }) =>
      event.type === 'consent.described'
        ? {
            history: event.data.entries ?? [],
            historyStatus: event.data.status ?? null,
            historyAskedAt: event.data.askedAt ?? null,
            isReadingOwed: owes(event),
          }
        : {},
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
      ...{ asked: null, isLost: false, lostAt: null },
      isReadingOwed: owes(event),
    })),
    // Until it is known whether the change was made, a later reading has to tell what was asked for.
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
  context: {
    consent: '',
    subject: '',
    reading: nothing,
    ...noDoubt,
    passed: [],
    since: null,
    history: [],
    historyStatus: null,
    historyAskedAt: null,
    lapsed: null,
    isErased: false,
  },
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
        'consent.vanished': '.vanished',
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
            ...doubtEnds,
            'consent.approved': [stillOut, ended],
            'consent.conflicted': [contrary, stillOut, ended],
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
            ...doubtEnds,
            ...seenBeside,
            'consent.approved': [stillDoubtful, ended],
            'consent.conflicted': [contrary, stillDoubtful, ended],
            'consent.vanished': gone,
            'consent.appeared': [{ guard: 'staysUncertain' }, ended],
          },
        },
      },
    },
  },
})

/** The status that an event shows. */
function shows(event: ConsentEvent): ConsentStatus | undefined {
  return 'status' in event.data ? (event.data.status ?? undefined) : undefined
}

function shownBy(
  context: Context,
  event: Extract<ConsentEvent, { type: 'consent.changeSeen' }>,
): Partial<Context> {
  const { shown, isCrossed } = context
  const isFirm = shown !== null && shown !== 'unreadable' && !isCrossed
  // A status that may be older, or cannot be read, does not replace a known one.
  if (isFirm && (event.data.crossed || event.data.status === null))
    return { isReadingOwed: context.isReadingOwed || owes(event) }
  return {
    shown: event.data.status ?? 'unreadable',
    isCrossed: event.data.crossed === true,
    isReadingOwed: context.isReadingOwed || owes(event),
  }
}

function knowledgeIn(event: ConsentEvent): 'changing' | 'uncertain' | undefined {
  return event.type === 'consent.appeared' ? event.data.knowledge : undefined
}

/** Reports whether the answer to a change shows another status than was asked for. */
function isContrary(event: ConsentEvent): boolean {
  return event.type === 'consent.conflicted' && event.data.isContrary === true
}

function owes({ effects = [] }: ConsentEvent): boolean {
  return effects.length > 0
}

function readingAfter(context: Context, event: ConsentEvent): Partial<Context> {
  switch (event.type) {
    case 'consent.appeared': {
      const { consent, subject, askedAt: _, knowledge: __, ...reading } = event.data
      return {
        consent,
        subject,
        reading,
        passed: passedWith(context, reading.status),
        since: null,
        history: [],
        historyStatus: null,
        historyAskedAt: null,
      }
    }
    case 'consent.amended':
      return { reading: event.data }
    case 'consent.approved':
    case 'consent.denied':
    case 'consent.revoked':
    case 'consent.expired':
    case 'consent.conflicted':
      return {
        reading: { ...context.reading, status: event.data.status },
        passed: passedWith(context, event.data.status),
        since: event.data.since ?? null,
      }
    default:
      return {}
  }
}

function passedWith({ passed }: Context, status: ConsentStatus): readonly ConsentStatus[] {
  return consentStatuses.filter(each => each === status || passed.includes(each))
}

/** Where the machine stands. */
export type State = SnapshotFrom<typeof chart>

/** What the machine holds, in the form that decisions about readings need. */
export function heldOf(state: State): Held {
  return {
    ...state.context,
    isVanished: state.matches({ status: 'vanished' }),
    isUnknown: isUnknown(state),
    isDoubtful: state.matches({ knowledge: 'uncertain' }),
    isQuiet: state.matches({ knowledge: 'known' }) || state.matches({ knowledge: 'changed' }),
  }
}

/** Reports whether it was never seen, or the service no longer lists it. */
export function isUnknown(state: State): boolean {
  return state.matches({ status: 'absent' }) || state.matches({ status: 'vanished' })
}
