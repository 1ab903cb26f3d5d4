import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Carried, Instant } from '../message.ts'
import { changeStatus, readConsent } from './consent-effects.ts'
import {
  type ConsentEvent,
  type ConsentMessage,
  type ConsentReading,
  type Use,
  whenErased,
} from './consent-events.ts'
import { answered, type Held, type HistoryEntry, lapse, movesOf, observed, seen } from './consent-readings.ts'
import { judge } from './consent-standing.ts'
import { askedFrom, type ConsentStatus, type RequestableStatus } from './consent-status.ts'
import { defineMachine } from './define-machine.ts'
import { decideErased } from './erased.ts'
import { lostChange } from './lost-change.ts'
import { type Decision, type Machine, record, refuse } from './machine.ts'

// Events, commands, and facts from outside: consent-events.ts. Effects: consent-effects.ts

const asks = { 'consent.approve': 'ATIVO', 'consent.deny': 'NEGADO', 'consent.revoke': 'REVOGADO' } as const

// Chart

interface Context {
  readonly consent: string
  readonly subject: string
  readonly reading: ConsentReading
  /** What we asked the service for and have not heard of. */
  readonly asked: RequestableStatus | null
  /** What a list shows in place of what we hold, until its history has been read. */
  readonly shown: ConsentStatus | null
  /** The service's own time of the status that we hold, where its history told. */
  readonly since: Instant | null
  /** The history as last read. */
  readonly history: readonly HistoryEntry[]
  /** The end that was said to have passed. */
  readonly lapsed: Instant | null
  readonly isErased: boolean
}

const nothing: ConsentReading = { status: 'PENDENTE', createdAt: null, expiresAt: null, controller: null }

// What the service shows is true, also where its table has no such move.
const asShown = [
  { guard: 'showsPendente', target: '.PENDENTE', actions: 'keepReading' },
  { guard: 'showsAtivo', target: '.ATIVO', actions: 'keepReading' },
  { guard: 'showsNegado', target: '.NEGADO', actions: 'keepReading' },
  { guard: 'showsRevogado', target: '.REVOGADO', actions: 'keepReading' },
  { guard: 'showsExpirado', target: '.EXPIRADO', actions: 'keepReading' },
] as const

const ended = { target: 'known', actions: 'forgetDoubt' } as const
const doubtEnds = {
  'consent.approved': ended,
  'consent.denied': ended,
  'consent.revoked': ended,
  'consent.expired': ended,
  'consent.conflicted': ended,
  'consent.vanished': ended,
  'consent.confirmed': ended,
} as const

const chart = setup({
  types: { context: {} as Context, events: {} as ConsentEvent },
  guards: {
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
    }),
    keepShown: assign({
      shown: ({ event }) => (event.type === 'consent.changeSeen' ? event.data.status : null),
    }),
    keepHistory: assign({
      history: ({ context, event }) =>
        event.type === 'consent.described' ? (event.data.entries ?? []) : context.history,
    }),
    keepLapsed: assign({
      lapsed: ({ event }) => (event.type === 'consent.lapsed' ? event.data.expiresAt : null),
    }),
    forgetDoubt: assign({ asked: null, shown: null }),
    markErased: assign({ isErased: true }),
  },
}).createMachine({
  id: 'consent',
  context: {
    consent: '',
    subject: '',
    reading: nothing,
    asked: null,
    shown: null,
    since: null,
    history: [],
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
        changed: { on: { ...doubtEnds, 'consent.changeSeen': { actions: 'keepShown' } } },
        changing: {
          on: { ...doubtEnds, 'consent.changeLost': 'uncertain', 'consent.changeDeclined': ended },
        },
        uncertain: { on: doubtEnds },
      },
    },
  },
})

/** The status that an event shows. */
function shows(event: ConsentEvent): ConsentStatus | undefined {
  return 'status' in event.data ? event.data.status : undefined
}

function readingAfter(context: Context, event: ConsentEvent): Partial<Context> {
  switch (event.type) {
    case 'consent.appeared': {
      const { consent, subject, ...reading } = event.data
      return { consent, subject, reading, since: null, history: [] }
    }
    case 'consent.amended':
      return { reading: event.data }
    case 'consent.approved':
    case 'consent.denied':
    case 'consent.revoked':
    case 'consent.expired':
    case 'consent.conflicted':
      return { reading: { ...context.reading, status: event.data.status }, since: event.data.since ?? null }
    default:
      return {}
  }
}

// Decide

type State = SnapshotFrom<typeof chart>

function decide(state: State, message: Carried<ConsentMessage>): Decision<ConsentEvent> {
  const decideNow = () => decideKnown(state, message)
  return state.context.isErased ? decideErased(message, whenErased, decideNow) : decideNow()
}

