import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Event, Instant, Message } from '../vocabulary/message.ts'
import { actionsOf, typesOf } from './definition/chart-rules.ts'
import { defineMachine, record } from './definition/define-machine.ts'
import type { Recording, UnexpectedFact } from './definition/machine.ts'

export interface ReceivedNotification {
  readonly notification: string
  readonly evento: string
  /** The recipient: a person, a company's representatives, or a public body; null for any other kind. */
  readonly recipientKind: 'CPF' | 'CNPJ' | 'ORGAO' | null
  readonly bodyBytes: number
}

/** A notification from a failure record of the portal, which does not name the recipient. */
export interface RecoveredNotification {
  readonly notification: string
  readonly evento: string
  readonly failedAt: Instant | null
  readonly bodyBytes: number
}

/** The result of a handler. `waiting`: the handlers of this process that have not been called yet. */
interface HandlerResult {
  readonly handler: string
  readonly waiting: readonly string[]
}

export type NotificationEvent =
  /** The first event of a delivered notification: its part `body` holds the bytes and the recipient. */
  | Event<'notification.received', ReceivedNotification>
  /** The first event of a recovered notification, without a recipient; it may duplicate one stored in another form. */
  | Event<'notification.recovered', RecoveredNotification>
  /** The portal delivered the same content for the same recipient again within the window. */
  | Event<'notification.copied', unknown>
  | Event<'notification.handled', HandlerResult>
  /** `reason` holds nothing of the body: it is the name of an error, or how the body failed validation. */
  | Event<'notification.failed', HandlerResult & { attempts: number; retryAt: Instant; reason: string }>
  /** A handler failed too often. A person has to release it. */
  | Event<'notification.parked', HandlerResult & { attempts: number; reason: string }>
  /** These handlers are called again, with their attempts counted from zero. */
  | Event<'notification.replayed', { evento: string; handlers: readonly string[] }>
  /** A person decided that these handlers, which had failed, are not called again. */
  | Event<'notification.skipped', { handlers: readonly string[] }>
  | Event<'notification.unexpected', UnexpectedFact>

/** The events that store a notification, after which handlers are called. */
export const arrivals = ['notification.received', 'notification.recovered'] as const

interface TriedHandler {
  readonly handler: string
  /** All handlers of the `evento` in this process. */
  readonly handlers: readonly string[]
}

type NotificationMessage =
  | Message<'portal.notified', ReceivedNotification>
  | Message<'notification.recover', RecoveredNotification>
  | Message<'host.handled', TriedHandler>
  /** With `retryAt: null` the handler is parked. */
  | Message<'host.failed', TriedHandler & { reason: string; retryAt: Instant | null }>
  /** Calls handlers again: those that are failing or parked, or all that were called. */
  | Message<'notification.replay', { which: 'failed' | 'all' }>
  | Message<'notification.skip', unknown>

/** The state of one handler for a notification. */
export interface HandlerState {
  readonly handler: string
  readonly state: 'waiting' | 'failing' | 'handled' | 'parked' | 'skipped'
  readonly attempts: number
  readonly retryAt: Instant | null
  readonly reason: string
}

/** The overall state: parked or failing when one handler is, and handled when all are done. */
export type HandlingState = (typeof handlingStates)[number]

export const handlingStates = ['received', 'failing', 'handled', 'parked'] as const

export function handlingsAfter(before: readonly HandlerState[], event: NotificationEvent): readonly HandlerState[] {
  switch (event.type) {
    case 'notification.handled':
      return applyHandlerResult(before, event.data, { state: 'handled', attempts: 0, retryAt: null, reason: '' })
    case 'notification.failed': {
      const { attempts, retryAt, reason } = event.data
      return applyHandlerResult(before, event.data, { state: 'failing', attempts, retryAt, reason })
    }
    case 'notification.parked': {
      const { attempts, reason } = event.data
      return applyHandlerResult(before, event.data, { state: 'parked', attempts, retryAt: null, reason })
    }
    case 'notification.replayed':
    case 'notification.skipped': {
      const state = event.type === 'notification.skipped' ? 'skipped' : 'waiting'
      return event.data.handlers.map(handler => newHandling(handler, state)).reduce(replaceHandling, before)
    }
    default:
      return before
  }
}

/** The reason of a handler that was parked without a call, because the body was destroyed. A replay cannot help. */
export const bodyMissing = 'the body is no longer there'

/** Returns whether handlers are failing, or parked for a reason that a person can fix. */
export function overallTrouble(handlings: readonly HandlerState[]): 'failing' | 'parked' | null {
  const state = overallState(handlings.filter(each => each.state !== 'parked' || each.reason !== bodyMissing))
  return state === 'failing' || state === 'parked' ? state : null
}

export function overallState(handlings: readonly HandlerState[]): HandlingState {
  const is = (state: HandlerState['state']) => handlings.some(each => each.state === state)
  if (is('parked')) return 'parked'
  if (is('failing')) return 'failing'
  return is('waiting') || handlings.length === 0 ? 'received' : 'handled'
}

function applyHandlerResult(
  before: readonly HandlerState[],
  { handler, waiting }: HandlerResult,
  result: Omit<HandlerState, 'handler'>,
): readonly HandlerState[] {
  const added = waiting.filter(name => !before.some(each => each.handler === name)).map(name => newHandling(name))
  return [...replaceHandling(before, { handler, ...result }), ...added]
}

