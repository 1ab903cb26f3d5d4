import { describe, expect, test } from 'vitest'
import { consentStatuses } from '../../../src/machines/consent/status.ts'
import { answerOf } from '../../../src/simulation/index.ts'
import type { Event, Message, MessageWithParts } from '../../../src/vocabulary/message.ts'

const reading = (status: string) => ({ status, createdAt: null, expiresAt: null, controller: null })
const observe = (status: string): Message => ({
  type: 'consent.observe',
  data: { ...reading(status), consent: 'c', subject: 's' },
})

const after = (...messages: MessageWithParts[]) => answerOf('consent', ...messages)

function eventsAfter(...messages: MessageWithParts[]): readonly Event[] {
  const decision = after(...messages)
  if ('refused' in decision) throw new Error(decision.refused)
  return decision.events
}

/** The statuses that can be requested, each with the only status it can follow (document 1, section 3). */
const askedFrom = { ATIVO: 'PENDENTE', NEGADO: 'PENDENTE', REVOGADO: 'ATIVO' } as const
const verbs = { ATIVO: 'approve', NEGADO: 'deny', REVOGADO: 'revoke' } as const

describe('a change is requested only if the table of the contract allows it', () => {
  for (const from of consentStatuses) {
    for (const to of ['ATIVO', 'NEGADO', 'REVOGADO'] as const) {
      const isAllowed = askedFrom[to] === from
      test(`${from} to ${to} is ${isAllowed ? 'requested' : 'refused'}`, () => {
        const decision = after(observe(from), { type: `consent.${verbs[to]}`, data: {} })
        if (isAllowed) {
          const effect = { type: 'consentService.changeStatus', data: { status: to } }
          expect(decision).toMatchObject({ events: [{ type: 'consent.changeRequested', effects: [effect] }] })
        } else expect(decision).toHaveProperty('refused')
      })
    }
  }
})

const inFull = (status: string, ...history: string[]): Message => ({
  type: 'consentService.consentRead',
  data: { ...reading(status), history: history.map((each, i) => ({ status: each, since: `2026-11-2${i}` })) },
})

test('an end from before the first list is not recorded together with a later one', () => {
  const read = inFull('REVOGADO', 'PENDENTE', 'ATIVO', 'REVOGADO', 'ATIVO', 'REVOGADO')
  const [, ...moves] = eventsAfter(observe('ATIVO'), observe('REVOGADO'), read)
  expect(moves).toMatchObject([{ type: 'consent.revoked', data: { since: '2026-11-24' } }])
})

test('a history that does not end with the shown status is ignored, and the status counts', () => {
  const read = inFull('REVOGADO', 'PENDENTE', 'ATIVO')
  const [, move] = eventsAfter(observe('ATIVO'), observe('REVOGADO'), read)
  expect(move).toEqual({ type: 'consent.revoked', data: { status: 'REVOGADO', by: 'service' } })
})

const readDeclined = { type: 'consentService.readDeclined', data: { httpStatus: 404 } }
const unreadable = { type: 'consent.observeUnreadable', data: {} }

test.each([
  ['PENDENTE', 'ATIVO', { type: 'consent.confirmed', data: { status: 'PENDENTE' } }],
  ['ATIVO', 'PENDENTE', { type: 'consent.conflicted', data: { status: 'PENDENTE' } }],
  ['ATIVO', 'REVOGADO', { type: 'consent.revoked' }],
  ['REVOGADO', 'ATIVO', { type: 'consent.confirmed', data: { status: 'REVOGADO' } }],
])('if the full reading cannot be had, the more cautious of %s and %s counts', (held, shown, event) => {
  for (const ending of [readDeclined, { type: 'consentService.readGivenUp', data: {} }]) {
    expect(eventsAfter(observe(held), observe(shown), ending)).toMatchObject([{}, event])
    // A list that agrees again does not take back what was shown.
    expect(eventsAfter(observe(held), observe(shown), observe(held), ending)).toMatchObject([{}, event])
  }
})

test('after a declined full reading of an unreadable status, the next list requests another one', () => {
  const owing = [{ type: 'consent.detailRequested', effects: [{ type: 'consentService.readConsent' }] }]
  expect(eventsAfter(observe('ATIVO'), unreadable, unreadable)).toEqual([])
  expect(eventsAfter(observe('ATIVO'), unreadable, readDeclined, unreadable)).toMatchObject(owing)
})

test('a stale or unreadable status does not replace the status in a list', () => {
  const use = { type: 'consent.use', data: { at: '2026-11-21', ageMaxMs: null, readAt: '2026-11-21' } }
  const stale = { ...observe('EXPIRADO'), isStale: true }
  for (const vague of [unreadable, stale]) {
    const seen = [observe('ATIVO'), observe('REVOGADO'), vague]
    expect(eventsAfter(...seen, use)).toMatchObject([{ data: { reason: 'revoked' } }])
    expect(eventsAfter(...seen, observe('ATIVO'), use)).toMatchObject([{ data: { reason: 'revoked' } }])
  }
})

test('a history with a status that the contract does not have is an anomaly', () => {
  const data = { ...reading('ATIVO'), history: [{ status: null, since: null }] }
  const [event] = eventsAfter(observe('ATIVO'), { type: 'consentService.consentRead', data })
  expect(event?.anomaly).toBe('its history shows a status that the contract does not have')
})

