import { expect, test, vi } from 'vitest'
import { decides, scenario, shows } from '../../../src/simulation/index.ts'

/** Input as from JavaScript, without type checks. */
const untyped = (given: unknown) => given as never
const noEvent = (type: string) => `No machine records an event of the type "${type}"`

const asked = { machine: 'consent', when: { type: 'consent.approve', data: {} } }

test.each([
  ['an unknown member', Object.fromEntries([['then', {}]]), /^Unknown member "then" of a case of decides/],
  ['a misspelt member', { expcted: { refused: /./ } }, /^Unknown member "expcted" of a case of decides$/],
  ['an empty expectation', { expected: {} }, /is empty/],
  ['a null expectation', { expected: null }, /is empty/],
  ['an undefined expectation', { expected: { code: undefined } }, /is empty/],
  ['a misspelt expectation', { expected: { refusd: /./ } }, /^Unknown member "refusd" of "expected" of /],
  ['an unknown event type', { expected: { events: [{ type: 'token.renewd' }] } }, noEvent('token.renewd')],
  ['an unknown type of a given event', { given: [{ type: 'token.renewd', data: {} }] }, noEvent('token.renewd')],
])('a decision with %s is rejected', (_, members, message) => {
  expect(() => decides(untyped({ ...asked, ...members }))).toThrow(message)
})

test('shows() rejects an unknown member and an unknown event type', () => {
  const wrong = () => shows(untyped({ view: 'tokens', given: [], expcted: [{ state: 'valid' }] }))
  expect(wrong).toThrow(/^Unknown member "expcted" of a case of shows$/)
  const misspelt = () => shows(untyped({ view: 'tokens', given: [{ type: 'token.renewd' }], expected: [] }))
  expect(misspelt).toThrow(noEvent('token.renewd'))
})

test.each([
  ['an unknown member', { survivesCrash: true }, /^Unknown member "survivesCrash" of a scenario$/],
  ['a misspelt expectation', { expected: { evnts: [{}] } }, /^Unknown member "evnts" of "expected" of /],
  ['an empty expectation', { expected: {} }, /is empty/],
  ['an undefined expectation', { expected: { result: undefined } }, /is empty/],
  ['empty lists', { expected: { events: [], without: [] } }, /is empty/],
  ['an unknown type of an unwanted event', { expected: { without: ['token.renewd'] } }, noEvent('token.renewd')],
  ['a pattern for unwanted events', { expected: { without: [/^token/] } }, noEvent('/^token/')],
  ['an unknown event type', { expected: { events: [{ type: 'token.renewd' }] } }, noEvent('token.renewd')],
])('a scenario with %s is rejected before it runs', async (_, members, message) => {
  const when = vi.fn()
  await expect(scenario(untyped({ when, ...members }))).rejects.toThrow(message)
  expect(when).not.toHaveBeenCalled()
})
