import { createServer, type RequestListener } from 'node:http'
import { expect, test } from 'vitest'
import { writeChangeStatus, writeReading, writeReadLoginAddress } from '../../src/adapters/consent/protocol.ts'
import { tryReach } from '../../src/adapters/http/try-reach.ts'
import { portalAccessKeys } from '../../src/adapters/portal/login.ts'
import * as portal from '../../src/adapters/portal/protocol.ts'
import { writeRequestToken } from '../../src/adapters/token/protocol.ts'
import { writeValidatePerson } from '../../src/adapters/validation/protocol.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { samples } from '../../src/simulation/index.ts'
import { listenUntilEnd } from '../support/listen-until-end.ts'

const { cpf } = samples
const session = { authorization: 'sessao' }
const wanted = { evento: 'e', endpoint: 'https://a.exemplo.br/', chaveSecreta: 's', chaveAutenticacao: 'a' }
const person = { bearer: 't', cpf, claims: { nome: 'X' }, trace: { header: 'x-request-trace-id', id: 'v1' } }

/** The fourteen operations by their names in docs/contracts.md, for services at one address. */
const requestsAt = (base: string) => ({
  'change a status': writeChangeStatus(base, cpf, 'a/b c', 'ATIVO'),
  'list consents': writeReading(base, 'consentimentos', cpf),
  'read a consent': writeReading(base, 'consentimentos', cpf, 'id'),
  'list awareness records': writeReading(base, 'ciencias', cpf),
  'read an awareness record': writeReading(base, 'ciencias', cpf, 'id'),
  'read the login state': writeReading(base, 'autenticacao', cpf),
  'read the login address': writeReadLoginAddress(base, cpf, 'https://app.exemplo.br/?a=1&b=2'),
  'request a token': writeRequestToken(new URL('token', base).href, 'chave', 'segredo%+:'),
  'validate a person': writeValidatePerson({ baseUrl: base, service: 'demo' }, person),
  subscribe: portal.writeSubscribe(base, session, wanted),
  'list subscriptions': portal.writeList(base, session),
  'change a subscription': portal.writeChange(base, session, 7, wanted),
  'delete a subscription': portal.writeDelete(base, session, 7),
  'query failures': portal.writeFailures(base, session, '2026-11-20'),
})

const base = 'https://host.exemplo.br/base/'
const requests = requestsAt(base)
const v1 = 'consentimento/v1'
const webhook = 'portal/api/ext/webhook'
const redirect = 'https%3A%2F%2Fapp.exemplo.br%2F%3Fa%3D1%26b%3D2'
const basic = { authorization: 'Basic Y2hhdmU6c2VncmVkbyUrOg==', 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }
const inSession = { ...session, ...json }
const validating = { ...json, accept: 'application/json', authorization: 'Bearer t', 'x-request-trace-id': 'v1' }

/** Method and address below `base`, the headers that matter, and the body. */
const expected: [keyof typeof requests, line: string, headers?: Record<string, string>, body?: unknown][] = [
  ['change a status', `PUT ${v1}/consentimentos/25774435016/a%2Fb%20c/status/ATIVO`],
  ['list consents', `GET ${v1}/consentimentos/25774435016`],
  ['read a consent', `GET ${v1}/consentimentos/25774435016/id`],
  ['list awareness records', `GET ${v1}/ciencias/25774435016`],
  ['read an awareness record', `GET ${v1}/ciencias/25774435016/id`],
  ['read the login state', `GET ${v1}/autenticacao/25774435016`],
  ['read the login address', `GET ${v1}/autenticacao/25774435016/url?redirectUrl=${redirect}`],
  ['request a token', 'POST token', basic, 'grant_type=client_credentials'],
  ['validate a person', 'POST demo/v2/validate/pf', validating, { key: { cpf }, answer: { nome: 'X' } }],
  ['subscribe', `POST ${webhook}`, inSession, wanted],
  ['list subscriptions', `GET ${webhook}?exibirInativos=true`, session],
  ['change a subscription', `PUT ${webhook}/7`, inSession, { id: 7, ...wanted }],
  ['delete a subscription', `DELETE ${webhook}/7`, inSession, { id: 7 }],
  ['query failures', `GET ${webhook}/falhas?data=20112026`, session],
]

test('there are fourteen operations', () => {
  expect(Object.keys(requests)).toEqual(expected.map(([name]) => name))
  expect(expected).toHaveLength(14)
})

test.each(expected)('%s', async (name, line, headers = {}, body = '') => {
  const request = requests[name]
  expect(`${request.method} ${request.url}`).toBe(line.replace(' ', ` ${base}`))
  expect(Object.fromEntries(request.headers)).toMatchObject(headers)
  const text = await request.text()
  expect(typeof body === 'string' ? text : JSON.parse(text)).toEqual(body)
})

test('the consent service gets no credential in a header', () => {
  expect([...requests['list consents'].headers.keys()]).toEqual(['accept'])
})

const listen = async (listener: RequestListener) => `http://127.0.0.1:${await listenUntilEnd(createServer(listener))}`

const name = "a %i is not followed, also with a host's own fetch that follows redirects"
test.each([301, 302, 307, 308])(name, async status => {
  const arrived: string[] = []
  const elsewhere = await listen(({ method, url }, response) => {
    arrived.push(`${method} ${url}`)
    response.end('{"nome":true}')
  })
  const base = await listen((_, response) => void response.writeHead(status, { location: `${elsewhere}/x` }).end())
  const keys = { roleType: 'IMPEXP', clientId: 'id', clientSecret: 'segredo' } as const
  const all = [...Object.values(requestsAt(base)), await portalAccessKeys(keys).write(base)]
  for (const request of all) expect((await fetch(request)).status, request.url).toBe(status)
  const how = { fetch: (request: Request) => fetch(request), clock: systemClock, service: 'portal' } as const
  expect(await tryReach(base, how)).toMatchObject({ isReached: false, detail: expect.stringContaining(`${status}`) })
  expect(arrived).toEqual([])
})
