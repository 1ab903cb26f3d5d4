import { describe, expect, test } from 'vitest'
import { askedFrom, consentStatuses } from '../../../src/machines/consent/status.ts'
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

test('a change of an unknown consent is refused', () => {
  expect(after({ type: 'consent.approve', data: {} })).toHaveProperty('refused')
})

test('a change is refused while another one is pending', () => {
  const ask = { type: 'consent.approve', data: {} }
  expect(after(observe('PENDENTE'), ask, { type: 'consent.deny', data: {} })).toHaveProperty('refused')
})

test('a reading without changes makes no event', () => {
  expect(eventsAfter(observe('ATIVO'), observe('ATIVO'))).toEqual([])
})

const inFull = (status: string, ...history: string[]): Message => ({
  type: 'consentService.consentRead',
  data: { ...reading(status), history: history.map((each, i) => ({ status: each, since: `2026-11-2${i}` })) },
})

test('a list with another status requests one full reading and records no status change yet', () => {
  const [event] = eventsAfter(observe('PENDENTE'), observe('REVOGADO'))
  expect(event).toMatchObject({
    type: 'consent.changeSeen',
    effects: [{ type: 'consentService.readConsent' }],
  })
  expect(eventsAfter(observe('PENDENTE'), observe('REVOGADO'), observe('REVOGADO'))).toEqual([])
  const [other] = eventsAfter(observe('PENDENTE'), observe('ATIVO'), observe('REVOGADO'))
  expect(other).toEqual({ type: 'consent.changeSeen', data: { status: 'REVOGADO' } })
})

