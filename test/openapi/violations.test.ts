import { describe, expect, test } from 'vitest'
import { describedAs, describedBy, notification } from './described.ts'
import { checkRequest, checkResponse } from './violations.ts'

/** Tests that the check finds mismatches. */

const base = 'https://consentimento.exemplo.br/consentimento/v1'
const webhook = 'https://portal.exemplo.br/portal/api/ext/webhook'
const session = { authorization: 'sessao' }
const headers = { ...session, 'content-type': 'application/json' }

const state = { autenticado: true, horaExpiracao: '2026-11-20T12:00:00.000Z' }
const json = (body: unknown, init?: ResponseInit) => checkResponse(describedAs('readLogin'), Response.json(body, init))
const fault = (more: object) => {
  const body = { fault: { code: 1, message: '', description: '', ...more } }
  return checkResponse(describedAs('validatePerson'), Response.json(body, { status: 401 }))
}
const remove = (response: Response) => checkResponse(describedAs('deleteSubscription'), response)
const problem = { headers: { 'content-type': 'application/problem+json' } }

test.each([
  ['with an extra field', () => json({ ...state, cpf: '' }), /additional properties/],
  ['without a field', () => json({ autenticado: true }), /required property 'horaExpiracao'/],
  ['with a value of another type', () => json({ ...state, autenticado: 'true' }), /must be boolean/],
  ['with a text of another format', () => json({ ...state, horaExpiracao: '20-11-2026' }), /format "date-time"/],
  ['that is a list', () => json([state]), /must be object/],
  ['with an extra nested field', () => fault({ type: '' }), /^\S+, 401: .*"type"/],
  ['with an unknown status', () => json(state, { status: 201 }), /^readLogin has no status 201$/],
  ['with a status of another operation', () => json({}, { status: 403 }), /^readLogin has no status 403$/],
  [
    'of another media type',
    () => json(state, problem),
    /^readLogin, 200: the media type is "application\/problem\+json"$/,
  ],
  ['with a body where none is', () => remove(Response.json({})), /^deleteSubscription, 200: there is a body$/],
])('a response %s is wrong', async (_, find, wrong) => {
  expect((await find()).join()).toMatch(wrong)
})

describe('a request', () => {
  const violations = (url: string, init?: RequestInit) => {
    const request = new Request(url, init)
    const described = describedBy(request)
    return described ? checkRequest(described, request) : ['it is of no operation']
  }
  const wanted = { evento: 'e', endpoint: 'https://a.exemplo.br/' }
  const post = (body: unknown, more: object = headers) =>
    violations(webhook, { method: 'POST', headers: { ...more }, body: JSON.stringify(body) })
  const change = (status: string) => violations(`${base}/consentimentos/1/a/status/${status}`, { method: 'PUT' })
  const askToken = (grant_type: string) => {
    const init = { method: 'POST', headers: { authorization: 'Basic eA==' }, body: new URLSearchParams({ grant_type }) }
    return violations('https://gateway.exemplo.br/token', init)
  }

  test.each([
    ['with an unknown parameter', () => violations(`${base}/autenticacao/1?cnpj=2`), /cnpj is not a param/],
    ['with a value that is not listed', () => change('EXPIRADO'), /status: .*allowed values/],
    [
      'with a header credential for the consent service',
      () => violations(`${base}/autenticacao/1`, { headers: session }),
      /credential/,
    ],
    ['without a credential', () => post(wanted, { 'content-type': 'application/json' }), /credential/],
    ['with an extra field', () => post({ ...wanted, id: 1 }), /additional properties/],
    ['without a field', () => post({ evento: 'e' }), /required property 'endpoint'/],
    ['with a text that is too long', () => post({ ...wanted, evento: 'e'.repeat(41) }), /more than 40/],
    ['under another Content-Type', () => post(wanted, { ...headers, 'content-type': 'text/plain' }), /media/],
    ['with a Content-Type and no body', () => violations(webhook, { headers }), /there is a body/],
    ['with a day of another format', () => violations(`${webhook}/falhas?data=2026-11-20`, { headers }), /data: /],
    ['with another grant_type', () => askToken('password'), /grant_type/],
    ['of no operation', () => violations(`${webhook}/7`, { headers }), /no operation/],
  ])('%s is wrong', async (_, find, wrong) => {
    expect((await find()).join()).toMatch(wrong)
  })

  test('a notification without a header of section 6, or with an unknown kind of recipient, is wrong', async () => {
    const all = { 'destinatario-tipo': 'CNPJ', 'destinatario-id': '1', 'event-type': 'e' }
    const notify = (given: object) => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json', ...given }, body: '7' }
      return checkRequest(notification, new Request('https://receptor.exemplo.br/', init))
    }
    expect(await notify(all)).toEqual([])
    const { 'event-type': _, ...without } = all
    expect(await notify(without)).toEqual(['notify: event-type is missing'])
    expect((await notify({ ...all, 'destinatario-tipo': 'X' })).join()).toMatch(/destinatario-tipo: /)
  })
})