test('a status change outside the table is recorded as a conflict, and the status counts', () => {
  const read = inFull('ATIVO', 'REVOGADO', 'ATIVO')
  const [, event] = eventsAfter(observe('REVOGADO'), observe('ATIVO'), read)
  expect(event).toMatchObject({ type: 'consent.conflicted', data: { status: 'ATIVO', held: 'REVOGADO' } })
  expect(event?.anomaly).toContain('REVOGADO')
  const revoke = { type: 'consent.revoke', data: {} }
  expect(after(observe('REVOGADO'), observe('ATIVO'), read, revoke)).toHaveProperty('events')
})

test('an answer with another status than requested is believed if it ends the change, and read otherwise', () => {
  const answer = (status: string) => ({ type: 'consentService.statusChanged', data: reading(status) })
  const approved = [observe('PENDENTE'), { type: 'consent.approve', data: {} }]
  expect(eventsAfter(...approved, answer('NEGADO'))).toMatchObject([
    { type: 'consent.denied', data: { by: 'service' } },
  ])
  const revoked = [observe('ATIVO'), { type: 'consent.revoke', data: {} }]
  for (const [asked, status] of [
    [approved, 'PENDENTE'],
    [revoked, 'ATIVO'],
    [revoked, 'PENDENTE'],
  ] as const) {
    expect(eventsAfter(...asked, answer(status))).toMatchObject([
      { type: 'consent.changeContradicted', data: { status }, effects: [{ type: 'consentService.readConsent' }] },
    ])
  }
})

test('an answer with another expiry first amends the consent, then changes its status', () => {
  const answer = {
    type: 'consentService.statusChanged',
    data: { ...reading('ATIVO'), expiresAt: '2026-12-01T00:00:00.000Z' },
  }
  expect(eventsAfter(observe('PENDENTE'), { type: 'consent.approve', data: {} }, answer)).toMatchObject([
    { type: 'consent.amended', data: { status: 'PENDENTE', expiresAt: '2026-12-01T00:00:00.000Z' } },
    { type: 'consent.approved', data: { status: 'ATIVO', by: 'us' } },
  ])
})

test.each([
  { shown: 'EXPIRADO', as: 'declined' },
  { shown: 'ATIVO', as: 'settled' },
])('a lost answer to a change is certain if a full reading already showed the outcome: $shown', ({ shown, as }) => {
  const told = [observe('PENDENTE'), { type: 'consent.approve', data: {} }, inFull(shown, 'PENDENTE', shown)]
  const lost = { type: 'consentService.changeLost', data: { status: 'ATIVO' } }
  expect(eventsAfter(...told, lost)).toEqual([
    {
      type: 'consent.answeredLate',
      data: { asked: 'ATIVO', status: null },
      resolves: { effect: 'consentService.changeStatus', as },
    },
  ])
})

test('a lost change is resolved when a consent that vanished meanwhile is listed again', () => {
  const lost = { type: 'consentService.changeLost', data: {} }
  const gone = [observe('PENDENTE'), { type: 'consent.approve', data: {} }, lost, { type: 'consent.miss', data: {} }]
  expect(eventsAfter(...gone, observe('ATIVO'))).toMatchObject([
    { type: 'consent.appeared', resolves: { as: 'settled' } },
  ])
  const again = [...gone, observe('PENDENTE'), inFull('PENDENTE', 'PENDENTE')]
  expect(eventsAfter(...again)[1]).toMatchObject({ type: 'consent.changeNotMade', resolves: { as: 'declined' } })
})

test('an end that an old list shows is not taken back by lists: only a full reading settles it', () => {
  const at = '2026-11-20T12:10:00.000Z'
  const use = { type: 'consent.use', data: { at, ageMaxMs: null, readAt: at } }
  const seen = [observe('ATIVO'), { ...observe('REVOGADO'), isStale: true }]
  expect(eventsAfter(...seen, unreadable, observe('ATIVO'), use)).toMatchObject([{ data: { reason: 'revoked' } }])
  expect(eventsAfter(...seen, observe('ATIVO'), use)).toMatchObject([{ data: { reason: 'revoked' } }])
  expect(eventsAfter(...seen, inFull('ATIVO', 'ATIVO')).at(-1)).toMatchObject({ type: 'consent.confirmed' })
})

describe('an open status in a list does not count against newer readings that may show an end', () => {
  const vague: readonly (readonly [string, MessageWithParts])[] = [
    ['a concurrent list', { ...observe('REVOGADO'), isStale: true }],
    ['a concurrent list without it', { type: 'consent.miss', data: {}, isStale: true }],
    [
      'a concurrent full reading',
      { type: 'consentService.consentRead', data: { ...reading('REVOGADO'), history: [] }, isStale: true },
    ],
    ['an unreadable one', { type: 'consent.observeUnreadable', data: {} }],
  ]
  const endings: readonly Message[] = [
    { type: 'consentService.readDeclined', data: { httpStatus: 403 } },
    { type: 'consentService.readGivenUp', data: {} },
  ]
  const at = '2026-11-20T12:00:00.000Z'
  const use = { type: 'consent.use', data: { at, ageMaxMs: null, readAt: at } }
  const listed = (status: string) => {
    const { type, data } = observe(status)
    return { type, data: { ...(data as object), expiresAt: '2027-11-20T12:00:00.000Z' } }
  }
  for (const [name, message] of vague) {
    test(name, () => {
      for (const ending of endings) {
        expect(eventsAfter(listed('PENDENTE'), listed('ATIVO'), message, ending, use)).toMatchObject([
          { type: 'consent.useRefused' },
        ])
      }
    })
  }
})
