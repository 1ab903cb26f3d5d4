import { expect, test } from 'vitest'
import { requestsAt, session, wanted } from './fourteen-requests.ts'

/** A request as it is sent: method and address, the headers that matter, and the body. */
interface Sent {
  readonly line: string
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

const base = 'https://host.exemplo.br/base'
const consentBase = `${base}/consentimento/v1`
const webhook = `${base}/portal/api/ext/webhook`
const redirect = 'https%3A%2F%2Fapp.exemplo.br%2F%3Fa%3D1%26b%3D2'
const form = 'application/x-www-form-urlencoded'
const basic = { authorization: 'Basic Y2hhdmU6c2VncmVkbyUrOg==', 'content-type': form }
const json = { 'content-type': 'application/json' }

const expected: [string, Sent][] = [
  ['change a status', { line: `PUT ${consentBase}/consentimentos/25774435016/a%2Fb%20c/status/ATIVO` }],
  ['list consents', { line: `GET ${consentBase}/consentimentos/25774435016` }],
  ['read a consent', { line: `GET ${consentBase}/consentimentos/25774435016/id` }],
  ['list awareness records', { line: `GET ${consentBase}/ciencias/25774435016` }],
  ['read an awareness record', { line: `GET ${consentBase}/ciencias/25774435016/id` }],
  ['read the login state', { line: `GET ${consentBase}/autenticacao/25774435016` }],
  ['read the login address', { line: `GET ${consentBase}/autenticacao/25774435016/url?redirectUrl=${redirect}` }],
  ['request a token', { line: `POST ${base}/token`, headers: basic, body: 'grant_type=client_credentials' }],
  [
    'validate a person',
    {
      line: `POST ${base}/demo/v2/validate/pf`,
      headers: { ...json, accept: 'application/json', authorization: 'Bearer t', 'x-request-trace-id': 'v1' },
      body: { key: { cpf: '25774435016' }, answer: { nome: 'X' } },
    },
  ],
  ['subscribe', { line: `POST ${webhook}`, headers: { ...session, ...json }, body: wanted }],
  ['list subscriptions', { line: `GET ${webhook}?exibirInativos=true`, headers: session }],
  ['change a subscription', { line: `PUT ${webhook}/7`, headers: { ...session, ...json }, body: { id: 7, ...wanted } }],
  ['delete a subscription', { line: `DELETE ${webhook}/7`, headers: { ...session, ...json }, body: { id: 7 } }],
  ['query failures', { line: `GET ${webhook}/falhas?data=20112026`, headers: session }],
]

const requests = requestsAt(`${base}/`)

test('there are fourteen operations', () => {
  expect(Object.keys(requests)).toEqual(expected.map(([name]) => name))
  expect(expected).toHaveLength(14)
})

test.each(expected)('%s', async (name, { line, headers = {}, body = '' }) => {
  const request = requests[name] ?? new Request(base)
  expect(`${request.method} ${request.url}`).toBe(line)
  expect(Object.fromEntries(request.headers)).toMatchObject(headers)
  const text = await request.text()
  expect(typeof body === 'string' ? text : JSON.parse(text)).toEqual(body)
})

test('the consent service gets no credential in a header', () => {
  expect([...(requests['list consents']?.headers.keys() ?? [])]).toEqual(['accept'])
})
