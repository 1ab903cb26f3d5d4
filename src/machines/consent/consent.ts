import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Effect, Instant, MessageWithParts } from '../../vocabulary/message.ts'
import { cpfAddress, streamOf } from '../../vocabulary/names.ts'
import { defineMachine } from '../definition/define-machine.ts'
import { decideErased } from '../definition/erased.ts'
import { type Decision, type Machine, record, refuse } from '../definition/machine.ts'
import { answered, lost, refused } from './answers.ts'
import { type ConsentChartState, chart, heldOf, isUnknown } from './chart.ts'
import { type ConsentView, oldReadingsMax } from './context.ts'
import { type ConsentEvent, type ConsentMessage, type ConsentReading, type UseQuestion, whenErased } from './events.ts'
import { type HistoryEntry, isContradicted } from './history.ts'
import { movesOf } from './moves.ts'
import {
  concurrentMiss,
  concurrentRead,
  lapse,
  lateChangeMs,
  maybeOlderUntil,
  mayStillBeMade,
  observed,
  seen,
} from './readings.ts'
import { judge } from './standing.ts'
import { askedFrom, type RequestableStatus } from './status.ts'

const asks = { 'consent.approve': 'ATIVO', 'consent.deny': 'NEGADO', 'consent.revoke': 'REVOGADO' } as const
const asksInstead = {
  'consent.approveInstead': 'ATIVO',
  'consent.denyInstead': 'NEGADO',
  'consent.revokeInstead': 'REVOGADO',
} as const

function decide(state: ConsentChartState, message: MessageWithParts<ConsentMessage>): Decision<ConsentEvent> {
  const decideNow = () => decideKnown(state, message)
  return state.context.isErased ? decideErased(message, whenErased, decideNow) : decideNow()
}

function decideKnown(state: ConsentChartState, message: MessageWithParts<ConsentMessage>): Decision<ConsentEvent> {
  switch (message.type) {
    case 'consent.approve':
    case 'consent.deny':
    case 'consent.revoke':
      return ask(state, message.data, asks[message.type])
    case 'consent.approveInstead':
    case 'consent.denyInstead':
    case 'consent.revokeInstead':
      return ask(state, message.data, asksInstead[message.type], state.context.asked)
    case 'consent.readDetail':
      if (isUnknown(state)) return refuse(missing(state))
      return record({ type: 'consent.detailRequested', data: {}, effects: [readConsent(state.context)] })
    case 'consent.observe': {
      const held = heldOf(state)
      const isOld = message.isStale || maybeOlderUntil(held, message.data) !== undefined
      return withReading(state, isOld ? concurrentRead(held, message.data) : seen(held, message.data))
    }
    case 'consent.observeUnreadable': {
      const { shown, isReadingOwed } = state.context
      if (isUnknown(state) || (shown === 'unreadable' && isReadingOwed)) return record()
      const anomaly = 'the service shows it in a form that cannot be read'
      return withReading(state, [{ type: 'consent.changeSeen', data: { status: null }, anomaly }])
    }
    case 'consent.miss':
      if (isUnknown(state)) return record()
      if (message.isStale) return withReading(state, concurrentMiss(heldOf(state)))
      return record({ type: 'consent.vanished', data: {}, anomaly: 'the service no longer lists it' })
    case 'consent.passTime':
      return { events: lapse(heldOf(state), state.context.lapsed, message.data.now) }
    case 'consent.erase':
      return record({ type: 'consent.erased', data: {} })
    case 'consent.use':
      return record(use(state, message.data))
    case 'consentService.consentRead':
      return { events: readInFull(state, message) }
    case 'consentService.statusChanged':
      return withReading(state, answered(heldOf(state), message.data, readConsent(state.context)))
    case 'consent.withholdChange':
      return record({ type: 'consent.changeWithheld', data: message.data })
    case 'consentService.changeDeclined':
      return record(refused(heldOf(state), message.data, readConsent(state.context)))
    case 'consentService.changeLost':
      return record(lost(heldOf(state), message.data, readConsent(state.context)))
    case 'consentService.readDeclined':
      return record({ type: 'consent.readDeclined', data: message.data }, ...believed(state))
    case 'consentService.readGivenUp':
      return record({ type: 'consent.readGivenUp', data: {} }, ...believed(state))
  }
}

