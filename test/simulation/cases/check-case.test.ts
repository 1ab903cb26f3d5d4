import { describe, expect, test } from 'vitest'
import { decides, samples, scenario, shows, type World } from '../../../src/simulation/index.ts'

/** Input as from JavaScript, without type checks. */
const untyped = (given: unknown) => given as never

describe('a decision', () => {
  const asked = { machine: 'consent', when: { type: 'consent.approve', data: {} } }

  const withThen = Object.fromEntries([['then', { events: [] }]])

  test.each([
    ['an unknown member', withThen, /^Unknown member "then" of a case of decides/],
    ['a misspelt member', { expcted: { refused: /./ } }, /^Unknown member "expcted" of a case of decides$/],
    ['an empty expectation', { expected: {} }, /is empty/],
    ['a null expectation', { expected: null }, /is empty/],
    ['an undefined expectation', { expected: { code: undefined } }, /is empty/],
    ['a misspelt expectation', { expected: { refusd: /./ } }, /^Unknown member "refusd" of "expected" of /],
    [
      'an unknown event type',
      { expected: { events: [{ type: 'consent.changeRequestd' }] } },
      'No machine records an event of the type "consent.changeRequestd"',
    ],
    [
      'an unknown type of a given event',
      { given: [{ type: 'consent.apeared', data: {} }] },
      'No machine records an event of the type "consent.apeared"',
    ],
  ])('%s is rejected', (_, members, message) => {
    const decide = () => decides(untyped({ ...asked, ...members }))
    expect(decide).toThrow(message)
  })

  test('a case may expect nothing', () => {
    expect(decides(untyped(asked))).toMatchObject({ refused: 'nothing is known of it' })
    decides(untyped({ ...asked, expected: undefined }))
  })
})

test('shows() rejects an unknown member and an unknown event type', () => {
  const wrong = () => shows(untyped({ view: 'tokens', given: [], expcted: [{ state: 'valid' }] }))
  expect(wrong).toThrow(/^Unknown member "expcted" of a case of shows$/)
  const misspelt = () => shows(untyped({ view: 'tokens', given: [{ type: 'token.renewd' }], expected: [] }))
  expect(misspelt).toThrow('No machine records an event of the type "token.renewd"')
})

describe('a scenario', () => {
  test.each([
    ['an unknown member', { survivesCrash: true }, /^Unknown member "survivesCrash" of a scenario$/],
    ['a misspelt expectation', { expected: { evnts: [{}] } }, /^Unknown member "evnts" of "expected" of /],
    ['an empty expectation', { expected: {} }, /is empty/],
    ['an undefined expectation', { expected: { result: undefined } }, /is empty/],
    ['empty lists', { expected: { events: [], without: [] } }, /is empty/],
    [
      'an unknown type of an unwanted event',
      { expected: { without: ['token.renewd'] } },
      'No machine records an event of the type "token.renewd"',
    ],
    [
      'a pattern for unwanted events',
      { expected: { without: [/^token/] } },
      'No machine records an event of the type "/^token/"',
    ],
    [
      'an unknown event type',
      { expected: { events: [{ type: 'token.renewd' }] } },
      'No machine records an event of the type "token.renewd"',
    ],
  ])('%s is rejected before the scenario runs', async (_, members, message) => {
    let begun = 0
    const when = () => {
      begun += 1
    }
    const played = scenario(untyped({ when, ...members }))
    await expect(played).rejects.toThrow(message)
    expect(begun).toBe(0)
  })

  test('an event may be expected by its members or by a function', async () => {
    await scenario({
      when: async ({ averba }: World) => {
        const subject = await averba.consents.enrol({ cpf: samples.cpf })
        await averba.consents.sync({ subject })
      },
      expected: {
        events: [event => expect(event.type).toMatch(/enrolled$/), { type: 'subject.synced' }],
        without: ['log.resumed'],
      },
    })
  })
})
