import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Carried, Event, Instant, Message } from '../message.ts'
import { askedFrom, type ConsentStatus, moveType, type RequestableStatus } from './consent-status.ts'
import { defineMachine } from './define-machine.ts'
import { type Decision, type Machine, record, refuse } from './machine.ts'

// Events

/** A consent as a reading shows it. `controller` is null when what the service gave is not a CNPJ. */
export interface ConsentReading {
  readonly status: ConsentStatus
  readonly createdAt: Instant | null
  readonly expiresAt: Instant | null
  readonly controller: string | null
}

/** `by` says whose doing it was: our own request, or the service's, seen in a reading. */
interface Move {
  readonly status: ConsentStatus
  readonly by: 'us' | 'service'
}

export type ConsentEvent =
  /** Always the first: its part `record` holds the service's own id and texts. */
  | Event<'consent.appeared', ConsentReading & { consent: string; subject: string }>
  | Event<'consent.amended', ConsentReading>
  | Event<'consent.approved' | 'consent.denied' | 'consent.revoked' | 'consent.expired', Move>
  /** The service shows a status that its table does not lead to, or answers with another than was asked. */
  | Event<'consent.conflicted', Move & { held: ConsentStatus }>
  | Event<'consent.vanished', Record<string, never>>
  /** By our clock `dataExpiracao` has passed. The status stays the service's word. */
  | Event<'consent.lapsed', { expiresAt: Instant }>
  /** The service shows what we hold: said only where an effect or a doubt ends with it. */
  | Event<'consent.confirmed', { status: ConsentStatus }>
  | Event<'consent.changeRequested', { status: RequestableStatus }>
  | Event<'consent.changeDeclined' | 'consent.readDeclined', { httpStatus: number }>
  | Event<'consent.changeLost', Record<string, never>>
  | Event<'consent.detailRequested', Record<string, never>>
  /** Its part `detail` holds the whole answer. */
  | Event<'consent.described', { history: number }>

// Commands, and facts from outside

export type ConsentMessage =
  | Message<'consent.approve' | 'consent.deny' | 'consent.revoke' | 'consent.readDetail', unknown>
  | Message<'consent.observe', ConsentReading & { consent: string; subject: string }>
  | Message<'consent.miss', unknown>
  | Message<'consent.passTime', { now: Instant }>
  | Message<'consentService.statusChanged', ConsentReading>
  | Message<'consentService.consentRead', ConsentReading & { history: number }>
  | Message<'consentService.changeDeclined' | 'consentService.readDeclined', { httpStatus: number }>
  | Message<'consentService.changeLost', unknown>

const asks = { 'consent.approve': 'ATIVO', 'consent.deny': 'NEGADO', 'consent.revoke': 'REVOGADO' } as const

// Effects

const changeStatus = (context: Context, status: RequestableStatus) => ({
  type: 'consentService.changeStatus',
  data: { status },
  opens: addresses(context),
})

const readConsent = (context: Context) => ({
  type: 'consentService.readConsent',
  data: {},
  opens: addresses(context),
})

function addresses({ consent, subject }: Context) {
  return { cpf: `subject-${subject}/1/cpf`, record: `consent-${consent}/1/record` }
}

// Chart

