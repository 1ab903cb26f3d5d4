import { expect, test } from 'vitest'
import { parsePolicies } from '../../../src/simulation/services/policies.ts'

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
  ['portal.silence', { portal: { silence: 'always' } }],
  ['portal.tries', { portal: { tries: 1.5 } }],
  ['portal.represents', { portal: { represents: [{ tipo: 'CPF', id: '257.744.350-16' }] } }],
  ['portal.users.0.headers', { portal: { users: [{ headers: {} }] } }],
  ['portal.users.0.headers.a b', { portal: { users: [{ headers: { 'a b': 'c' } }] } }],
  ['portal.users.0: Unrecognized key: "header"', { portal: { users: [{ headers: { a: 'b' }, header: 1 }] } }],
])('invalid policies are rejected with the member %s', (member, policies) => {
  const message = expect.stringContaining(`Cannot set the policies: ${member}`)
  expect(() => parsePolicies(policies)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT', message }))
})
