import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Effect, Event, MessageWithParts } from '../../vocabulary/message.ts'
import { cpfAddress } from '../../vocabulary/names.ts'
import { defineMachine } from '../definition/define-machine.ts'
import { decideErased } from '../definition/erased.ts'
import { type Decision, type Machine, record, refuse } from '../definition/machine.ts'
import type { ErasureCompleted } from './erasure.ts'
import type { AwarenessReading, SubjectEvent, SubjectMessage, SyncAgain } from './messages.ts'

function serviceCall(subject: string, verb: string, parts: Record<string, string> = {}, data: object = {}) {
  return { type: `consentService.${verb}`, data, opens: { cpf: cpfAddress(subject), ...parts } }
}

/** The next reading of a schedule, unless the host has set another schedule since. */
function nextSync({ subject, everyMs, schedules }: SubjectContext, again: SyncAgain | undefined) {
  if (everyMs === null || again?.schedule !== schedules) return {}
  const reading = serviceCall(subject, 'listConsents', {}, { everyMs, schedule: schedules })
  return { effects: [{ ...reading, dueAt: again.dueAt }] }
}

interface SubjectContext {
  readonly subject: string
  /** The latest listed state of the awareness records that have not vanished. */
  readonly awareness: readonly AwarenessReading[]
  /** The interval of the schedule; null without one. */
  readonly everyMs: number | null
  readonly schedules: number
  readonly holds: readonly string[]
  /** The kinds of parts that an erasure has kept. */
  readonly keeps: readonly string[]
}

const chart = setup({
  types: { context: {} as SubjectContext, events: {} as SubjectEvent },
  actions: {
    keepSubject: assign({ subject: ({ context, event }) => enrolledSubject(event) ?? context.subject }),
    keepSchedule: assign(({ context, event }) =>
      event.type === 'subject.scheduled' ? { everyMs: event.data.everyMs, schedules: context.schedules + 1 } : {},
    ),
    endSchedule: assign({ everyMs: null }),
    keepHold: assign(({ context, event }) =>
      event.type === 'subject.held' ? { holds: [...context.holds, event.data.reason] } : {},
    ),
    endHold: assign(({ context, event }) =>
      event.type === 'subject.released' ? { holds: context.holds.filter(reason => reason !== event.data.reason) } : {},
    ),
    forget: assign(({ event }) => (event.type === 'subject.erased' ? { everyMs: null, keeps: event.data.keeps } : {})),
    keepRecord: assign({
      awareness: ({ context, event }) =>
        event.type === 'subject.awarenessAppeared' || event.type === 'subject.awarenessAmended'
          ? [...withoutRecord(context, event.data.record), toAwarenessReading(event.data)]
          : context.awareness,
    }),
    dropRecord: assign({
      awareness: ({ context, event }) =>
        event.type === 'subject.awarenessVanished' ? withoutRecord(context, event.data.record) : context.awareness,
    }),
  },
  guards: {
    isAuthenticated: ({ event }) => event.type === 'subject.loginRead' && event.data.isAuthenticated,
    keepsSome: ({ event }) => event.type === 'subject.erased' && event.data.isPartial,
  },
}).createMachine({
  id: 'subject',
  context: { subject: '', awareness: [], everyMs: null, schedules: 0, holds: [], keeps: [] },
  initial: 'unmet',
  states: {
    unmet: { on: { 'subject.enrolled': { target: 'enrolled', actions: 'keepSubject' } } },
    enrolled: {
      initial: 'loginUnread',
      on: {
        'subject.awarenessAppeared': { actions: 'keepRecord' },
        'subject.awarenessAmended': { actions: 'keepRecord' },
        'subject.awarenessVanished': { actions: 'dropRecord' },
        'subject.scheduled': { actions: 'keepSchedule' },
        'subject.unscheduled': { actions: 'endSchedule' },
        'subject.held': { actions: 'keepHold' },
        'subject.released': { actions: 'endHold' },
        'subject.erased': [
          { guard: 'keepsSome', target: 'erased.partly', actions: 'forget' },
          { target: 'erased.wholly', actions: 'forget' },
        ],
        'subject.loginRead': [{ guard: 'isAuthenticated', target: '.loggedIn' }, { target: '.loggedOut' }],
      },
      states: { loginUnread: {}, loggedIn: {}, loggedOut: {} },
    },
    erased: {
      initial: 'wholly',
      states: {
        // Kept data may be held, and erased later.
        partly: {
          on: {
            'subject.held': { actions: 'keepHold' },
            'subject.released': { actions: 'endHold' },
            'subject.erased': [
              { guard: 'keepsSome', target: 'partly', actions: 'forget' },
              { target: 'wholly', actions: 'forget' },
            ],
          },
        },
        wholly: {},
      },
    },
  },
})

function withoutRecord({ awareness }: SubjectContext, record: string): readonly AwarenessReading[] {
  return awareness.filter(each => each.record !== record)
}

