import { describe, expect, test } from 'vitest'
import { describedAs, describedBy, notification } from './described.ts'
import { checkRequest, checkResponse } from './violations.ts'

/** Tests that the check finds mismatches. */

const base = 'https://consentimento.exemplo.br/consentimento/v1'
const webhook = 'https://portal.exemplo.br/portal/api/ext/webhook'
const session = { authorization: 'sessao' }
const headers = { ...session, 'content-type': 'application/json' }

describe('a response', () => {
  const readLogin = describedAs('readLogin')
  const state = { autenticado: true, horaExpiracao: '2026-11-20T12:00:00.000Z' }
  const json = (body: unknown, init?: ResponseInit) => checkResponse(readLogin, Response.json(body, init))

  test('that fits is not wrong', async () => {
    expect(await json(state)).toEqual([])
  })

  test.each([
    ['with an extra field', { ...state, cpf: '' }, /additional properties/],
    ['without a field', { autenticado: true }, /required property 'horaExpiracao'/],
    ['with a value of another type', { ...state, autenticado: 'true' }, /must be boolean/],
    ['with a text of another format', { ...state, horaExpiracao: '20-11-2026' }, /format "date-time"/],
    ['that is a list', [state], /must be object/],
  ])('%s is wrong', async (_, body, wrong) => {
    expect((await json(body)).join()).toMatch(wrong)
  })

  test('with an extra nested field is wrong', async () => {
    const violations = (more: object) => {
      const fault = { code: 1, message: '', description: '', ...more }
      return checkResponse(describedAs('validatePerson'), Response.json({ fault }, { status: 401 }))
    }
    expect(await violations({})).toEqual([])
    expect((await violations({ type: '' })).join()).toMatch(/^\S+, 401: .*"type"/)
  })

  test('with an undocumented status is wrong', async () => {
    expect(await json(state, { status: 201 })).toEqual(['readLogin has no status 201'])
    expect(await json({}, { status: 403 })).toEqual(['readLogin has no status 403'])
  })

  test('of another media type is wrong', async () => {
    const type = { headers: { 'content-type': 'application/problem+json' } }
    expect(await json(state, type)).toEqual(['readLogin, 200: the media type is "application/problem+json"'])
  })

  test('with a body, where the document has none, is wrong', async () => {
    const remove = describedAs('deleteSubscription')
    expect(await checkResponse(remove, new Response(null))).toEqual([])
    expect(await checkResponse(remove, Response.json({}))).toEqual(['deleteSubscription, 200: there is a body'])
  })
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
  const change = (status: string, id = 'a') =>
    violations(`${base}/consentimentos/1/${id}/status/${status}`, { method: 'PUT' })
  const askToken = (grant_type: string) => {
    const init = { method: 'POST', headers: { authorization: 'Basic eA==' }, body: new URLSearchParams({ grant_type }) }
    return violations('https://gateway.exemplo.br/token', init)
  }

  test('that fits is not wrong', async () => {
    expect(await change('ATIVO', 'a%2Fb')).toEqual([])
    expect(await violations(`${base}/ciencias/1?cnpj=2`)).toEqual([])
    for (const query of ['/falhas?data=20112026', '?exibirInativos=false'])
      expect(await violations(`${webhook}${query}`, { headers: session })).toEqual([])
    expect(await post(wanted)).toEqual([])
  })

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
