import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Event, Instant, Message } from '../vocabulary/message.ts'
import { defineMachine } from './definition/define-machine.ts'
import { type Decision, type Machine, record, refuse } from './definition/machine.ts'

// Events

/** A notification as the portal delivered it. */
export interface ReceivedNotification {
  readonly notification: string
  readonly evento: string
  /** How the recipient was named: a person, a company's representatives, or a public body; null for any other kind. */
  readonly recipientKind: 'CPF' | 'CNPJ' | 'ORGAO' | null
  readonly bodyBytes: number
}

/** A notification found in a failure record of the portal, which does not tell whom it was for. */
export interface RecoveredNotification {
  readonly notification: string
  readonly evento: string
  readonly failedAt: Instant | null
  readonly bodyBytes: number
}

/** The result of a handler. `waiting` are the handlers of its process that have not been called yet. */
interface HandlerResult {
  readonly handler: string
  readonly waiting: readonly string[]
}

/** What is recorded of a notification and its handlers. */
export type NotificationEvent =
  /** Always the first: its part `body` holds the bytes, and who was addressed. */
  | Event<'notification.received', ReceivedNotification>
  /** Or this is the first, without a recipient: the same may have been stored before, in another form. */
  | Event<'notification.recovered', RecoveredNotification>
  /** The same content for the same recipient came again within the window. */
  | Event<'notification.copied', unknown>
  | Event<'notification.handled', HandlerResult>
  /** `because` holds nothing of the body: the name of an error, or the kind of misfit. */
  | Event<'notification.failed', HandlerResult & { attempts: number; retryAt: Instant; reason: string }>
  /** A handler failed too often: a person has to release it. */
  | Event<'notification.parked', HandlerResult & { attempts: number; reason: string }>
  /** These handlers are called again, as if for the first time. */
  | Event<'notification.replayed', { evento: string; handlers: readonly string[] }>

/** The events that bring a notification in, for which handlers are called. */
export const arrivals = ['notification.received', 'notification.recovered'] as const

// Commands, and facts from outside

interface TriedHandler {
  readonly handler: string
  /** All handlers of the event in the process. */
  readonly handlers: readonly string[]
}

type NotificationMessage =
  | Message<'portal.notified', ReceivedNotification>
  | Message<'notification.recover', RecoveredNotification>
  | Message<'host.handled', TriedHandler>
  /** Without a time to try it again, it is parked. */
  | Message<'host.failed', TriedHandler & { reason: string; retryAt: Instant | null }>
  /** Again for the handlers that are parked, or for all that were called. */
  | Message<'notification.replay', { which: 'parked' | 'all' }>

// Chart

/** Where one handler stands with a notification. */
export interface HandlerState {
  readonly handler: string
  readonly state: 'waiting' | 'failing' | 'handled' | 'parked'
  /** How often it failed. */
  readonly attempts: number
  readonly retryAt: Instant | null
  readonly reason: string
}

/** Where all of them stand: parked or failing when one of them is, and handled when all are. */
export type HandlingState = (typeof handlingStates)[number]

/** Every one of these. */
export const handlingStates = ['received', 'failing', 'handled', 'parked'] as const

/** How the handlers of a notification stand after an event. */
export function handlingsAfter(
  before: readonly HandlerState[],
  event: NotificationEvent,
): readonly HandlerState[] {
  switch (event.type) {
    case 'notification.handled':
      return applyHandlerResult(before, event.data, {
        state: 'handled',
        attempts: 0,
        retryAt: null,
        reason: '',
      })
    case 'notification.failed': {
      const { attempts, retryAt, reason } = event.data
      return applyHandlerResult(before, event.data, { state: 'failing', attempts, retryAt, reason })
    }
    case 'notification.parked': {
      const { attempts, reason } = event.data
      return applyHandlerResult(before, event.data, { state: 'parked', attempts, retryAt: null, reason })
    }
    case 'notification.replayed':
      return event.data.handlers.reduce(
        (handlings, handler) => replaceHandling(handlings, newHandling(handler)),
        before,
      )
    default:
      return before
  }
}

/** Why a handler is parked that was not called: nothing can be mended there, and a replay changes nothing. */
export const bodyMissing = 'the body is no longer there'

/** Sums up where the handlers stand that failed, or are parked for something that a person can mend. */
export function overallTrouble(handlings: readonly HandlerState[]): 'failing' | 'parked' | null {
  const state = overallState(handlings.filter(each => each.state !== 'parked' || each.reason !== bodyMissing))
  return state === 'failing' || state === 'parked' ? state : null
}

/** Sums up where the handlers stand. */
export function overallState(handlings: readonly HandlerState[]): HandlingState {
  const is = (state: HandlerState['state']) => handlings.some(each => each.state === state)
  if (is('parked')) return 'parked'
  if (is('failing')) return 'failing'
  return is('waiting') || handlings.length === 0 ? 'received' : 'handled'
}

