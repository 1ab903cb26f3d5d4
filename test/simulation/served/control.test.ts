import { expect, test } from 'vitest'
import { type ControlledWorld, createControl } from '../../../src/simulation/served/control.ts'

const evento = 'dimp-situacao-import'

/** A control server over a world that records its notifications. */
function givenControl() {
  const notified: unknown[] = []
  const world: ControlledWorld = {
    advance: async () => '',
    addConsent: () => '',
    addAwareness: () => '',
    addPerson: () => undefined,
    notify: async notice => void notified.push(notice),
    addFault: async () => undefined,
    endFaults: () => undefined,
    connect: () => undefined,
    requests: () => [],
    reset: () => undefined,
  }
  const control = createControl(world)
  const post = (body: object) =>
    control(new Request('http://localhost/notifications', { method: 'POST', body: JSON.stringify(body) }))
  const ask = async (path: string, body: string) => {
    const response = await control(new Request(`http://localhost${path}`, { method: 'POST', body }))
    return { status: response.status, body: await response.json() }
  }
  return { notified, post, ask }
}

test.each([
  ['CPF', '25774435016'],
  ['CNPJ', '11222333000181'],
  ['CNPJ', '12ABC34501DE35'],
  ['ORGAO', '26000'],
])('a recipient in the format of its kind is accepted: %s %s', async (destinatarioTipo, destinatarioId) => {
  const { notified, post } = givenControl()
  const notice = { evento, destinatarioTipo, destinatarioId, body: {} }
  expect((await post(notice)).status).toBe(200)
  expect(notified).toEqual([notice])
})

test.each([
  ['CPF', '257.744.350-16'],
  ['CPF', '12ABC34501DE35'],
  ['CPF', '2577443501'],
  ['CNPJ', '25774435016'],
  ['CNPJ', '12abc34501de35'],
  ['CNPJ', '12.ABC.345/01DE-35'],
  ['CNPJ', '12ABC34501DEXX'],
  ['ORGAO', 'a b'],
  ['ORGAO', 'ó'],
  ['ORGAO', 'x'.repeat(41)],
  ['OUTRO', '26000'],
])('a recipient in another format than its kind is rejected: %s %s', async (destinatarioTipo, destinatarioId) => {
  const { notified, post } = givenControl()
  const response = await post({ evento, destinatarioTipo, destinatarioId, body: {} })
  expect(response.status).toBe(400)
  expect((await response.json()).error).toMatch(/^destinatario(Id|Tipo): /)
  expect(notified).toEqual([])
})

test.each(['/consents', '/awareness', '/persons'])('a record with an invalid CPF is rejected: %s', async path => {
  const { ask } = givenControl()
  expect(await ask(path, '{"cpf":"25774435016"}')).toMatchObject({ status: 200 })
  for (const cpf of ['1', '25774435017', '257.744.350-16']) {
    const { status, body } = await ask(path, JSON.stringify({ cpf }))
    expect([status, body.error]).toEqual([400, expect.stringMatching(/^cpf: must be a CPF: eleven digits/)])
  }
})

test.each(['/faults', '/connect-to'])('a body that is not JSON is answered 400: %s', async path => {
  const { ask } = givenControl()
  expect(await ask(path, '{"kind"')).toEqual({ status: 400, body: { error: 'the body is not JSON' } })
})

test('an unknown control is answered 404 with the list of controls', async () => {
  const { ask } = givenControl()
  const { status, body } = await ask('/clock', '{}')
  expect(status).toBe(404)
  expect(body.controls).toEqual(expect.arrayContaining(['POST /clock/advance', 'DELETE /faults', 'GET /requests']))
})
