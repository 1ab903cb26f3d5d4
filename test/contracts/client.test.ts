import { expect, test } from 'vitest'
import { readConsents } from '../../src/adapters/consent/protocol.ts'
import { readProblem } from '../../src/adapters/http/answer-body.ts'
import { staticHeaders } from '../../src/adapters/portal/authentication.ts'
import { readList } from '../../src/adapters/portal/protocol.ts'
import { limits, sourceRanges } from '../../src/adapters/portal/wire.ts'
import { createReceiver } from '../../src/adapters/receiver/receiver.ts'
import { readToken } from '../../src/adapters/token/protocol.ts'
import { samples, VirtualClock } from '../../src/simulation/index.ts'
import type { Fetch } from '../../src/vocabulary/fetch.ts'
import { storableCode } from '../../src/vocabulary/outcome.ts'
import { createPerformers, performOnce } from '../support/performers.ts'
import { openWorld } from '../support/world.ts'

/** Parts of the contracts that no simulated service produces: the client alone, with a given answer. */

test('a 403 is declined in operations 1 to 5, with its problem', async () => {
  const performers = createPerformers(async () =>
    Response.json({ type: 'about:blank', title: 'Sem permissão', status: 403 }, { status: 403 }),
  )
  const five = Object.keys(performers).filter(type => /^consentService\.(?!readLogin)/.test(type))
  expect(five).toHaveLength(5)
  for (const type of five)
    expect(await performOnce(performers, type), type).toMatchObject({
      status: 'declined',
      fact: { data: { httpStatus: 403 }, parts: { problem: { value: { title: 'Sem permissão' } } } },
    })
})

test('a problem is read with any of its fields null', () => {
  const typed = { type: 'https://exemplo.br/problema', status: 400 }
  const told = { title: 'Título', detail: 'Detalhe' }
  const all = { ...typed, ...told, instance: '/consentimento/v1/x', properties: { code: 'C-1' } }
  expect(readProblem(400, JSON.stringify(all))).toEqual({ ...typed, ...told, code: 'C-1' })
  const none = { ...typed, title: null, detail: null, instance: null, properties: null }
  expect(readProblem(400, JSON.stringify(none))).toEqual(typed)
})

test.each<[code: unknown, clear: string | null]>([
  ['PLAT-ER1', 'PLAT-ER1'],
  [900_901, '900901'],
  ...['x'.repeat(41), 'a b', '1234567', '257.744.350-16', 'cpf_257_744_350_16'].map((code): [unknown, null] => [
    code,
    null,
  ]),
])('the code %s is recorded in clear as %s', (code, clear) => {
  expect(storableCode(readProblem(400, JSON.stringify({ code })))).toBe(clear)
})

test('an id is any text of 1 to 200 characters', async () => {
  const ids = ['a', '012026-00001/2', 'x'.repeat(200)]
  const wrong = ['', 'x'.repeat(201), 7, null]
  const listing = await readConsents(JSON.stringify([...ids, ...wrong].map(id => ({ id, status: 'ATIVO' }))))
  expect(listing?.items.map(each => each.id)).toEqual(ids)
  expect(listing?.unreadable).toHaveLength(wrong.length)
})

test('a token of any length is read, with a lifetime in seconds or without one', () => {
  const read = (body: object) => readToken(JSON.stringify(body))
  expect(read({ access_token: 'x'.repeat(40), expires_in: 60 })?.lifetimeMs).toBe(60_000)
  expect(read({ access_token: 'x'.repeat(1_500), expires_in: 60 })?.value).toHaveLength(1_500)
  expect(read({ access_token: 'x' })).toEqual({ value: 'x', lifetimeMs: null, scope: null })
  expect(read({ expires_in: 60 })).toBeUndefined()
  for (const access_token of ['', 'a b', 'ab\ncd', 'ab\r\nx: y', 'ação', '\0'])
    expect(read({ access_token }), JSON.stringify(access_token)).toBeUndefined()
})

