import { expect, test } from 'vitest'
import * as consent from '../../src/adapters/consent/protocol.ts'
import * as portal from '../../src/adapters/portal/protocol.ts'
import * as token from '../../src/adapters/token/protocol.ts'
import * as validation from '../../src/adapters/validation/protocol.ts'

const base = 'https://host.exemplo.br/base/'
const headers = { authorization: 'sessao' }
const wanted = { evento: 'e', endpoint: 'https://a.exemplo.br/', chaveSecreta: 's', chaveAutenticacao: 'a' }

/** The fourteen operations as they are sent: method, address, the headers that matter, and the body. */
const requests: [string, Request, string, Record<string, string>, unknown][] = [
  [
    'change a status',
    consent.writeChangeStatus(base, '25774435016', 'a/b c', 'ATIVO'),
    'PUT https://host.exemplo.br/base/consentimento/v1/consentimentos/25774435016/a%2Fb%20c/status/ATIVO',
    {},
    '',
  ],
  [
    'list consents',
    consent.writeReading(base, 'consentimentos', '25774435016'),
    'GET https://host.exemplo.br/base/consentimento/v1/consentimentos/25774435016',
    {},
    '',
  ],
  [
    'read a consent',
    consent.writeReading(base, 'consentimentos', '25774435016', 'id'),
    'GET https://host.exemplo.br/base/consentimento/v1/consentimentos/25774435016/id',
    {},
    '',
  ],
  [
    'list awareness records',
    consent.writeReading(base, 'ciencias', '25774435016'),
    'GET https://host.exemplo.br/base/consentimento/v1/ciencias/25774435016',
    {},
    '',
  ],
  [
    'read an awareness record',
    consent.writeReading(base, 'ciencias', '25774435016', 'id'),
    'GET https://host.exemplo.br/base/consentimento/v1/ciencias/25774435016/id',
    {},
    '',
  ],
  [
    'read the login state',
    consent.writeReading(base, 'autenticacao', '25774435016'),
    'GET https://host.exemplo.br/base/consentimento/v1/autenticacao/25774435016',
    {},
    '',
  ],
  [
    'read the login address',
    consent.writeReadLoginAddress(base, '25774435016', 'https://app.exemplo.br/?a=1&b=2'),
    'GET https://host.exemplo.br/base/consentimento/v1/autenticacao/25774435016/url?redirectUrl=https%3A%2F%2Fapp.exemplo.br%2F%3Fa%3D1%26b%3D2',
    {},
    '',
  ],
  [
    'request a token',
    token.writeRequestToken('https://gateway.exemplo.br/token', 'chave', 'segredo%+:'),
    'POST https://gateway.exemplo.br/token',
    { authorization: 'Basic Y2hhdmU6c2VncmVkbyUrOg==', 'content-type': 'application/x-www-form-urlencoded' },
    'grant_type=client_credentials',
  ],
  [
    'validate a person',
    validation.writeValidatePerson(
      { baseUrl: base, service: 'demo' },
      {
        bearer: 't',
        cpf: '25774435016',
        claims: { nome: 'X' },
        trace: { header: 'x-request-trace-id', id: 'v1' },
      },
    ),
    'POST https://host.exemplo.br/base/demo/v2/validate/pf',
    {
      accept: 'application/json',
      authorization: 'Bearer t',
      'content-type': 'application/json',
      'x-request-trace-id': 'v1',
    },
    { key: { cpf: '25774435016' }, answer: { nome: 'X' } },
  ],
  [
    'subscribe',
    portal.writeSubscribe(base, headers, wanted),
    'POST https://host.exemplo.br/base/portal/api/ext/webhook',
    { ...headers, 'content-type': 'application/json' },
    wanted,
  ],
  [
    'list subscriptions',
    portal.writeList(base, headers),
    'GET https://host.exemplo.br/base/portal/api/ext/webhook?exibirInativos=true',
    headers,
    '',
  ],
  [
    'change a subscription',
    portal.writeChange(base, headers, 7, wanted),
    'PUT https://host.exemplo.br/base/portal/api/ext/webhook/7',
    { ...headers, 'content-type': 'application/json' },
    { id: 7, ...wanted },
  ],
  [
    'delete a subscription',
    portal.writeDelete(base, headers, 7),
    'DELETE https://host.exemplo.br/base/portal/api/ext/webhook/7',
    { ...headers, 'content-type': 'application/json' },
    { id: 7 },
  ],
  [
    'query failures',
    portal.writeFailures(base, headers, '2026-11-20'),
    'GET https://host.exemplo.br/base/portal/api/ext/webhook/falhas?data=20112026',
    headers,
    '',
  ],
]

test('there are fourteen operations', () => {
  expect(requests).toHaveLength(14)
})

test.each(requests)('%s', async (_, request, line, expected, body) => {
  expect(`${request.method} ${request.url}`).toBe(line)
  expect(Object.fromEntries(request.headers)).toMatchObject(expected)
  const text = await request.text()
  expect(typeof body === 'string' ? text : JSON.parse(text)).toEqual(body)
})

test('the consent service gets no credential in a header', () => {
  const [, first] = requests[0] ?? []
  expect([...(first?.headers.keys() ?? [])]).toEqual(['accept'])
})
