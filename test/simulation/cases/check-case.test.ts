import { describe, expect, test } from 'vitest'
import { decides, samples, scenario, shows, type World } from '../../../src/simulation/index.ts'

/** As it comes where nobody checks types. */
const untyped = (given: unknown) => given as never

describe('a decision', () => {
  const asked = { machine: 'consent', when: { type: 'consent.approve', data: {} } }

  /** What the last member is called elsewhere. */
  const before = Object.fromEntries([['then', { events: [] }]])

  test.each([
    ['a member that it does not have', before, /^Unknown member "then" of a case of decides/],
    [
      'a member that misses a letter',
      { expcted: { refused: /./ } },
      /^Unknown member "expcted" of a case of decides$/,
    ],
    ['nothing expected', { expected: {} }, /is empty/],
    ['nothing expected by null', { expected: null }, /is empty/],
    ['an undefined expectation', { expected: { code: undefined } }, /is empty/],
    ['a misspelt expectation', { expected: { refusd: /./ } }, /^Unknown member "refusd" of "expected" of /],
    [
      'an event that nothing records',
      { expected: { events: [{ type: 'consent.changeRequestd' }] } },
      'No machine records an event of the type "consent.changeRequestd"',
    ],
    [
      'a given event that nothing records',
      { given: [{ type: 'consent.apeared', data: {} }] },
      'No machine records an event of the type "consent.apeared"',
    ],
  ])('with %s is no test', (_, members, message) => {
    const decide = () => decides(untyped({ ...asked, ...members }))
    expect(decide).toThrow(message)
  })

  test('may be left to assertions of its own, a function or a matcher', () => {
    expect(decides(untyped(asked))).toMatchObject({ refused: 'nothing is known of it' })
    decides(untyped({ ...asked, expected: undefined }))
    const refused = { refused: 'nothing is known of it' }
    decides(untyped({ ...asked, expected: expect.objectContaining(refused) }))
    decides(untyped({ ...asked, expected: (answer: object) => 'refused' in answer }))
  })
})

test('rows with a member that a case does not have, or of an event that nothing records, are no test', () => {
  const wrong = () => shows(untyped({ view: 'tokens', given: [], expcted: [{ state: 'valid' }] }))
  expect(wrong).toThrow(/^Unknown member "expcted" of a case of shows$/)
  const misspelt = () => shows(untyped({ view: 'tokens', given: [{ type: 'token.renewd' }], expected: [] }))
  expect(misspelt).toThrow('No machine records an event of the type "token.renewd"')
})

describe('a scenario', () => {
  test.each([
    [
      'a member that it does not have',
      { survivesCrash: true },
      /^Unknown member "survivesCrash" of a scenario$/,
    ],
    ['a misspelt expectation', { expected: { evnts: [{}] } }, /^Unknown member "evnts" of "expected" of /],
    ['nothing expected', { expected: {} }, /is empty/],
    ['an undefined expectation', { expected: { result: undefined } }, /is empty/],
    ['empty lists', { expected: { events: [], without: [] } }, /is empty/],
    [
      'an unwanted event that nothing records',
      { expected: { without: ['token.renewd'] } },
      'No machine records an event of the type "token.renewd"',
    ],
    [
      'a pattern of unwanted events',
      { expected: { without: [/^token/] } },
      'No machine records an event of the type "/^token/"',
    ],
    [
      'an event that nothing records',
      { expected: { events: [{ type: 'token.renewd' }] } },
      'No machine records an event of the type "token.renewd"',
    ],
  ])('with %s is no test, and does not begin', async (_, members, message) => {
    let begun = 0
    const when = () => {
      begun += 1
    }
    const played = scenario(untyped({ when, ...members }))
    await expect(played).rejects.toThrow(message)
    expect(begun).toBe(0)
  })

  test('may expect what the log records by itself, and an event by a pattern or a matcher', async () => {
    await scenario({
      when: async ({ averba }: World) => {
        const subject = await averba.consents.enrol({ cpf: samples.cpf })
        await averba.consents.sync({ subject })
      },
      expected: {
        events: [{ type: /enrolled$/ }, expect.objectContaining({ type: 'subject.synced' })],
        without: ['log.resumed'],
      },
    })
  })
})
