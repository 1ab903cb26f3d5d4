import { describe, expect, test } from 'vitest'
import { consentMachine } from '../../src/machines/consent.ts'
import { askedFrom, consentStatuses } from '../../src/machines/consent-status.ts'
import type { Event, Message } from '../../src/message.ts'
import { decideAfter } from './decide-after.ts'

const reading = (status: string) => ({ status, createdAt: null, expiresAt: null, controller: null })
const observe = (status: string): Message => ({
  type: 'consent.observe',
  data: { ...reading(status), consent: 'c', subject: 's' },
})

const after = decideAfter(consentMachine)

function eventsAfter(...messages: Message[]): readonly Event[] {
  const decision = after(...messages)
  if ('refused' in decision) throw new Error(decision.refused)
  return decision.events
}

const verbs = { ATIVO: 'approve', NEGADO: 'deny', REVOGADO: 'revoke' } as const

describe('a change is asked for only where the table of the contract has it', () => {
  for (const from of consentStatuses) {
    for (const to of ['ATIVO', 'NEGADO', 'REVOGADO'] as const) {
      const isAllowed = askedFrom[to] === from
      test(`${from} to ${to} is ${isAllowed ? 'asked of the service' : 'refused'}`, () => {
        const decision = after(observe(from), { type: `consent.${verbs[to]}`, data: {} })
        if (isAllowed) {
          const effect = { type: 'consentService.changeStatus', data: { status: to } }
          expect(decision).toMatchObject({ events: [{ type: 'consent.changeRequested', effects: [effect] }] })
        } else expect(decision).toHaveProperty('refused')
      })
    }
  }
})

test('nothing is asked of a consent that nobody has seen', () => {
  expect(after({ type: 'consent.approve', data: {} })).toHaveProperty('refused')
})

test('only one change is out at a time', () => {
  const ask = { type: 'consent.approve', data: {} }
  expect(after(observe('PENDENTE'), ask, { type: 'consent.deny', data: {} })).toHaveProperty('refused')
})

test('a reading that shows what we hold makes no event', () => {
  expect(eventsAfter(observe('ATIVO'), observe('ATIVO'))).toEqual([])
})

test('a move outside the table is recorded as a conflict, and believed', () => {
  const [event] = eventsAfter(observe('REVOGADO'), observe('ATIVO'))
  expect(event).toMatchObject({ type: 'consent.conflicted', data: { status: 'ATIVO', held: 'REVOGADO' } })
  expect(event?.anomaly).toContain('REVOGADO')
  const revoke = { type: 'consent.revoke', data: {} }
  expect(after(observe('REVOGADO'), observe('ATIVO'), revoke)).toHaveProperty('events')
})

test('an answer with another status than was asked for is a conflict', () => {
  const answer = { type: 'consentService.statusChanged', data: reading('NEGADO') }
  const [event] = eventsAfter(observe('PENDENTE'), { type: 'consent.approve', data: {} }, answer)
  expect(event).toMatchObject({ type: 'consent.conflicted', data: { status: 'NEGADO', held: 'PENDENTE' } })
})

describe('a change whose answer was lost', () => {
  const lost = [
    observe('PENDENTE'),
    { type: 'consent.approve', data: {} },
    { type: 'consentService.changeLost', data: {} },
  ]

  test('owes a reading', () => {
    expect(eventsAfter(...lost)).toMatchObject([
      { type: 'consent.changeLost', effects: [{ type: 'consentService.readConsent' }] },
    ])
  })

  test('lets no other change out', () => {
    expect(after(...lost, { type: 'consent.deny', data: {} })).toHaveProperty('refused')
  })

  test('is settled by a reading that shows it done', () => {
    const [, event] = eventsAfter(...lost, {
      type: 'consentService.consentRead',
      data: { ...reading('ATIVO'), history: 2 },
    })
    expect(event).toMatchObject({ type: 'consent.approved', data: { by: 'us' }, resolves: { as: 'settled' } })
  })

  test('is ended by a reading that shows it not done', () => {
    const [event] = eventsAfter(...lost, observe('PENDENTE'))
    expect(event).toMatchObject({ type: 'consent.confirmed', resolves: { as: 'declined' } })
  })
})

test('a consent that the service lists no more has vanished, and may appear again', () => {
  const miss = { type: 'consent.miss', data: {} }
  expect(eventsAfter(observe('ATIVO'), miss)).toMatchObject([{ type: 'consent.vanished' }])
  expect(eventsAfter(observe('ATIVO'), miss, miss)).toEqual([])
  expect(eventsAfter(observe('ATIVO'), miss, observe('ATIVO'))).toMatchObject([
    { type: 'consent.appeared', anomaly: 'it had vanished' },
  ])
})