/** Without a full reading, the status in the list counts, though its time is unknown. */
function believed(state: ConsentChartState): readonly ConsentEvent[] {
  const { shown, shownAt, isConcurrentRead, reading } = state.context
  const isFirm = shown !== null && shown !== 'unreadable' && !isConcurrentRead && heldOf(state).isQuiet
  if (!isFirm) return []
  if (shown === reading.status) return [{ type: 'consent.confirmed', data: { status: shown } }]
  return movesOf(heldOf(state), shown, [], shownAt ?? undefined)
}

/**
 * Requests a change, only from the status that the contract's table allows, and one at a time. A denial may replace an
 * unsent approval even while the service does not list the consent.
 */
function ask(
  state: ConsentChartState,
  { askedAt }: { readonly askedAt?: Instant },
  status: RequestableStatus,
  instead: RequestableStatus | null = null,
): Decision<ConsentEvent> {
  if (isUnknown(state) && !(instead === 'ATIVO' && status === 'NEGADO')) return refuse(missing(state))
  if (state.matches({ knowledge: 'changing' }) && instead === null)
    return refuse('another change has not been answered yet')
  if (state.matches({ knowledge: 'uncertain' })) {
    return refuse(`${doubtOf(state.context)}: ${whenTold(state.context)}`)
  }
  if (state.matches({ knowledge: 'changed' }))
    return refuse('the service shows another status: its history is being read')
  const held = state.context.reading.status
  if (held !== askedFrom[status]) return refuse(`it is ${held}, and only ${askedFrom[status]} becomes ${status}`)
  return record({
    type: 'consent.changeRequested',
    data: { status, ...(instead !== null && { instead }), ...(askedAt !== undefined && { askedAt }) },
    effects: [changeStatus(state.context, status)],
  })
}

function doubtOf({ isLost, asked }: ConsentChartState['context']): string {
  if (isLost) return 'the last change may have been made'
  return asked === null
    ? 'the service refused the last change'
    : 'the service answered the last change with another status'
}

function whenTold({ lostAt }: ConsentChartState['context']): string {
  if (lostAt === null) return 'read it first'
  return `a reading tells that begins after ${toInstant(fromInstant(lostAt) + lateChangeMs)}`
}

/** The events of a full reading: the status changes of its history that are not recorded, each with its time. */
function readInFull(
  state: ConsentChartState,
  { data, isStale }: MessageWithParts<Extract<ConsentMessage, { type: 'consentService.consentRead' }>>,
): readonly ConsentEvent[] {
  const { history, ...reading } = data
  const { consent, subject } = state.context
  const held = heldOf(state)
  // Only a list makes it appear again, because that event stores the listed record.
  if (held.isVanished) return [described(data, readLater(state, data))]
  const dueAt = maybeOlderUntil(held, data, history)
  if (isStale || dueAt !== undefined) {
    const news = concurrentRead(held, reading)
    const isOpen = news.length > 0 || held.shown !== null || held.isDoubtful || dueAt !== undefined
    const laterAt = dueAt ?? pausedUntil(held, data)
    const later = { ...readConsent(state.context), ...(laterAt !== undefined && { dueAt: laterAt }) }
    return [described({ ...data, isOld: true }, isOpen ? [later] : []), ...news]
  }
  return [described(data, readLater(state, data)), ...observed(held, { ...reading, consent, subject }, history)]
}

/**
 * Delays the next reading after several stale ones in a row: without a pause, readings of two engines could make each
 * other stale forever.
 */
function pausedUntil({ oldReadings }: ConsentView, { askedAt }: { readonly askedAt?: Instant }): Instant | undefined {
  if (oldReadings < oldReadingsMax || askedAt === undefined) return undefined
  return toInstant(fromInstant(askedAt) + lateChangeMs)
}