function toAwarenessReading({ record, createdAt, controller }: AwarenessReading): AwarenessReading {
  return { record, createdAt, controller }
}

function enrolledSubject(event: SubjectEvent): string | undefined {
  return event.type === 'subject.enrolled' ? event.data.subject : undefined
}

type SubjectState = SnapshotFrom<typeof chart>

/** Messages that are refused or ignored after an erasure. Others are recorded without effects. */
const whenErased: Readonly<Partial<Record<SubjectMessage['type'], 'refused' | 'passed over'>>> = {
  'subject.enrol': 'refused',
  'subject.sync': 'refused',
  'subject.readAwareness': 'refused',
  'subject.readLogin': 'refused',
  'subject.readAwarenessDetail': 'refused',
  'subject.readLoginAddress': 'refused',
  'subject.refuseUse': 'refused',
  'subject.schedule': 'refused',
  'subject.erase': 'refused',
  'subject.hold': 'refused',
  'subject.release': 'refused',
  'subject.observeAwareness': 'passed over',
  'subject.missAwareness': 'passed over',
}

/** Commands that still apply to kept data after an erasure. */
const allowedForKeptData: ReadonlySet<SubjectMessage['type']> = new Set([
  'subject.erase',
  'subject.hold',
  'subject.release',
])

function decide(state: SubjectState, message: MessageWithParts<SubjectMessage>): Decision<SubjectEvent> {
  const decideNow = () => decideEnrolled(state, message)
  const isOfErasure = message.type === 'keys.rotated' || message.type === 'keys.epochsDestroyed'
  const isOfKept = allowedForKeptData.has(message.type) && state.matches({ erased: 'partly' })
  if (!state.matches('erased') || isOfErasure || isOfKept) return decideNow()
  return decideErased(message, whenErased, decideNow)
}

function decideEnrolled(state: SubjectState, message: MessageWithParts<SubjectMessage>): Decision<SubjectEvent> {
  if (message.type === 'subject.enrol') {
    return state.matches('unmet') ? record({ type: 'subject.enrolled', data: message.data }) : record()
  }
  if (state.matches('unmet')) return refuse('no data subject is enrolled under this id')
  const { subject } = state.context
  switch (message.type) {
    case 'subject.sync':
      return requestReading('subject.syncRequested', serviceCall(subject, 'listConsents'), message.data)
    case 'subject.refuseUse':
      return record({ type: 'subject.useRefused', data: { ...message.data, reason: 'never-read' } })
    case 'subject.schedule': {
      const { everyMs, dueAt, effects, isDefault } = message.data
      const hadSchedule = state.context.schedules > 0
      if ((isDefault && hadSchedule) || everyMs === state.context.everyMs) return record()
      const schedule = state.context.schedules + 1
      const next = nextSync({ ...state.context, everyMs, schedules: schedule }, { schedule, dueAt })
      return record({ type: 'subject.scheduled', data: { everyMs }, ...next, ...cancelEffects(effects) })
    }
    case 'subject.unschedule':
      if (state.context.everyMs === null) return record()
      return record({ type: 'subject.unscheduled', data: {}, ...cancelEffects(message.data.effects) })
    case 'subject.readAwareness':
      return requestReading('subject.awarenessRequested', serviceCall(subject, 'listAwareness'), message.data)
    case 'subject.readAwarenessDetail':
      return record({
        type: 'subject.awarenessDetailRequested',
        data: message.data,
        effects: [serviceCall(subject, 'readAwareness', { id: './id' }, message.data)],
      })
    case 'subject.readLogin':
      return requestReading('subject.loginRequested', serviceCall(subject, 'readLogin'), message.data)
    case 'subject.readLoginAddress': {
      const parts = message.data.hasRedirect ? { redirect: './redirect' } : {}
      const effects = [serviceCall(subject, 'readLoginAddress', parts)]
      return record({ type: 'subject.loginAddressRequested', data: message.data, effects })
    }
    case 'subject.erase':
    case 'subject.hold':
    case 'subject.release':
    case 'keys.rotated':
    case 'keys.epochsDestroyed':
      return decideErasure(state.context, message)
    default:
      return decideReading(state.context, message)
  }
}

type ErasureMessage = Extract<
  SubjectMessage,
  { type: 'subject.erase' | 'subject.hold' | 'subject.release' | `keys.${string}` }
>

function decideErasure({ holds }: SubjectContext, message: ErasureMessage): Decision<SubjectEvent> {
  switch (message.type) {
    case 'subject.erase': {
      const { requester, legalBasis, effects, ...erased } = message.data
      const request = { requester, legalBasis, keeps: erased.keeps }
      return record(
        { type: 'subject.erasureRequested', data: request },
        {
          type: 'subject.erased',
          data: { ...erased, isPartial: erased.keeps.length > 0 },
          effects: [{ type: 'keys.rotate', data: {} }],
          ...cancelEffects(effects),
        },
      )
    }
    case 'subject.hold':
      if (holds.includes(message.data.reason)) return record()
      return record({ type: 'subject.held', data: message.data })
    case 'subject.release':
      if (!holds.includes(message.data.reason)) return refuse('no hold has this reason', 'NOT_FOUND')
      return record({ type: 'subject.released', data: message.data })
    case 'keys.rotated':
      return record(erasureCompleted(message.data))
    case 'keys.epochsDestroyed':
      return record({ type: 'subject.epochsDestroyed', data: message.data })
  }
}