function decideKnown(state: State, message: Carried<ConsentMessage>): Decision<ConsentEvent> {
  switch (message.type) {
    case 'consent.approve':
    case 'consent.deny':
    case 'consent.revoke':
      return ask(state, asks[message.type])
    case 'consent.readDetail':
      if (isUnknown(state)) return refuse(missing(state))
      return record({ type: 'consent.detailRequested', data: {}, effects: [readConsent(state.context)] })
    case 'consent.observe': {
      const events = message.isStale ? [] : seen(heldOf(state), message.data)
      return { events: events.map(event => withReading(state, event)) }
    }
    case 'consent.miss':
      if (isUnknown(state) || message.isStale) return record()
      return record({ type: 'consent.vanished', data: {}, anomaly: 'the service lists it no more' })
    case 'consent.passTime':
      return { events: lapse(heldOf(state), state.context.lapsed, message.data.now) }
    case 'consent.erase':
      return record({ type: 'consent.erased', data: {} })
    case 'consent.use':
      return record(use(state, message.data))
    case 'consentService.consentRead': {
      const { history, ...reading } = message.data
      return record(described(history), ...(message.isStale ? [] : readInFull(state, reading, history)))
    }
    case 'consentService.statusChanged':
      return { events: answered(heldOf(state), message.data) }
    case 'consentService.changeDeclined':
      return record({ type: 'consent.changeDeclined', data: message.data })
    case 'consentService.changeLost':
      return record(lostChange(heldOf(state), message.data, readConsent(state.context)))
    case 'consentService.readDeclined': {
      const { shown } = state.context
      // What the list showed is believed, though nobody tells when it came to be.
      const moves = shown === null ? [] : movesOf(heldOf(state), shown, [])
      return record({ type: 'consent.readDeclined', data: message.data }, ...moves)
    }
  }
}

/** A change is asked for only from the one status that the contract's table gives, and one at a time. */
function ask(state: State, status: RequestableStatus): Decision<ConsentEvent> {
  if (isUnknown(state)) return refuse(missing(state))
  if (state.matches({ knowledge: 'changing' })) return refuse('another change has not been answered yet')
  if (state.matches({ knowledge: 'uncertain' }))
    return refuse('the last change may have been made: read it first')
  if (state.matches({ knowledge: 'changed' }))
    return refuse('the service shows another status: its history is being read')
  const held = state.context.reading.status
  if (held !== askedFrom[status])
    return refuse(`it is ${held}, and only ${askedFrom[status]} becomes ${status}`)
  return record({
    type: 'consent.changeRequested',
    data: { status },
    effects: [changeStatus(state.context, status)],
  })
}

/** What a reading in full adds: the moves of its history that we have not recorded, each with its time. */
function readInFull(
  state: State,
  reading: ConsentReading,
  history: readonly HistoryEntry[],
): readonly ConsentEvent[] {
  const { consent, subject } = state.context
  return observed(heldOf(state), { ...reading, consent, subject }, history)
}

function described(history: readonly HistoryEntry[]): ConsentEvent {
  const data = { history: history.length, entries: history }
  const event = { type: 'consent.described', data } as const
  if (history.every(entry => entry.status !== null)) return event
  return { ...event, anomaly: 'its history shows a status that the contract does not have' }
}

/** Whoever sees another status in a list owes the reading in full, once. */
function withReading(state: State, event: ConsentEvent): ConsentEvent {
  const isFirst = event.type === 'consent.changeSeen' && state.context.shown === null
  return isFirst ? { ...event, effects: [readConsent(state.context)] } : event
}

/** A use is decided on all that is known at this very moment: nothing is appended in between. */
function use(state: State, asked: Use): ConsentEvent {
  const { reading, since } = state.context
  const { at, ageMaxMs, readAt } = asked
  const held = heldOf(state)
  const status = state.matches({ status: 'absent' }) ? null : reading.status
  const because = judge(
    { ...held, status, since, expiresAt: reading.expiresAt, readAt },
    {
      at,
      knownAt: at,
      ageMaxMs,
    },
  )
  const data = { at, ageMaxMs, readAt }
  if (because !== 'active') return { type: 'consent.useRefused', data: { ...data, because } }
  return { type: 'consent.used', data: { ...data, until: reading.expiresAt } }
}

/** Where the machine stands, for those who decide what a reading adds. */
export function heldOf(state: State): Held {
  const { reading, asked, shown, history } = state.context
  return {
    reading,
    asked,
    shown,
    history,
    isVanished: state.matches({ status: 'vanished' }),
    isUnknown: isUnknown(state),
    isDoubtful: state.matches({ knowledge: 'uncertain' }),
    isQuiet: state.matches({ knowledge: 'known' }) || state.matches({ knowledge: 'changed' }),
  }
}

function missing(state: State): string {
  return state.matches({ status: 'vanished' }) ? 'the service lists it no more' : 'nothing is known of it'
}

function isUnknown(state: State): boolean {
  return state.matches({ status: 'absent' }) || state.matches({ status: 'vanished' })
}

/** A consent request of one data subject, as the consent service keeps it (document 1). */
export const consentMachine: Machine = defineMachine({
  name: 'consent',
  version: 1,
  chart,
  decide,
  silent: [
    'consent.detailRequested',
    'consent.readDeclined',
    'consent.lapsed',
    'consent.used',
    'consent.useRefused',
    'consent.erased',
  ],
})