function applyHandlerResult(
  before: readonly HandlerState[],
  { handler, waiting }: HandlerResult,
  how: Omit<HandlerState, 'handler'>,
): readonly HandlerState[] {
  return waiting
    .filter(name => !before.some(each => each.handler === name))
    .reduce(
      (handlings, name) => replaceHandling(handlings, newHandling(name)),
      replaceHandling(before, { handler, ...how }),
    )
}

function newHandling(handler: string): HandlerState {
  return { handler, state: 'waiting', attempts: 0, retryAt: null, reason: '' }
}

function replaceHandling(handlings: readonly HandlerState[], one: HandlerState): readonly HandlerState[] {
  return [...handlings.filter(each => each.handler !== one.handler), one]
}

interface NotificationContext {
  readonly evento: string
  readonly handlings: readonly HandlerState[]
}

const leadsTo =
  (state: HandlingState) =>
  ({ context, event }: { context: NotificationContext; event: NotificationEvent }) =>
    overallState(handlingsAfter(context.handlings, event)) === state

const handlerMoves = [
  { guard: 'isParked', target: '.parked', actions: 'keepHandlings' },
  { guard: 'isFailing', target: '.failing', actions: 'keepHandlings' },
  { guard: 'isWaiting', target: '.received', actions: 'keepHandlings' },
  { target: '.handled', actions: 'keepHandlings' },
] as const

const chart = setup({
  types: { context: {} as NotificationContext, events: {} as NotificationEvent },
  guards: { isParked: leadsTo('parked'), isFailing: leadsTo('failing'), isWaiting: leadsTo('received') },
  actions: {
    keepEvento: assign({
      evento: ({ context, event }) =>
        event.type === 'notification.received' || event.type === 'notification.recovered'
          ? event.data.evento
          : context.evento,
    }),
    keepHandlings: assign({ handlings: ({ context, event }) => handlingsAfter(context.handlings, event) }),
  },
}).createMachine({
  id: 'notification',
  context: { evento: '', handlings: [] },
  initial: 'absent',
  on: {
    'notification.handled': handlerMoves,
    'notification.failed': handlerMoves,
    'notification.parked': handlerMoves,
    'notification.replayed': handlerMoves,
  },
  states: {
    absent: {
      on: {
        'notification.received': { target: 'received', actions: 'keepEvento' },
        'notification.recovered': { target: 'received', actions: 'keepEvento' },
      },
    },
    received: {},
    failing: {},
    handled: {},
    parked: {},
  },
})

// Decide

function decide(
  state: SnapshotFrom<typeof chart>,
  message: NotificationMessage,
): Decision<NotificationEvent> {
  const { evento, handlings } = state.context
  const isAbsent = state.matches('absent')
  switch (message.type) {
    case 'portal.notified':
      if (isAbsent) return record({ type: 'notification.received', data: message.data })
      return record({ type: 'notification.copied', data: {} })
    case 'notification.recover':
      return isAbsent ? record({ type: 'notification.recovered', data: message.data }) : record()
    case 'host.handled':
    case 'host.failed':
      return isAbsent ? record() : decideHandlerResult(handlings, message)
    case 'notification.replay': {
      const again = handlings.filter(({ state: stands }) => {
        return stands === 'parked' || (message.data.which === 'all' && stands === 'handled')
      })
      if (again.length === 0) return refuse('no handler of it is to be called again')
      const handlers = again.map(each => each.handler)
      return record({ type: 'notification.replayed', data: { evento, handlers } })
    }
  }
}

/** A result that two processes report, because both called the handler, is recorded once. */
function decideHandlerResult(
  handlings: readonly HandlerState[],
  message: Extract<NotificationMessage, { type: 'host.handled' | 'host.failed' }>,
): Decision<NotificationEvent> {
  const { handler, handlers } = message.data
  const before = handlings.find(each => each.handler === handler)
  const waiting = handlers.filter(
    name => name !== handler && !handlings.some(each => each.handler === name && each.state !== 'waiting'),
  )
  if (before?.state === 'handled') return record()
  if (message.type === 'host.handled') {
    return record({ type: 'notification.handled', data: { handler, waiting } })
  }
  if (before?.state === 'parked') return record()
  const { reason, retryAt } = message.data
  const data = { handler, waiting, attempts: (before?.attempts ?? 0) + 1, reason }
  if (retryAt === null) return record({ type: 'notification.parked', data })
  return record({ type: 'notification.failed', data: { ...data, retryAt } })
}

/** A notification that the portal sent (document 3, section 6): stored before it is acknowledged, then handled. */
export const notificationMachine: Machine = defineMachine({ name: 'notification', version: 1, chart, decide })
