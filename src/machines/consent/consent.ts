import type { Message, MessageWithParts } from '../../vocabulary/message.ts'
import { defineMachine, record } from '../definition/define-machine.ts'
import type { Recording } from '../definition/machine.ts'
import { type ConsentChartState, chart, heldOf } from './chart.ts'
import type { ConsentEvent, ConsentMessage, UseQuestion } from './events.ts'
import { type ConsentView, moveTypes } from './moves.ts'
import {
  answered,
  changeStatus,
  fullReading,
  lapse,
  listed,
  lost,
  readInFull,
  refused,
  unavailable,
  unreadable,
  withdrawn,
  withheld,
} from './readings.ts'
import { judge } from './standing.ts'
import { isOpen } from './status.ts'

const asks = { 'consent.approve': 'ATIVO', 'consent.deny': 'NEGADO', 'consent.revoke': 'REVOGADO' } as const

function decide(state: ConsentChartState, message: MessageWithParts<ConsentMessage>): Recording<ConsentEvent> {
  const held = heldOf(state)
  const isOld = message.isStale === true
  switch (message.type) {
    case 'consent.approve':
    case 'consent.deny':
    case 'consent.revoke': {
      const status = asks[message.type]
      const { askedAt, until, isUnsent, sentBefore } = message.data
      const times = { ...(askedAt !== undefined && { askedAt }), ...(until !== undefined && { until }) }
      const waiting = { ...(isUnsent && { isUnsent }), ...(sentBefore && { sentBefore }) }
      if (status !== 'ATIVO' && held.isVanished && isOpen(held.reading.status))
        return record({ type: 'consent.endWanted', data: { ...waiting, ...times } })
      const replaced = (isUnsent || sentBefore) && held.asked !== null && { instead: held.asked }
      const data = { status, ...replaced, ...(replaced && isUnsent && { isUnsent }), ...times }
      // An approval takes the place of a denial that was never sent.
      const isWithdrawn = status === 'ATIVO' && held.isEndWanted && held.requests <= (isUnsent ? 1 : 0)
      const withdrawal: readonly ConsentEvent[] = isWithdrawn ? [{ type: 'consent.endWithdrawn', data: waiting }] : []
      return record(...withdrawal, {
        type: 'consent.changeRequested',
        data,
        effects: [changeStatus(held, status)],
      })
    }
    case 'consent.withdrawEnd':
      return record(...withdrawn(held, message.data))
    case 'consent.readDetail':
      return record(fullReading(held))
    case 'consent.observe':
      return { events: listed(held, message.data, isOld) }
    case 'consent.observeUnreadable':
      if (held.isUnknown) return record()
      return { events: unreadable(held, 'the service shows it in a form that cannot be read') }
    case 'consent.miss':
      if (held.isUnknown) return record()
      if (isOld) return { events: unreadable(held) }
      return record({ type: 'consent.vanished', data: {}, anomaly: 'the service no longer lists it' })
    case 'consent.passTime':
      return { events: lapse(held, message.data.now) }
    case 'consent.erase':
      return state.matches({ data: 'erased' }) ? record() : record({ type: 'consent.erased', data: {} })
    case 'consent.use':
      return record(use(held, state.matches({ status: 'absent' }), message.data))
    case 'consentService.consentRead':
      return { events: readInFull(held, message.data, isOld) }
    case 'consentService.statusChanged':
      return { events: answered(held, message.data) }
    case 'consent.withholdChange':
      return record(...withheld(held, message.data))
    case 'consentService.changeDeclined':
      return record(...refused(held, message.data))
    case 'consentService.changeLost':
      return record(...lost(held, message.data))
    case 'consentService.readDeclined':
      return record({ type: 'consent.readDeclined', data: message.data }, ...unavailable(held))
    case 'consentService.readGivenUp':
      return record({ type: 'consent.readGivenUp', data: {} }, ...unavailable(held))
  }
}

/** Decides a use on the current state: the append fails if the stream has changed meanwhile. */
function use(held: ConsentView, isAbsent: boolean, asked: UseQuestion): ConsentEvent {
  const { reading, since } = held
  const { expiresAt } = reading
  const known = { ...held, status: isAbsent ? null : reading.status, since, expiresAt, readAt: asked.readAt }
  const reason = judge(known, { ...asked, knownAt: asked.at })
  if (reason === 'active') return { type: 'consent.used', data: { ...asked, until: expiresAt } }
  return { type: 'consent.useRefused', data: { ...asked, reason } }
}

/** An old full reading changes nothing, and must not make other readings old: two would repeat each other forever. */
function isOldReading(event: ConsentEvent): boolean {
  return event.type === 'consent.described' && event.data.isOld === true
}

const requests = (status: string) => [{ event: 'consent.changeRequested', if: { status } }] as const
const moves = [...moveTypes, 'consent.confirmed'] as const
const readsInFull = 'consent.detailRequested'

/** A consent request of one data subject, as the consent service keeps it (document 1). */
export const consentMachine = defineMachine({
  name: 'consent',
  version: 1,
  chart,
  decide,
  // They tell nothing of what the service holds.
  silent: [
    'consent.detailRequested',
    'consent.readDeclined',
    'consent.readGivenUp',
    'consent.answeredLate',
    'consent.changeWithheld',
    'consent.lapsed',
    'consent.used',
    'consent.useRefused',
    'consent.erased',
  ],
  isSilent: isOldReading,
  isReadWhole: true,
  commands: {
    'consent.approve': ['consent.endWithdrawn', ...requests('ATIVO')],
    'consent.deny': ['consent.endWanted', ...requests('NEGADO')],
    'consent.revoke': ['consent.endWanted', ...requests('REVOGADO')],
    'consent.withdrawEnd': ['consent.endWithdrawn', readsInFull],
    'consent.readDetail': [readsInFull],
    'consent.use': ['consent.used', 'consent.useRefused'],
  },
  facts: {
    'consent.erase': ['consent.erased'],
    'consent.passTime': ['consent.lapsed'],
    'consent.observe': [
      ...(['consent.appeared', 'consent.amended', 'consent.confirmed'] as const),
      ...(['consent.changeSeen', readsInFull] as const),
    ],
    'consent.observeUnreadable': ['consent.changeSeen', readsInFull],
    'consent.miss': ['consent.vanished', 'consent.changeSeen', readsInFull],
    'consentService.consentRead': [
      ...(['consent.described', 'consent.amended', 'consent.changeSeen', 'consent.changeNotMade'] as const),
      ...(['consent.changeRepeated', readsInFull] as const),
      ...moves,
    ],
    'consentService.statusChanged': [
      ...(['consent.amended', 'consent.changeContradicted', 'consent.answeredLate'] as const),
      ...(['consent.changeSeen', readsInFull] as const),
      ...moves,
    ],
    'consent.withholdChange': ['consent.changeWithheld', readsInFull],
    'consentService.changeDeclined': ['consent.changeDeclined', 'consent.answeredLate', readsInFull],
    'consentService.changeLost': ['consent.changeLost', 'consent.answeredLate', readsInFull],
    'consentService.readDeclined': ['consent.readDeclined', ...moves],
    'consentService.readGivenUp': ['consent.readGivenUp', ...moves],
  },
  effects: {
    'consent.changeRequested': ['consentService.changeStatus'],
    'consent.changeRepeated': ['consentService.changeStatus'],
    [readsInFull]: ['consentService.readConsent'],
  },
})

export const initialConsent = consentMachine.initial as ConsentChartState // Of this chart, here and below.

export function evolveConsent(state: ConsentChartState, event: Message): ConsentChartState {
  return consentMachine.evolve(state, event) as ConsentChartState
}