test('the history shows the changes between two lists, with the times of the service', () => {
  const read = inFull('REVOGADO', 'PENDENTE', 'ATIVO', 'REVOGADO')
  const [, ...moves] = eventsAfter(observe('PENDENTE'), observe('REVOGADO'), read)
  expect(moves).toEqual([
    { type: 'consent.approved', data: { status: 'ATIVO', by: 'service', since: '2026-11-21' } },
    { type: 'consent.revoked', data: { status: 'REVOGADO', by: 'service', since: '2026-11-22' } },
  ])
  const first = inFull('ATIVO', 'PENDENTE', 'ATIVO')
  const back = inFull('ATIVO', 'PENDENTE', 'ATIVO', 'REVOGADO', 'ATIVO')
  const types = eventsAfter(observe('ATIVO'), first, back).map(event => event.type)
  expect(types).toEqual(['consent.described', 'consent.revoked', 'consent.conflicted'])
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

test('if the full reading is declined, the status in the list counts', () => {
  const declined = { type: 'consentService.readDeclined', data: { httpStatus: 403 } }
  const [, move] = eventsAfter(observe('ATIVO'), observe('REVOGADO'), declined)
  expect(move).toEqual({ type: 'consent.revoked', data: { status: 'REVOGADO', by: 'service' } })
})

test('changes are refused until a full reading confirms the recorded status', () => {
  const changed = [observe('ATIVO'), observe('REVOGADO')]
  expect(after(...changed, { type: 'consent.revoke', data: {} })).toHaveProperty('refused')
  const read = inFull('ATIVO', 'ATIVO')
  expect(eventsAfter(...changed, read)).toMatchObject([{}, { type: 'consent.confirmed' }])
  expect(after(...changed, read, { type: 'consent.revoke', data: {} })).toHaveProperty('events')
})

const readDeclined = { type: 'consentService.readDeclined', data: { httpStatus: 404 } }
const unreadable = { type: 'consent.observeUnreadable', data: {} }

test('if the full reading is declined, a latest list that confirms the recorded status counts', () => {
  const torn = [observe('ATIVO'), observe('REVOGADO'), observe('ATIVO')]
  expect(eventsAfter(...torn, readDeclined)).toMatchObject([{}, { type: 'consent.confirmed' }])
  expect(after(...torn, readDeclined, { type: 'consent.revoke', data: {} })).toHaveProperty('events')
})

test('after a declined full reading of an unreadable status, the next list requests another one', () => {
  const owing = [{ type: 'consent.changeSeen', effects: [{ type: 'consentService.readConsent' }] }]
  expect(eventsAfter(observe('ATIVO'), unreadable, unreadable)).toEqual([])
  expect(eventsAfter(observe('ATIVO'), unreadable, readDeclined, unreadable)).toMatchObject(owing)
})

test('a stale or unreadable status does not replace the status in a list', () => {
  const use = { type: 'consent.use', data: { at: '2026-11-21', ageMaxMs: null, readAt: '2026-11-21' } }
  const stale = { ...observe('EXPIRADO'), isStale: true }
  for (const vague of [unreadable, stale]) {
    const seen = [observe('ATIVO'), observe('REVOGADO'), vague]
    expect(eventsAfter(...seen, use)).toMatchObject([{ data: { reason: 'revoked' } }])
    expect(eventsAfter(...seen, observe('ATIVO'))).toMatchObject([{ type: 'consent.changeSeen' }])
    expect(eventsAfter(...seen, observe('ATIVO'), use)).toMatchObject([{ data: { reason: 'uncertain' } }])
  }
})

test('a vanished consent appears again in a list, not in a full reading', () => {
  const vanished = [observe('ATIVO'), { type: 'consent.miss', data: {} }]
  expect(eventsAfter(...vanished, inFull('ATIVO', 'ATIVO')).map(event => event.type)).toEqual(['consent.described'])
  expect(eventsAfter(...vanished, observe('ATIVO'))).toMatchObject([{ type: 'consent.appeared' }])
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

test('an approval with a lost answer is settled even if it was revoked before the reading', () => {
  const asked = [
    { type: 'consent.approve', data: {} },
    { type: 'consentService.changeLost', data: {} },
  ]
  const read = inFull('REVOGADO', 'PENDENTE', 'ATIVO', 'REVOGADO')
  expect(eventsAfter(observe('PENDENTE'), ...asked, read)).toMatchObject([
    { type: 'consent.described' },
    { type: 'consent.approved', data: { by: 'us' }, resolves: { as: 'settled' } },
    { type: 'consent.revoked', data: { by: 'service' } },
  ])
})

test('a change in a reading counts as ours only if the answer to our request was lost', () => {
  const asked = [observe('ATIVO'), { type: 'consent.revoke', data: {} }]
  const lost = { type: 'consentService.changeLost', data: {} }
  for (const shown of [observe('REVOGADO'), inFull('REVOGADO', 'ATIVO', 'REVOGADO')]) {
    expect(eventsAfter(...asked, shown).at(-1)).toMatchObject({ data: { by: 'service' } })
    expect(eventsAfter(...asked, lost, shown).at(-1)).toMatchObject({ data: { by: 'us' } })
  }
})

test('an answer with another status than requested is a conflict', () => {
  const answer = { type: 'consentService.statusChanged', data: reading('NEGADO') }
  const [event] = eventsAfter(observe('PENDENTE'), { type: 'consent.approve', data: {} }, answer)
  expect(event).toMatchObject({ type: 'consent.conflicted', data: { status: 'NEGADO', held: 'PENDENTE' } })
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

describe('a change whose answer was lost', () => {
  const lost = [
    observe('PENDENTE'),
    { type: 'consent.approve', data: {} },
    { type: 'consentService.changeLost', data: {} },
  ]

  test('requests a reading', () => {
    expect(eventsAfter(...lost)).toMatchObject([
      { type: 'consent.changeLost', effects: [{ type: 'consentService.readConsent' }] },
    ])
  })

  test.each([
    { shown: 'EXPIRADO', as: 'declined' },
    { shown: 'ATIVO', as: 'settled' },
  ])('is certain if a list already showed the outcome: $shown', ({ shown, as }) => {
    const told = [observe('PENDENTE'), { type: 'consent.approve', data: {} }, observe(shown)]
    const [event, ...others] = eventsAfter(...told, {
      type: 'consentService.changeLost',
      data: { status: 'ATIVO' },
    })
    expect(others).toEqual([])
    expect(event).toEqual({
      type: 'consent.answeredLate',
      data: { asked: 'ATIVO', status: null },
      resolves: { effect: 'consentService.changeStatus', as },
    })
  })

  test('is resolved when a consent that vanished meanwhile is listed again', () => {
    const gone = [...lost, { type: 'consent.miss', data: {} }]
    expect(eventsAfter(...gone, observe('ATIVO'))).toMatchObject([
      { type: 'consent.appeared', resolves: { as: 'settled' } },
    ])
    expect(eventsAfter(...gone, observe('PENDENTE'))).toMatchObject([
      { type: 'consent.appeared' },
      { type: 'consent.changeNotMade', resolves: { as: 'declined' } },
    ])
    const deny = { type: 'consent.deny', data: {} }
    expect(eventsAfter(...gone, observe('PENDENTE'), deny)).toMatchObject([{ type: 'consent.changeRequested' }])
  })

  test('prevents other changes', () => {
    expect(after(...lost, { type: 'consent.deny', data: {} })).toHaveProperty('refused')
  })

  test('is settled by a reading that shows the new status', () => {
    const [, event] = eventsAfter(...lost, {
      type: 'consentService.consentRead',
      data: { ...reading('ATIVO'), history: [] },
    })
    expect(event).toMatchObject({ type: 'consent.approved', data: { by: 'us' }, resolves: { as: 'settled' } })
  })

  test('is declined by a reading that shows the old status', () => {
    const [event] = eventsAfter(...lost, observe('PENDENTE'))
    expect(event).toMatchObject({
      type: 'consent.changeNotMade',
      data: { asked: 'ATIVO', status: 'PENDENTE' },
      anomaly: 'the change to ATIVO, whose answer was lost, was not made',
      resolves: { as: 'declined' },
    })
  })
})

test('a consent that is no longer listed has vanished and can appear again', () => {
  const miss = { type: 'consent.miss', data: {} }
  expect(eventsAfter(observe('ATIVO'), miss)).toMatchObject([{ type: 'consent.vanished' }])
  expect(eventsAfter(observe('ATIVO'), miss, miss)).toEqual([])
  expect(eventsAfter(observe('ATIVO'), miss, observe('ATIVO'))).toMatchObject([
    { type: 'consent.appeared', anomaly: 'it had vanished' },
  ])
})

test('an end in a concurrent list is not overridden by an outdated list within a minute', () => {
  const at = (second: number) =>
    `2026-11-20T12:${String(Math.floor(second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')}.000Z`
  const listed = (status: string, second: number) => {
    const { type, data } = observe(status)
    return { type, data: { ...(data as object), expiresAt: '2027-11-20T12:00:00.000Z', askedAt: at(second) } }
  }
  const isConcurrentRead = { ...listed('REVOGADO', 10), isStale: true }
  const use = { type: 'consent.use', data: { at: at(200), ageMaxMs: null, readAt: at(200) } }
  const seen = [listed('ATIVO', 0), isConcurrentRead]
  const vague = { type: 'consent.observeUnreadable', data: {} }
  const later = { type: 'consent.use', data: { at: at(40), ageMaxMs: null, readAt: at(40) } }
  expect(eventsAfter(...seen, vague, listed('ATIVO', 30), later)).toMatchObject([{ type: 'consent.useRefused' }])
  expect(eventsAfter(...seen, listed('ATIVO', 30), use)).toMatchObject([{ type: 'consent.useRefused' }])
  expect(eventsAfter(...seen, listed('ATIVO', 71), use)).toMatchObject([{ type: 'consent.used' }])
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
  test('but counts if there are none', () => {
    for (const ending of endings) {
      expect(eventsAfter(listed('PENDENTE'), listed('ATIVO'), ending, use)).toMatchObject([{ type: 'consent.used' }])
    }
  })
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