test('a token of another type than Bearer is no token, and its scope is kept', async () => {
  const read = (body: object) => readToken(JSON.stringify({ access_token: 'x', ...body }))
  for (const token_type of ['Bearer', 'bearer', 'BEARER', null]) expect(read({ token_type })?.value).toBe('x')
  for (const token_type of ['mac', 'Bearer x', '', 7]) expect(read({ token_type })).toBeUndefined()
  expect(read({ scope: 'a b' })?.scope).toBe('a b')
  for (const scope of [7, 'ação', 'a\nb', 'x'.repeat(1_001)]) expect(read({ scope })?.scope).toBeNull()
  const world = await openWorld()
  await world.averba.validations.validate({ id: 'v', cpf: samples.cpf, claims: { nome: 'A' } })
  const rows = await world.averba.views.selectFrom('tokens').selectAll().execute()
  expect(rows).toMatchObject([{ state: 'valid', scope: 'default' }])
})

test('a refusal of a token request is declined only if it is about the credentials', async () => {
  const statusOf = async (status: number, body = '') => {
    const performers = createPerformers(async () => new Response(body, { status }))
    return (await performOnce(performers, 'tokenService.requestToken')).status
  }
  const wrong = JSON.stringify({ error: 'invalid_client' })
  expect(await statusOf(401, '{}')).toBe('declined')
  for (const status of [400, 401, 403]) expect(await statusOf(status, wrong), `${status}`).toBe('declined')
  for (const status of [400, 401, 403, 404, 408, 415, 429, 500])
    expect(await statusOf(status), `${status}`).toBe('deferred')
})

test('the headers of the portal are renewed when they are refused', async () => {
  let asked = 0
  const seen: (string | null)[] = []
  const fetch: Fetch = async request => {
    seen.push(request.headers.get('authorization'))
    return seen.length === 1 ? new Response('', { status: 401 }) : Response.json([])
  }
  const authenticate = staticHeaders(() => ({ authorization: `sessao-${++asked}` }))
  const performers = createPerformers(fetch, { portal: { authenticate } })
  for (let i = 0; i < 2; i++) expect((await performOnce(performers, 'portal.listSubscriptions')).status).toBe('settled')
  expect(seen).toEqual(['sessao-1', 'sessao-2', 'sessao-2'])
})

test('any other 4xx of the portal is declined', async () => {
  for (const status of [400, 403, 404, 409, 422]) {
    const performers = createPerformers(async () => Response.json({ code: 'PLAT-ER9100', message: 'Não' }, { status }))
    const fact = { data: { httpStatus: status, code: 'PLAT-ER9100' } }
    expect(await performOnce(performers, 'portal.subscribe')).toMatchObject({ status: 'declined', fact })
  }
})

test('a subscription with dataExclusao or motivoExclusao is deleted', async () => {
  const kept = [{}, { dataExclusao: null, motivoExclusao: null }]
  const deleted = [{ dataExclusao: '20-11-2026 09:00:00' }, { motivoExclusao: 'Somente erros' }]
  const rows = [...kept, ...deleted].map(each => ({ id: 1, evento: 'e', endpoint: 'https://a.exemplo.br/', ...each }))
  const listing = await readList(JSON.stringify(rows))
  expect(listing?.items.map(each => each.isDeleted)).toEqual([false, false, true, true])
})

test('notifications are accepted from the three ranges only, first and last address included', async () => {
  expect(sourceRanges).toEqual(['161.148.0.0/16', '189.9.0.0/16', '200.198.192.0/18'])
  const receiver = createReceiver({
    clock: new VirtualClock(),
    secretsOf: async () => [],
    store: async () => undefined,
    onRefused: () => undefined,
    onStoreError: () => undefined,
  })
  const headers = { 'event-type': 'e', 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' }
  const statusFrom = async (remoteAddress: string) => {
    const request = new Request('https://receptor.exemplo.br/', { method: 'POST', headers, body: '{}' })
    return (await receiver.fetch(request, { remoteAddress })).status
  }
  for (const [status, ...addresses] of [
    [200, '161.148.0.0', '161.148.255.255', '189.9.0.0', '189.9.255.255', '200.198.192.0', '200.198.255.255'],
    [403, '161.147.255.255', '161.149.0.0', '189.8.255.255', '189.10.0.0', '200.198.191.255', '200.199.0.0', '::1'],
  ] as const)
    for (const address of addresses) expect(await statusFrom(address), address).toBe(status)
})

test('the limits are those of the contract', () => {
  const lengths = { evento: 40, endpoint: 500, chave: 100, motivoExclusao: 200 }
  expect(limits).toEqual({ ...lengths, processingMs: 3_500, deletionDays: 30, failureDays: 30 })
})