function newHandling(handler: string, state: 'waiting' | 'skipped' = 'waiting'): HandlerState {
  return { handler, state, attempts: 0, retryAt: null, reason: '' }
}

function replaceHandling(handlings: readonly HandlerState[], one: HandlerState): readonly HandlerState[] {
  return [...handlings.filter(each => each.handler !== one.handler), one]
}

interface NotificationContext {
  readonly evento: string
  readonly handlings: readonly HandlerState[]
}

/** Checks that the handlers together are in this state after an event. */
const leaves =
  (state: HandlingState) =>
  ({ context, event }: { context: NotificationContext; event: NotificationEvent }) =>
    overallState(handlingsAfter(context.handlings, event)) === state

const noneFailed = { refused: 'none of its handlers has failed: each is handled, or is still to be called' }
const parks = { target: '.parked', actions: 'keepHandlings' } as const
const fails = { target: '.failing', actions: 'keepHandlings' } as const
const waits = { target: '.received', actions: 'keepHandlings' } as const
const skippable = {
  'notification.skipped': [
    { guard: 'leavesReceived', target: 'received', actions: 'keepHandlings' },
    { target: 'handled', actions: 'keepHandlings' },
  ],
} as const

const chart = setup({
  types: typesOf<NotificationEvent, NotificationContext>(),
  guards: {
    ...{ leavesParked: leaves('parked'), leavesFailing: leaves('failing'), leavesReceived: leaves('received') },
    callsHandlers: ({ event }) => event.type === 'notification.replayed' && event.data.handlers.length > 0,
  },
  actions: {
    keepEvento: actionsOf<NotificationEvent, NotificationContext>()(arrivals, ({ data }) => ({ evento: data.evento })),
    keepHandlings: assign({ handlings: ({ context, event }) => handlingsAfter(context.handlings, event) }),
  },
}).createMachine({
  id: 'notification',
  description: 'A notification of the portal, and the handlers of the host that it is for.',
  context: { evento: '', handlings: [] },
  initial: 'absent',
  on: { 'notification.unexpected': {} },
  states: {
    absent: {
      description: 'It was not received.',
      meta: { refusesAll: { refused: 'it was not received' } },
      on: {
        'notification.received': { target: 'stored', actions: 'keepEvento' },
        'notification.recovered': { target: 'stored', actions: 'keepEvento' },
      },
    },
    stored: {
      description: 'Its body is stored, so the portal was told that it arrived.',
      initial: 'received',
      on: {
        'notification.copied': {},
        'notification.handled': [
          { guard: 'leavesParked', ...parks },
          { guard: 'leavesFailing', ...fails },
          { guard: 'leavesReceived', ...waits },
          { target: '.handled', actions: 'keepHandlings' },
        ],
        'notification.failed': [{ guard: 'leavesParked', ...parks }, fails],
        'notification.parked': parks,
        'notification.replayed': { guard: 'callsHandlers', ...waits },
      },
      meta: { refuses: { 'notification.replayed': noneFailed, 'notification.skipped': noneFailed } },
      states: {
        received: { description: 'A handler was not called yet.' },
        failing: { description: 'A handler failed, and is called again.', on: skippable },
        handled: { description: 'Every handler is done, or is not called again.' },
        parked: { description: 'A handler failed too often: a person has to release it.', on: skippable },
      },
    },
  },
})

function decide(state: SnapshotFrom<typeof chart>, message: NotificationMessage): Recording<NotificationEvent> {
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
      return decideHandlerResult(handlings, message)
    case 'notification.replay': {
      const { which } = message.data
      const again = handlings.filter(({ state }) =>
        which === 'all' ? state !== 'waiting' : state === 'failing' || state === 'parked',
      )
      const handlers = again.map(each => each.handler)
      return record({ type: 'notification.replayed', data: { evento, handlers } })
    }
    case 'notification.skip': {
      const failed = handlings.filter(({ state }) => state === 'failing' || state === 'parked')
      return record({ type: 'notification.skipped', data: { handlers: failed.map(each => each.handler) } })
    }
  }
}

/** When two processes called the handler, its result is recorded once. */
function decideHandlerResult(
  handlings: readonly HandlerState[],
  message: Extract<NotificationMessage, { type: 'host.handled' | 'host.failed' }>,
): Recording<NotificationEvent> {
  const { handler, handlers } = message.data
  const before = handlings.find(each => each.handler === handler)
  const waiting = handlers.filter(
    name => name !== handler && !handlings.some(each => each.handler === name && each.state !== 'waiting'),
  )
  if (before?.state === 'handled' || before?.state === 'skipped') return record()
  if (message.type === 'host.handled') return record({ type: 'notification.handled', data: { handler, waiting } })
  if (before?.state === 'parked') return record()
  const { reason, retryAt } = message.data
  const data = { handler, waiting, attempts: (before?.attempts ?? 0) + 1, reason }
  if (retryAt === null) return record({ type: 'notification.parked', data })
  return record({ type: 'notification.failed', data: { ...data, retryAt } })
}

/** A notification of the portal (document 3, section 6): stored before it is acknowledged, then handled. */
export const notificationMachine = defineMachine({
  name: 'notification',
  version: 1,
  chart,
  decide,
  commands: {
    'notification.replay': ['notification.replayed'],
    'notification.skip': ['notification.skipped'],
  },
  facts: {
    'portal.notified': ['notification.received', 'notification.copied'],
    'notification.recover': ['notification.recovered'],
    'host.handled': ['notification.handled'],
    'host.failed': ['notification.failed', 'notification.parked'],
  },
})