interface Context {
  readonly consent: string
  readonly subject: string
  readonly reading: ConsentReading
  /** What we asked the service for and have not heard of. */
  readonly asked: RequestableStatus | null
  /** The end that was said to have passed. */
  readonly lapsed: Instant | null
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

const ended = { target: 'known', actions: 'forgetAsked' } as const
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
    forgetAsked: assign({ asked: null }),
    keepLapsed: assign({
      lapsed: ({ event }) => (event.type === 'consent.lapsed' ? event.data.expiresAt : null),
    }),
  },
}).createMachine({
  id: 'consent',
  context: { consent: '', subject: '', reading: nothing, asked: null, lapsed: null },
  type: 'parallel',
  states: {
    status: {
      initial: 'absent',
      on: {
        'consent.appeared': asShown,
        'consent.conflicted': asShown,
        'consent.amended': { actions: 'keepReading' },
        'consent.lapsed': { actions: 'keepLapsed' },
        'consent.vanished': '.vanished',
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
        known: { on: { 'consent.changeRequested': { target: 'changing', actions: 'keepAsked' } } },
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
      return { consent, subject, reading }
    }
    case 'consent.amended':
      return { reading: event.data }
    case 'consent.approved':
    case 'consent.denied':
    case 'consent.revoked':
    case 'consent.expired':
    case 'consent.conflicted':
      return { reading: { ...context.reading, status: event.data.status } }
    default:
      return {}
  }
}

// Decide

type State = SnapshotFrom<typeof chart>

function decide(state: State, message: Carried<ConsentMessage>): Decision<ConsentEvent> {
  switch (message.type) {
    case 'consent.approve':
    case 'consent.deny':
    case 'consent.revoke':
      return ask(state, asks[message.type])
    case 'consent.readDetail':
      if (isUnknown(state)) return refuse(missing(state))
      return record({ type: 'consent.detailRequested', data: {}, effects: [readConsent(state.context)] })
    case 'consent.observe':
      return { events: message.isStale ? [] : observe(state, message.data, message.data) }
    case 'consent.miss':
      return isUnknown(state) || message.isStale ? record() : record({ type: 'consent.vanished', data: {} })
    case 'consent.passTime':
      return { events: lapse(state, message.data.now) }
    case 'consentService.consentRead': {
      const { history, ...reading } = message.data
      const described: ConsentEvent = { type: 'consent.described', data: { history } }
      return record(described, ...(message.isStale ? [] : observe(state, reading, state.context)))
    }
    case 'consentService.statusChanged':
      return { events: answered(state, message.data) }
    case 'consentService.changeDeclined':
      return record({ type: 'consent.changeDeclined', data: message.data })
    case 'consentService.changeLost':
      return record({ type: 'consent.changeLost', data: {}, effects: [readConsent(state.context)] })
    case 'consentService.readDeclined':
      return record({ type: 'consent.readDeclined', data: message.data })
  }
}

/** A change is asked for only from the one status that the contract's table gives, and one at a time. */
function ask(state: State, status: RequestableStatus): Decision<ConsentEvent> {
  if (isUnknown(state)) return refuse(missing(state))
  if (state.matches({ knowledge: 'changing' })) return refuse('another change has not been answered yet')
  if (state.matches({ knowledge: 'uncertain' }))
    return refuse('the last change may have been made: read it first')
  const held = state.context.reading.status
  if (held !== askedFrom[status])
    return refuse(`it is ${held}, and only ${askedFrom[status]} becomes ${status}`)
  return record({
    type: 'consent.changeRequested',
    data: { status },
    effects: [changeStatus(state.context, status)],
  })
}

/** Time passed: whether the end of a consent that still stands has come. */
function lapse(state: State, now: Instant): ConsentEvent[] {
  const { status, expiresAt } = state.context.reading
  const isLive = !isUnknown(state) && (status === 'PENDENTE' || status === 'ATIVO')
  if (!isLive || expiresAt === null || expiresAt > now || expiresAt === state.context.lapsed) return []
  return [{ type: 'consent.lapsed', data: { expiresAt } }]
}

/** What a reading adds to what we hold: nothing when nothing changed. */
function observe(
  state: State,
  shown: ConsentReading,
  { consent, subject }: { consent: string; subject: string },
): ConsentEvent[] {
  const { status, createdAt, expiresAt, controller } = shown
  const reading = { status, createdAt, expiresAt, controller }
  const { reading: held, asked } = state.context
  if (isUnknown(state)) {
    const appeared: ConsentEvent = { type: 'consent.appeared', data: { consent, subject, ...reading } }
    return [state.matches({ status: 'vanished' }) ? { ...appeared, anomaly: 'it had vanished' } : appeared]
  }
  const amended: ConsentEvent[] = isSame({ ...held, status }, reading)
    ? []
    : [{ type: 'consent.amended', data: { ...reading, status: held.status } }]
  const isDoubtful = state.matches({ knowledge: 'uncertain' })
  if (status !== held.status) {
    const by = status === asked ? 'us' : 'service'
    return [...amended, { ...move(state, status, by), ...(isDoubtful && resolution(status === asked)) }]
  }
  if (!isDoubtful) return amended
  return [...amended, { type: 'consent.confirmed', data: { status }, ...resolution(false) }]
}

/** The service answered our request for a change with the consent as it stands now. */
function answered(state: State, { status }: ConsentReading): ConsentEvent[] {
  const { reading: held, asked } = state.context
  if (asked !== null && status !== asked) {
    const data = { status, by: 'service', held: held.status } as const
    return [{ type: 'consent.conflicted', data, anomaly: `the service was asked for ${asked}` }]
  }
  if (status === held.status) return [{ type: 'consent.confirmed', data: { status } }]
  return [move(state, status, 'us')]
}

/** A move of the contract's table, or else a conflict, marked. */
function move(state: State, status: ConsentStatus, by: Move['by']): ConsentEvent {
  const held = state.context.reading.status
  const type = moveType(held, status)
  if (type) return { type, data: { status, by } }
  return {
    type: 'consent.conflicted',
    data: { status, by, held },
    anomaly: `no move leads from ${held} to ${status}`,
  }
}

/** Ends the change whose answer was lost. */
function resolution(isDone: boolean): Pick<Event, 'resolves'> {
  return { resolves: { effect: 'consentService.changeStatus', as: isDone ? 'settled' : 'declined' } }
}

function missing(state: State): string {
  return state.matches({ status: 'vanished' }) ? 'the service lists it no more' : 'nothing is known of it'
}

function isUnknown(state: State): boolean {
  return state.matches({ status: 'absent' }) || state.matches({ status: 'vanished' })
}

function isSame(a: ConsentReading, b: ConsentReading): boolean {
  return (
    a.status === b.status &&
    a.createdAt === b.createdAt &&
    a.expiresAt === b.expiresAt &&
    a.controller === b.controller
  )
}

/** A consent request of one data subject, as the consent service keeps it (document 1). */
export const consentMachine: Machine = defineMachine({ name: 'consent', version: 1, chart, decide })