/** Requests a later reading for a change that the service may still make. */
function readLater(state: ConsentChartState, reading: Parameters<typeof mayStillBeMade>[1]): readonly Effect[] {
  const { lostAt } = state.context
  if (lostAt === null || !mayStillBeMade(heldOf(state), reading)) return []
  return [{ ...readConsent(state.context), dueAt: toInstant(fromInstant(lostAt) + lateChangeMs) }]
}

function described(
  {
    status,
    history,
    askedAt,
    isOld,
  }: Pick<ConsentReading, 'status'> & {
    readonly history: readonly HistoryEntry[]
    readonly askedAt?: Instant
    readonly isOld?: true
  },
  effects: readonly Effect[],
): ConsentEvent {
  const data = {
    status,
    history,
    ...(askedAt !== undefined && { askedAt }),
    ...(isOld && { isOld }),
  }
  const event = { type: 'consent.described', data, ...(effects.length > 0 && { effects }) } as const
  if (history.every(entry => entry.status !== null)) return event
  return { ...event, anomaly: 'its history shows a status that the contract does not have' }
}

/**
 * Adds a full reading, once, when a list shows another status or one that contradicts the history, and a later reading
 * when a lost change may still be made.
 */
function withReading(state: ConsentChartState, events: readonly ConsentEvent[]): Decision<ConsentEvent> {
  const { isReadingOwed, isQuiet, reading } = heldOf(state)
  const isOwing = ({ type, data }: ConsentEvent) =>
    type === 'consent.changeSeen' &&
    !isReadingOwed &&
    (isQuiet || data.isConcurrentRead === true || data.status !== reading.status)
  return {
    events: events.map(event => {
      const later = event.type === 'consent.appeared' ? readLater(state, event.data) : []
      const effects = isOwing(event) || event.type === 'consent.detailRequested' ? [readConsent(state.context)] : later
      return effects.length > 0 ? { ...event, effects } : event
    }),
  }
}

/** Decides a use on the current state: the append fails if the stream has changed meanwhile. */
function use(state: ConsentChartState, asked: UseQuestion): ConsentEvent {
  const { reading, since } = state.context
  const { at, readAt } = asked
  const held = heldOf(state)
  const status = state.matches({ status: 'absent' }) ? null : reading.status
  const known = { ...held, status, since, expiresAt: reading.expiresAt, readAt }
  const reason = judge({ ...known, isContradicted: isContradicted(held) }, { ...asked, knownAt: at })
  const data = asked
  if (reason !== 'active') return { type: 'consent.useRefused', data: { ...data, reason } }
  return { type: 'consent.used', data: { ...data, until: reading.expiresAt } }
}

function missing(state: ConsentChartState): string {
  return state.matches({ status: 'vanished' }) ? 'the service no longer lists it' : 'nothing is known of it'
}

/**
 * Checks that an event is of an outdated full reading. It changes nothing, so it must not make other readings stale:
 * two overlapping readings would repeat each other forever.
 */
function isOldReading(event: ConsentEvent): boolean {
  return event.type === 'consent.described' && event.data.isOld === true
}

const silent = [
  'consent.detailRequested',
  'consent.readDeclined',
  'consent.readGivenUp',
  'consent.answeredLate',
  'consent.changeWithheld',
  'consent.lapsed',
  'consent.used',
  'consent.useRefused',
  'consent.erased',
] as const

/** A consent request of one data subject, as the consent service keeps it (document 1). */
export const consentMachine: Machine = defineMachine({
  name: 'consent',
  version: 1,
  chart,
  decide,
  silent,
  isSilent: isOldReading,
})

/** The consent and its subject. */
interface ConsentIds {
  readonly consent: string
  readonly subject: string
}

/** The effect that requests another status. */
const changeStatus = (whose: ConsentIds, status: RequestableStatus) => ({
  type: 'consentService.changeStatus',
  data: { status },
  opens: addresses(whose),
})

/** The effect that reads a consent in full. */
const readConsent = (whose: ConsentIds) => ({
  type: 'consentService.readConsent',
  data: {},
  opens: addresses(whose),
})

function addresses({ consent, subject }: ConsentIds) {
  return { cpf: cpfAddress(subject), record: `${streamOf('consent', consent)}/1/record` }
}
