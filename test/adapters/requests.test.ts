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
const json = { 'content-type': 'application/json' }

const expected: Record<string, Sent> = {
  changeStatus: { line: `PUT ${consentBase}/consentimentos/25774435016/a%2Fb%20c/status/ATIVO` },
  listConsents: { line: `GET ${consentBase}/consentimentos/25774435016` },
  readConsent: { line: `GET ${consentBase}/consentimentos/25774435016/id` },
  listAwareness: { line: `GET ${consentBase}/ciencias/25774435016` },
  readAwareness: { line: `GET ${consentBase}/ciencias/25774435016/id` },
  readLogin: { line: `GET ${consentBase}/autenticacao/25774435016` },
  readLoginAddress: {
    line: `GET ${consentBase}/autenticacao/25774435016/url?redirectUrl=https%3A%2F%2Fapp.exemplo.br%2F%3Fa%3D1%26b%3D2`,
  },
  requestToken: {
    line: `POST ${base}/token`,
    headers: {
      authorization: 'Basic Y2hhdmU6c2VncmVkbyUrOg==',
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'grant_type=client_credentials',
  },
  validatePerson: {
    line: `POST ${base}/demo/v2/validate/pf`,
    headers: { ...json, accept: 'application/json', authorization: 'Bearer t', 'x-request-trace-id': 'v1' },
    body: { key: { cpf: '25774435016' }, answer: { nome: 'X' } },
  },
  subscribe: { line: `POST ${webhook}`, headers: { ...session, ...json }, body: wanted },
  listSubscriptions: { line: `GET ${webhook}?exibirInativos=true`, headers: session },
  changeSubscription: {
    line: `PUT ${webhook}/7`,
    headers: { ...session, ...json },
    body: { id: 7, ...wanted },
  },
  deleteSubscription: { line: `DELETE ${webhook}/7`, headers: { ...session, ...json }, body: { id: 7 } },
  listFailures: { line: `GET ${webhook}/falhas?data=20112026`, headers: session },
}

const requests = Object.entries(requestsAt(`${base}/`))

test('there are fourteen operations', () => {
  expect(requests.map(([name]) => name)).toEqual(Object.keys(expected))
  expect(requests).toHaveLength(14)
})

test.each(requests)('%s', async (name, request) => {
  const { line, headers = {}, body = '' } = expected[name] ?? { line: '' }
  expect(`${request.method} ${request.url}`).toBe(line)
  expect(Object.fromEntries(request.headers)).toMatchObject(headers)
  const text = await request.text()
  expect(typeof body === 'string' ? text : JSON.parse(text)).toEqual(body)
})

test('the consent service gets no credential in a header', () => {
  expect([...(requestsAt(base).changeStatus?.headers.keys() ?? [])]).toEqual(['accept'])
})
