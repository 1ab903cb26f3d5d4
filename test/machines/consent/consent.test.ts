import { expect, test } from 'vitest'
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

test('a change is requested only if the table of the contract allows it', () => {
  // The statuses that can be requested, each with the only status it can follow (document 1, section 3).
  for (const [verb, only, to] of [
    ['approve', 'PENDENTE', 'ATIVO'],
    ['deny', 'PENDENTE', 'NEGADO'],
    ['revoke', 'ATIVO', 'REVOGADO'],
  ] as const)
    for (const from of consentStatuses) {
      const effect = { type: 'consentService.changeStatus', data: { status: to } }
      const requested = { events: [{ type: 'consent.changeRequested', effects: [effect] }] }
      const answer = after(observe(from), { type: `consent.${verb}`, data: {} })
      expect(answer, `${verb} ${from}`).toMatchObject(from === only ? requested : { refused: expect.any(String) })
    }
})

const inFull = (status: string, ...history: string[]): Message => ({
  type: 'consentService.consentRead',
  data: { ...reading(status), history: history.map((each, i) => ({ status: each, since: `2026-11-2${i}` })) },
})
const approve = { type: 'consent.approve', data: {} }
const readEndings = [
  { type: 'consentService.readDeclined', data: { httpStatus: 404 } },
  { type: 'consentService.readGivenUp', data: {} },
]
const useAt = (at: string) => ({ type: 'consent.use', data: { at, ageMaxMs: null, readAt: at } })

test('within a minute of an end, only later entries of the known history reopen it', () => {
  const at = (read: Message) => ({ ...read, data: { ...Object(read.data), askedAt: '2026-11-25T12:00:00.000Z' } })
  const known = [observe('ATIVO'), at(inFull('REVOGADO', 'ATIVO', 'REVOGADO'))]
  const madeOf = (...history: string[]) => eventsAfter(...known, at(inFull('ATIVO', ...history))).at(-1)?.type
  expect(madeOf('ATIVO', 'REVOGADO', 'ATIVO')).toBe('consent.conflicted')
  for (const other of [['ATIVO'], ['ATIVO', 'ATIVO', 'ATIVO'], ['PENDENTE', 'NEGADO', 'ATIVO']])
    expect(madeOf(...other)).toBe('consent.detailRequested')
})

test('a history that does not end with the shown status is ignored, and the status counts', () => {
  const read = inFull('REVOGADO', 'PENDENTE', 'ATIVO')
  const [, move] = eventsAfter(observe('ATIVO'), observe('REVOGADO'), read)
  expect(move).toEqual({ type: 'consent.revoked', data: { status: 'REVOGADO', by: 'service' } })
})

const unreadable = { type: 'consent.observeUnreadable', data: {} }

test.each([
  ['PENDENTE', 'ATIVO', { type: 'consent.confirmed', data: { status: 'PENDENTE' } }],
  ['ATIVO', 'PENDENTE', { type: 'consent.conflicted', data: { status: 'PENDENTE' } }],
  ['ATIVO', 'REVOGADO', { type: 'consent.revoked' }],
  ['REVOGADO', 'ATIVO', { type: 'consent.confirmed', data: { status: 'REVOGADO' } }],
])('if the full reading cannot be had, the more cautious of %s and %s counts', (held, shown, event) => {
  for (const ending of readEndings) {
    expect(eventsAfter(observe(held), observe(shown), ending)).toMatchObject([{}, event])
    // A list that agrees again does not take back what was shown.
    expect(eventsAfter(observe(held), observe(shown), observe(held), ending)).toMatchObject([{}, event])
  }
})

test('after a declined full reading of an unreadable status, the next list requests another one', () => {
  const owing = [{ type: 'consent.detailRequested', effects: [{ type: 'consentService.readConsent' }] }]
  expect(eventsAfter(observe('ATIVO'), unreadable, unreadable)).toEqual([])
  for (const ending of readEndings)
    expect(eventsAfter(observe('ATIVO'), unreadable, ending, unreadable)).toMatchObject(owing)
})

test('a stale or unreadable status does not replace the status in a list', () => {
  const use = useAt('2026-11-21')
  const stale = { ...observe('EXPIRADO'), isStale: true }
  for (const vague of [unreadable, stale]) {
    const seen = [observe('ATIVO'), observe('REVOGADO'), vague]
    expect(eventsAfter(...seen, use)).toMatchObject([{ data: { reason: 'revoked' } }])
    expect(eventsAfter(...seen, observe('ATIVO'), use)).toMatchObject([{ data: { reason: 'revoked' } }])
  }
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
  const approved = [observe('PENDENTE'), approve]
  expect(eventsAfter(...approved, answer('NEGADO'))).toMatchObject([
    { type: 'consent.denied', data: { by: 'service' } },
  ])
  const revoked = [observe('ATIVO'), { type: 'consent.revoke', data: {} }]
  for (const [asked, status] of [
    [approved, 'PENDENTE'],
    [revoked, 'ATIVO'],
    [revoked, 'PENDENTE'],
  ] as const)
    expect(eventsAfter(...asked, answer(status))).toMatchObject([
      { type: 'consent.changeContradicted', data: { status } },
      { effects: [{ type: 'consentService.readConsent' }] },
    ])
})

test.each([
  ['EXPIRADO', 'declined'],
  ['ATIVO', 'settled'],
])('a lost answer to a change is certain if a full reading already showed the outcome: %s', (shown, as) => {
  const lost = { type: 'consentService.changeLost', data: { status: 'ATIVO' } }
  const late = { type: 'consent.answeredLate', data: { asked: 'ATIVO', status: null } }
  expect(eventsAfter(observe('PENDENTE'), approve, inFull(shown, 'PENDENTE', shown), lost)).toEqual([
    { ...late, resolves: { effect: 'consentService.changeStatus', as } },
  ])
})

test('an end that an old list shows is not taken back by lists: only a full reading settles it', () => {
  const use = useAt('2026-11-20T12:10:00.000Z')
  const seen = [observe('ATIVO'), { ...observe('REVOGADO'), isStale: true }]
  expect(eventsAfter(...seen, unreadable, observe('ATIVO'), use)).toMatchObject([{ data: { reason: 'revoked' } }])
  expect(eventsAfter(...seen, observe('ATIVO'), use)).toMatchObject([{ data: { reason: 'revoked' } }])
  expect(eventsAfter(...seen, inFull('ATIVO', 'ATIVO')).at(-1)).toMatchObject({ type: 'consent.confirmed' })
})

test.each<[string, MessageWithParts]>([
  ['a concurrent list', { ...observe('REVOGADO'), isStale: true }],
  ['a concurrent list without it', { type: 'consent.miss', data: {}, isStale: true }],
  ['a concurrent full reading', { ...inFull('REVOGADO'), isStale: true }],
  ['an unreadable one', unreadable],
])('an open status in a list does not count against newer readings that may show an end: %s', (_, vague) => {
  const listed = (status: string) => ({
    type: 'consent.observe',
    data: { ...reading(status), consent: 'c', subject: 's', expiresAt: '2027-11-20T12:00:00.000Z' },
  })
  for (const ending of readEndings) {
    const use = eventsAfter(listed('PENDENTE'), listed('ATIVO'), vague, ending, useAt('2026-11-20T12:00:00.000Z'))
    expect(use).toMatchObject([{ type: 'consent.useRefused' }])
  }
})
