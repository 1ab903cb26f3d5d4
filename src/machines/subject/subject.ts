import type { Event, MessageWithParts } from '../../vocabulary/message.ts'
import { cpfAddress } from '../../vocabulary/names.ts'
import { defineMachine, record } from '../definition/define-machine.ts'
import type { Recording } from '../definition/machine.ts'
import { chart, findAwareness, type SubjectState, toAwarenessReading } from './chart.ts'
import type { ErasureCompleted, SubjectEvent, SubjectMessage, SyncAgain } from './messages.ts'

function serviceCall(subject: string, verb: string, parts: Record<string, string> = {}, data: object = {}) {
  return { type: `consentService.${verb}`, data, opens: { cpf: cpfAddress(subject), ...parts } }
}

function nextSync(subject: string, everyMs: number, { schedule, dueAt }: SyncAgain): Pick<Event, 'effects'> {
  return { effects: [{ ...serviceCall(subject, 'listConsents', {}, { everyMs, schedule }), dueAt }] }
}

/** The next reading after another one, unless the host has ended the schedule or set another one since. */
function nextAfter(state: SubjectState, again: SyncAgain | undefined): Pick<Event, 'effects'> {
  const { subject, everyMs, schedules } = state.context
  const continues = state.matches({ enrolled: 'scheduled' }) && again?.schedule === schedules
  return continues ? nextSync(subject, everyMs, again) : {}
}

function decide(state: SubjectState, message: MessageWithParts<SubjectMessage>): Recording<SubjectEvent> {
  const { subject, holds } = state.context
  switch (message.type) {
    case 'subject.enrol':
      return state.matches('enrolled') ? record() : record({ type: 'subject.enrolled', data: message.data })
    case 'subject.sync':
      return requestReading('subject.syncRequested', 'listConsents', subject, message.data)
    case 'subject.refuseUse':
      return record({ type: 'subject.useRefused', data: { ...message.data, reason: 'never-read' } })
    case 'subject.schedule':
      return decideSchedule(state, message.data)
    case 'subject.unschedule':
      if (state.matches({ enrolled: 'unscheduled' }) || state.matches({ enrolled: 'ended' })) return record()
      return record({ type: 'subject.unscheduled', data: {}, ...cancelEffects(message.data.effects) })
    case 'subject.readAwareness':
      return requestReading('subject.awarenessRequested', 'listAwareness', subject, message.data)
    case 'subject.readAwarenessDetail':
      return record({
        type: 'subject.awarenessDetailRequested',
        data: message.data,
        effects: [serviceCall(subject, 'readAwareness', { id: './id' }, message.data)],
      })
    case 'subject.readLogin':
      return requestReading('subject.loginRequested', 'readLogin', subject, message.data)
    case 'subject.readLoginAddress': {
      const parts = message.data.hasRedirect ? { redirect: './redirect' } : {}
      const effects = [serviceCall(subject, 'readLoginAddress', parts)]
      return record({ type: 'subject.loginAddressRequested', data: message.data, effects })
    }
    case 'subject.hold':
      return holds.includes(message.data.reason) ? record() : record({ type: 'subject.held', data: message.data })
    case 'subject.release':
      return record({ type: 'subject.released', data: message.data })
    case 'subject.erase': {
      const { requester, legalBasis, effects, ...erased } = message.data
      return record(
        { type: 'subject.erasureRequested', data: { requester, legalBasis, keeps: erased.keeps } },
        {
          type: 'subject.erased',
          data: { ...erased, isPartial: erased.keeps.length > 0 },
          effects: [{ type: 'keys.rotate', data: {} }],
          ...cancelEffects(effects),
        },
      )
    }
    case 'keys.rotated':
      return record(erasureCompleted(message.data))
    case 'keys.epochsDestroyed':
      return record({ type: 'subject.epochsDestroyed', data: message.data })
    case 'subject.observeAwareness':
      return { events: awarenessChanges(state, message) }
    case 'subject.missAwareness':
      if (message.isStale || !findAwareness(state.context, message.data.record)) return record()
      return record({
        type: 'subject.awarenessVanished',
        data: message.data,
        anomaly: 'the service no longer lists it',
      })
    case 'consentService.consentsListed': {
      const { again, ...data } = message.data
      return record({ type: 'subject.synced', data, ...anomalyIfUnreadable(data), ...nextAfter(state, again) })
    }
    case 'consentService.awarenessListed':
      return record({ type: 'subject.awarenessListed', data: message.data, ...anomalyIfUnreadable(message.data) })
    case 'consentService.awarenessRead':
      return record({ type: 'subject.awarenessDescribed', data: message.data })
    case 'consentService.loginRead':
      return record({ type: 'subject.loginRead', data: { ...message.data, subject } })
    case 'consentService.loginAddressRead':
      return record({ type: 'subject.loginAddressRead', data: {} })
    case 'consentService.readDeclined': {
      const { again, ...data } = message.data
      return record({ type: 'subject.readDeclined', data, ...nextAfter(state, again) })
    }
  }
}