type ReadingMessage = Extract<
  SubjectMessage,
  { type: 'subject.observeAwareness' | 'subject.missAwareness' | `consentService.${string}` }
>

/** Decides the facts of a reading. */
function decideReading(context: SubjectContext, message: MessageWithParts<ReadingMessage>): Decision<SubjectEvent> {
  const { subject, awareness } = context
  switch (message.type) {
    case 'subject.observeAwareness':
      return record(...awarenessChanges(context, message))
    case 'subject.missAwareness':
      if (message.isStale || !awareness.some(each => each.record === message.data.record)) return record()
      return record({
        type: 'subject.awarenessVanished',
        data: message.data,
        anomaly: 'the service no longer lists it',
      })
    case 'consentService.consentsListed': {
      const { again, ...data } = message.data
      return record({
        type: 'subject.synced',
        data,
        ...anomalyIfUnreadable(data),
        ...nextSync(context, again),
      })
    }
    case 'consentService.awarenessListed':
      return record({
        type: 'subject.awarenessListed',
        data: message.data,
        ...anomalyIfUnreadable(message.data),
      })
    case 'consentService.awarenessRead':
      return record({ type: 'subject.awarenessDescribed', data: message.data })
    case 'consentService.loginRead':
      return record({ type: 'subject.loginRead', data: { ...message.data, subject } })
    case 'consentService.loginAddressRead':
      return record({ type: 'subject.loginAddressRead', data: {} })
    case 'consentService.readDeclined': {
      const { again, ...data } = message.data
      return record({ type: 'subject.readDeclined', data, ...nextSync(context, again) })
    }
  }
}

/** The events of a listed record: none when nothing changed, or when the reading is stale. */
function awarenessChanges(
  { subject, awareness }: SubjectContext,
  { data, isStale }: MessageWithParts<Extract<SubjectMessage, { type: 'subject.observeAwareness' }>>,
): readonly SubjectEvent[] {
  const held = awareness.find(each => each.record === data.record)
  if (!held) return [{ type: 'subject.awarenessAppeared', data: { ...data, subject } }]
  const isSame = held.createdAt === data.createdAt && held.controller === data.controller
  return isSame || isStale ? [] : [{ type: 'subject.awarenessAmended', data: toAwarenessReading(data) }]
}

/** Requests a reading, which replaces deferred ones. */
function requestReading(
  type: 'subject.syncRequested' | 'subject.awarenessRequested' | 'subject.loginRequested',
  reading: Effect,
  { effects }: { readonly effects?: readonly string[] },
): Decision<SubjectEvent> {
  return record({ type, data: {}, effects: [reading], ...cancelEffects(effects) })
}

function cancelEffects(effects: readonly string[] = []): Pick<Event, 'cancels'> {
  return effects.length > 0 ? { cancels: effects } : {}
}

/** The older epochs are destroyed when the backups made with them have expired. */
function erasureCompleted(data: ErasureCompleted): SubjectEvent {
  const { previous: epochs, copiesOpenUntil: dueAt } = data
  const next = epochs.length > 0 && { effects: [{ type: 'keys.destroyEpochs', data: { epochs }, dueAt }] }
  const anomaly = data.found > 0 ? { anomaly: 'the file still holds pieces of what was destroyed' } : {}
  return { type: 'subject.erasureCompleted', data, ...next, ...anomaly }
}

/** Unreadable records differ from the contract's form, such as by an unknown status. */
function anomalyIfUnreadable({ unreadable }: { unreadable: number }): Pick<Event, 'anomaly'> {
  return unreadable === 0 ? {} : { anomaly: 'records could not be read' }
}

// Only events about awareness records make a list of them stale.
const silent = [
  'subject.enrolled',
  'subject.syncRequested',
  'subject.awarenessRequested',
  'subject.loginRequested',
  'subject.scheduled',
  'subject.unscheduled',
  'subject.synced',
  'subject.awarenessDetailRequested',
  'subject.awarenessDescribed',
  'subject.loginRead',
  'subject.loginAddressRequested',
  'subject.loginAddressRead',
  'subject.readDeclined',
  'subject.useRefused',
  'subject.held',
  'subject.released',
] as const

/** A data subject and the readings about them (document 1). The CPF is encrypted. */
export const subjectMachine: Machine = defineMachine({
  name: 'subject',
  version: 1,
  chart,
  decide,
  silent,
})
