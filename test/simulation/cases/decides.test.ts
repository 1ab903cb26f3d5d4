import assert, { AssertionError } from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import { decides, type GivenEvent, type MachineCase, shows } from '../../../src/simulation/index.ts'

const reading = { status: 'PENDENTE', createdAt: null, expiresAt: null, controller: null } as const
const appeared: GivenEvent = {
  ...{ type: 'consent.appeared', data: { consent: 'consent-1', subject: 'subject-1', ...reading } },
}

describe('a decision', () => {
  const approval: MachineCase = { machine: 'consent', given: [appeared], when: { type: 'consent.approve', data: {} } }

  test('is compared with the expected events member by member', () => {
    const effects = [{ type: 'consentService.changeStatus', data: { status: 'ATIVO' } }]
    const answer = decides({ ...approval, expected: { events: [{ type: 'consent.changeRequested', effects }] } })
    expect(answer).toMatchObject({ events: [{ type: 'consent.changeRequested' }] })
    decides({ ...approval, expected: { events: [event => assert.match(event.type, /changeRequested$/)] } })
    decides({ ...approval, expected: { events: [event => expect(event).toHaveProperty('effects')] } })
  })

  test('that differs throws an error that says where', () => {
    const wrong = () => decides({ ...approval, expected: { events: [{ type: 'consent.approved' }] } })
    expect(wrong).toThrow(AssertionError)
    expect(wrong).toThrow(
      /^the events of the answer of consent to consent\.approve\[0\]: [\s\S]*type: 'consent\.changeRequested'[\s\S]*type: 'consent\.approved'/,
    )
    for (const events of [[], [{}, {}], [() => assert.fail('never')]])
      expect(() => decides({ ...approval, expected: { events } })).toThrow(AssertionError)
    // The error of another runner is thrown as it is.
    const never = () => expect(1).toBe(2)
    expect(() => decides({ ...approval, expected: { events: [never] } })).toThrow('expected 1 to be 2')
    const refused = () => decides({ ...approval, expected: { refused: 'x' } })
    expect(refused).toThrow(AssertionError)
    expect(refused).toThrow(
      'Expected the answer of consent to consent.approve to be a refusal, but it was accepted: consent.changeRequested',
    )
  })

  test('may be expected as a refusal by text and code', () => {
    const spend = { type: 'budget.spend', data: { for: 'v', max: 1 } }
    const over: MachineCase = { machine: 'budget', after: [spend], when: spend }
    decides({ ...over, expected: { refused: /the limit is 1/, code: 'BUDGET_SPENT' } })
    const otherCode = () => decides({ ...over, expected: { refused: /./, code: 'REFUSED' } })
    expect(otherCode).toThrow(/^the answer of budget to budget\.spend: /)
    const accepted = () => decides({ ...over, expected: { events: [] } })
    expect(accepted).toThrow(AssertionError)
    expect(accepted).toThrow(/to be events, but it was refused: .*the limit is 1 \(BUDGET_SPENT\)$/)
  })

  test('throws for an unknown event, an unknown message and a refused earlier message', () => {
    const { when } = approval
    const asked = (given: object) => () => decides({ machine: 'consent', when, ...given })
    expect(asked({ machine: 'token', given: [appeared] })).toThrow('The machine token has no event consent.appeared')
    const misspelt = asked({ when: { ...when, type: 'consent.aprove' } })
    expect(misspelt).toThrow('The machine consent has no message consent.aprove')
    expect(asked({ after: [when] })).toThrow(/^The machine consent refuses consent\.approve: /)
  })
})

test('an unknown member of an event is a compiler error', () => {
  // @ts-expect-error: the member is `generation`
  const renewed: GivenEvent = { type: 'token.renewed', data: { generatoin: 1, expiresAt: null } }
  expect(renewed.type).toBe('token.renewed')
})

describe('the rows of a view', () => {
  const holder = { generation: 1, contract: 'c1', credential: 'k1' }
  const times = { issuedAt: '2026-11-20T12:00:00.000Z', expiresAt: '2026-11-20T13:00:00.000Z' }
  const renewed = { type: 'token.renewed', data: { ...holder, ...times } } as const
  const other = { ...renewed, stream: 'token-outra', at: '2026-12-01T00:00:00.000Z' }

  test('are all compared, in order', () => {
    const rows = shows({
      view: 'tokens',
      given: [renewed, other, { type: 'token.rejected', data: { ...holder, times: 1 } }],
      expected: [
        { token: 'token-1', state: 'rejected', generation: 1, changed_at: '2026-12-01T00:00:01.000Z' },
        { token: 'token-outra', state: 'valid', changed_at: '2026-12-01T00:00:00.000Z' },
      ],
    })
    expect(rows).toHaveLength(2)
    expect(shows({ view: 'consents', given: [renewed], expected: [] })).toEqual([])
  })

  test('that differ throw an error that says where', () => {
    const shown =
      (...expected: object[]) =>
      () =>
        shows({ view: 'tokens', given: [renewed], expected })
    const differs = /^the rows of tokens\[0\]: [\s\S]*state: 'valid'[\s\S]*state: 'absent'/
    expect(shown({ state: 'absent' })).toThrow(differs)
    for (const wrong of [shown(), shown({}, {})]) expect(wrong).toThrow(/^the rows of tokens: /)
  })
})