/** Begins a schedule, unless the same one goes on. A default does not replace the host's, ended or not. */
function decideSchedule(
  state: SubjectState,
  { everyMs, dueAt, effects, isDefault }: Extract<SubjectMessage, { type: 'subject.schedule' }>['data'],
): Recording<SubjectEvent> {
  const { context } = state
  const isScheduled = state.matches({ enrolled: 'scheduled' })
  const hadSchedule = isScheduled || state.matches({ enrolled: 'ended' })
  if (isDefault ? hadSchedule : isScheduled && everyMs === context.everyMs) return record()
  const next = nextSync(context.subject, everyMs, { schedule: context.schedules + 1, dueAt })
  return record({ type: 'subject.scheduled', data: { everyMs }, ...next, ...cancelEffects(effects) })
}

/** The events of a listed record: none when nothing changed, or when the reading is stale. */
function awarenessChanges(
  state: SubjectState,
  { data, isStale }: MessageWithParts<Extract<SubjectMessage, { type: 'subject.observeAwareness' }>>,
): readonly SubjectEvent[] {
  const known = findAwareness(state.context, data.record)
  const { subject } = state.context
  if (!known) return [{ type: 'subject.awarenessAppeared', data: { ...data, subject } }]
  const isSame = known.createdAt === data.createdAt && known.controller === data.controller
  return isSame || isStale ? [] : [{ type: 'subject.awarenessAmended', data: toAwarenessReading(data) }]
}

function requestReading(
  type: 'subject.syncRequested' | 'subject.awarenessRequested' | 'subject.loginRequested',
  verb: string,
  subject: string,
  { effects, ...data }: { readonly effects?: readonly string[]; readonly controller?: string },
): Recording<SubjectEvent> {
  return record({ type, data, effects: [serviceCall(subject, verb, {}, data)], ...cancelEffects(effects) })
}

function cancelEffects(effects: readonly string[] = []): Pick<Event, 'cancels'> {
  return effects.length > 0 ? { cancels: effects } : {}
}

const backupsNeedThem = 'backups from before the erasure need these keys until then'

/** The older epochs are destroyed when the backups made with them have expired. */
function erasureCompleted(data: ErasureCompleted): SubjectEvent {
  const { previous: epochs, copiesOpenUntil: dueAt } = data
  const next = epochs.length > 0 && {
    effects: [{ type: 'keys.destroyEpochs', data: { epochs }, dueAt, reason: backupsNeedThem }],
  }
  const anomaly = data.found > 0 ? { anomaly: 'the file still holds pieces of what was destroyed' } : {}
  return { type: 'subject.erasureCompleted', data, ...next, ...anomaly }
}

/** Unreadable records differ from the contract's form, such as by an unknown status. */
function anomalyIfUnreadable({ unreadable }: { unreadable: number }): Pick<Event, 'anomaly'> {
  return unreadable === 0 ? {} : { anomaly: 'records could not be read' }
}

const readsConsents = ['consentService.listConsents']

/** A data subject and the readings about them (document 1). The CPF is encrypted. */
export const subjectMachine = defineMachine({
  name: 'subject',
  version: 1,
  chart,
  decide,
  // Only events about awareness records make a list of them stale.
  silent: [
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
  ],
  commands: {
    'subject.enrol': ['subject.enrolled'],
    'subject.sync': ['subject.syncRequested'],
    'subject.schedule': ['subject.scheduled'],
    'subject.unschedule': ['subject.unscheduled'],
    'subject.readAwareness': ['subject.awarenessRequested'],
    'subject.readAwarenessDetail': ['subject.awarenessDetailRequested'],
    'subject.readLogin': ['subject.loginRequested'],
    'subject.readLoginAddress': ['subject.loginAddressRequested'],
    'subject.refuseUse': ['subject.useRefused'],
    'subject.hold': ['subject.held'],
    'subject.release': ['subject.released'],
    'subject.erase': ['subject.erasureRequested', 'subject.erased'],
  },
  facts: {
    'subject.observeAwareness': ['subject.awarenessAppeared', 'subject.awarenessAmended'],
    'subject.missAwareness': ['subject.awarenessVanished'],
    'consentService.consentsListed': ['subject.synced'],
    'consentService.awarenessListed': ['subject.awarenessListed'],
    'consentService.awarenessRead': ['subject.awarenessDescribed'],
    'consentService.loginRead': ['subject.loginRead'],
    'consentService.loginAddressRead': ['subject.loginAddressRead'],
    'consentService.readDeclined': ['subject.readDeclined'],
    'keys.rotated': ['subject.erasureCompleted'],
    'keys.epochsDestroyed': ['subject.epochsDestroyed'],
  },
  effects: {
    'subject.syncRequested': readsConsents,
    'subject.scheduled': readsConsents,
    'subject.synced': readsConsents,
    'subject.readDeclined': readsConsents,
    'subject.awarenessRequested': ['consentService.listAwareness'],
    'subject.awarenessDetailRequested': ['consentService.readAwareness'],
    'subject.loginRequested': ['consentService.readLogin'],
    'subject.loginAddressRequested': ['consentService.readLoginAddress'],
    'subject.erased': ['keys.rotate'],
    'subject.erasureCompleted': ['keys.destroyEpochs'],
  },
})
