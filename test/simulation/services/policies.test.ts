import { expect, test } from 'vitest'
import { simulate, startServices } from '../../../src/simulation/index.ts'
import { type Policies, parsePolicies } from '../../../src/simulation/services/policies.ts'

test.each([
  ['policies', []],
  ['policies', 'all'],
  ['policies: Unrecognized key: "consent"', { consent: {} }],
  ['consentService: Unrecognized key: "missing"', { consentService: { missing: 'notFound' } }],
  ['consentService.missingRecord', { consentService: { missingRecord: 'gone' } }],
  ['consentService.authorizedClients', { consentService: { authorizedClients: 'gestora' } }],
  ['consentService.authorizedClients', { consentService: { authorizedClients: { 6: ['gestora'] } } }],
  ['tokenService.characters', { tokenService: { characters: 41 } }],
  ['validationService.required', { validationService: { required: 'all' } }],
  ['portal.tries', { portal: { tries: 1.5 } }],
  ['portal.represents', { portal: { represents: [{ tipo: 'CPF', id: '257.744.350-16' }] } }],
  ['portal.users.0.headers', { portal: { users: [{ headers: {} }] } }],
  ['portal.users.0.headers.a b', { portal: { users: [{ headers: { 'a b': 'c' } }] } }],
  ['portal.users.0: Unrecognized key: "header"', { portal: { users: [{ headers: { a: 'b' }, header: 1 }] } }],
])('invalid policies are rejected with the member %s', (member, policies) => {
  const message = expect.stringContaining(`Cannot set the policies: ${member}`)
  expect(() => parsePolicies(policies)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT', message }))
})

test('valid policies are returned unchanged, and all are optional', () => {
  const policies: Policies = {
    consentService: { missingRecord: 'badRequest', authorizedClients: ['gestora'] },
    tokenService: { characters: 36 },
  }
  expect(parsePolicies(policies)).toEqual(policies)
  expect(parsePolicies()).toEqual({})
})

test('the simulated services do not start with invalid policies', async () => {
  const policies = { portal: { silence: 'always' } } as unknown as Policies // As from JavaScript.
  const refusal = { code: 'INVALID_INPUT', message: expect.stringContaining('portal.silence: ') }
  await expect(simulate({ policies })).rejects.toMatchObject(refusal)
  await expect(startServices({ policies })).rejects.toMatchObject(refusal)
})
