import { once } from 'node:events'
import { request } from 'node:http'
import { expect, test, vi } from 'vitest'
import { createControl } from '../../../src/simulation/served/control.ts'
import { serveControl } from '../../../src/simulation/served/serve.ts'
import { createSimulators } from '../../../src/simulation/services/create-simulators.ts'
import { seededEntropy } from '../../../src/simulation/world/seeded-entropy.ts'
import { VirtualClock } from '../../../src/simulation/world/virtual-clock.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'

const evento = 'dimp-situacao-import'

/** A control server over services that record their notifications. */
function givenControl() {
  const clock = new VirtualClock()
  const deliver = async () => Response.json({})
  const simulators = createSimulators({ clock, entropy: seededEntropy(1), deliver })
  const notify = vi.fn(async () => [])
  const connect = vi.fn()
  const services = { ...simulators, portal: { ...simulators.portal, notify }, connect, reset: () => undefined }
  const control = createControl(services, clock)
  /** Posts a body, which is a text or is written as JSON. */
  const ask = async (path: string, given: string | object) => {
    const body = typeof given === 'string' ? given : JSON.stringify(given)
    const response = await control(new Request(`http://localhost${path}`, { method: 'POST', body }))
    return { status: response.status, body: await response.json() }
  }
  return { ...simulators, notify, connect, ask, control }
}

test('a recipient is accepted in the format of its kind only', async () => {
  const { notify, ask } = givenControl()
  const notice = (destinatarioTipo: string, destinatarioId: string) => ({
    ...{ evento, destinatarioTipo, destinatarioId, body: {} },
  })
  const right = [
    ...[notice('CPF', '25774435016'), notice('ORGAO', '26000')],
    ...[notice('CNPJ', '11222333000181'), notice('CNPJ', '12ABC34501DE35')],
  ]
  for (const each of right) expect((await ask('/notifications', each)).status, each.destinatarioId).toBe(200)
  expect(notify.mock.calls).toEqual(right.map(each => [each]))
  notify.mockClear()
  for (const [kind, ...ids] of [
    ['CPF', '257.744.350-16', '12ABC34501DE35', '2577443501'],
    ['CNPJ', '25774435016', '12abc34501de35', '12.ABC.345/01DE-35', '12ABC34501DEXX'],
    ['ORGAO', 'a b', 'ó', 'x'.repeat(41)],
    ['OUTRO', '26000'],
  ] as const)
    for (const id of ids) {
      const error = expect.stringMatching(/^destinatario(Id|Tipo): /)
      expect(await ask('/notifications', notice(kind, id)), id).toEqual({ status: 400, body: { error } })
    }
  expect(notify).not.toHaveBeenCalled()
})

test.each(['/consents', '/awareness', '/persons'])('a record with an invalid CPF is rejected: %s', async path => {
  const { ask } = givenControl()
  expect(await ask(path, '{"cpf":"25774435016"}')).toMatchObject({ status: 200 })
  for (const cpf of ['1', '25774435017', '257.744.350-16']) {
    const { status, body } = await ask(path, { cpf })
    expect([status, body.error]).toEqual([400, expect.stringMatching(/^cpf: must be a CPF: eleven digits/)])
  }
})

test('a record is added as given: without a purpose, with its own category and history', async () => {
  const { ask, consentService } = givenControl()
  const cpf = '52998224725'
  const categoria = { identificador: 'C', descricao: 'D', rotulo: 'R', metadados: [] }
  const at = '2026-11-01T00:00:00.000Z'
  const historico = [{ status: 'ATIVO', dataHora: at, dataExpiracao: at }]
  const { body } = await ask('/consents', { cpf, status: 'ATIVO', finalidade: null, categoria, historico })
  const read = async (path: string) => {
    const url = `https://consentimento.exemplo.br/consentimento/v1/${path}`
    return (await consentService.fetch(new Request(url), { clientName: 'gestora' })).json()
  }
  expect(await read(`consentimentos/${cpf}/${body.id}`)).toMatchObject({ finalidade: null, categoria, historico })
  const { body: record } = await ask('/awareness', { cpf, finalidade: null, historico: [], hipoteses: [] })
  expect(await read(`ciencias/${cpf}/${record.id}`)).toMatchObject({ finalidade: null, historico: [], hipoteses: [] })
  expect(await read(`autenticacao/${cpf}`)).toMatchObject({ autenticado: false })
  expect(await ask('/logins', { cpf, forMs: 60_000 })).toMatchObject({ body: { until: '2026-11-20T12:01:00.000Z' } })
  expect(await read(`autenticacao/${cpf}`)).toMatchObject({ autenticado: true })
})

test.each([
  ['/clock/advance', { ms: -1 }, 'ms'],
  ['/clock/advance', { ms: 1e15 }, 'must not lead beyond the year 8999'],
  ['/logins', { cpf: '52998224725', forMs: 1e15 }, 'forMs'],
  ['/consents', { cpf: '52998224725', expiresInMs: 1e15 }, 'expiresInMs'],
  ['/consents', { cpf: '52998224725', historico: [{}] }, 'historico'],
  ['/clock/advance', {}, 'ms'],
  ['/faults', { kind: 'earthquake' }, 'kind'],
  ['/faults', { kind: 'duplicate', service: 'portal' }, 'service: duplicate applies to the receiver only'],
  ['/connect-to', { from: 'a.exemplo.br', to: '127.0.0.1:1' }, 'host:port'],
  ['/connect-to', { from: 'a.exemplo.br:443', to: '203.0.113.7:1' }, 'this machine'],
  ['/notifications', { evento: 'e' }, 'destinatarioTipo'],
  ['/notifications', { evento: 'e', destinatarioTipo: 'CPF', destinatarioId: '1', body: 1 }, 'destinatarioId'],
  ['/faults', '{"kind"', /^the body is not JSON$/],
  ['/connect-to', '{"kind"', /^the body is not JSON$/],
])('%s with %o is refused with a reason', async (path, body, words) => {
  const { ask } = givenControl()
  expect(await ask(path, body)).toEqual({ status: 400, body: { error: expect.stringMatching(words) } })
})

test('an unknown control is answered 404 with the list of controls', async () => {
  const { ask } = givenControl()
  const { status, body } = await ask('/clock', '{}')
  expect(status).toBe(404)
  expect(body.controls).toEqual(expect.arrayContaining(['POST /clock/advance', 'DELETE /faults', 'GET /requests']))
})

test('a body that is too large is not read', async () => {
  const { ask } = givenControl()
  const large = { evento, destinatarioTipo: 'ORGAO', destinatarioId: '26000', body: 'x'.repeat(4 * 1_048_576) }
  expect(await ask('/notifications', large)).toEqual({ status: 413, body: { error: 'the body is too large' } })
})

test('neither a page nor another name of this machine controls the services', async () => {
  const { control } = givenControl()
  const { port } = closeAtEnd(await serveControl(control))
  const statusOf = async (headers: Record<string, string>) => {
    const asked = request({ host: '127.0.0.1', port, path: '/reset', method: 'POST', headers }).end('{}')
    const [answer] = await once(asked, 'response')
    answer.resume()
    return answer.statusCode
  }
  const own = `127.0.0.1:${port}`
  for (const headers of [{}, { host: `localhost:${port}` }, { host: own, origin: `http://${own}` }])
    expect(await statusOf(headers)).toBe(200)
  const pages = [{ origin: 'https://pagina.exemplo.br' }, { origin: 'null' }, { host: `pagina.exemplo.br:${port}` }]
  for (const headers of [...pages, { host: '127.0.0.1' }]) expect(await statusOf({ host: own, ...headers })).toBe(403)
})
