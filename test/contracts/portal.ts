import { expect, test } from 'vitest'
import * as client from '../../src/adapters/portal/protocol.ts'
import * as wire from '../../src/adapters/portal/wire.ts'
import type { PortalPolicies } from '../../src/simulation/services/policies.ts'
import { givenReceiver } from '../adapters/receiver/given-receiver.ts'
import { dayMs, exact, exactText, open, portalHeaders, secondMs } from './opened-services.ts'

const evento = 'dimp-situacao-import'
const host = 'receptor.exemplo.br'
const endpoint = `https://${host}/averba`
const keys = { chaveSecreta: 'chave-um', chaveAutenticacao: 'Basic YTpi' }
const wanted = { evento, endpoint, ...keys }
const recipientIds = { CPF: '25774435016', CNPJ: '12ABC34501DE35', ORGAO: '26000' }
const notice = {
  evento,
  destinatarioTipo: 'CNPJ',
  destinatarioId: recipientIds.CNPJ,
  body: { numero: '26BR1' },
} as const
const problem = { code: expect.any(String), message: expect.any(String) }
const list = wire.assinaturaListadaSchema.array()
const failureList = wire.falhaSchema.array()
/** What `URL` reads as an address of the host, and document 3 does not. */
const onlyAlmostSecure = [
  ...[`https:${host}/a`, `https:/${host}/a`, `https:///${host}/a`, ` https://${host}/a`, `https://${host}/a `],
  ...[`https:\\\\${host}\\a`, `https://${host}/a\nb`, `https://${host}/\ta`],
  ...[`https://ana@${host}/`, `https://@${host}/`],
]
/** An endpoint with a given number of characters. */
const endpointOf = (length: number) => `https://${host}/`.padEnd(length, 'x')

async function given(policies: PortalPolicies = {}) {
  const opened = await open({ portal: policies })
  const { at, send } = opened
  const url = `${at.portal}/portal/api/ext/webhook`
  const write = (method: string, path: string, text: string | null) => {
    const headers = { ...portalHeaders, 'content-type': 'application/json' }
    return send(new Request(`${url}${path}`, { method, headers, body: text }))
  }
  const post = (one: object) => write('POST', '', JSON.stringify(one))
  const put = (id: number, one: object) => write('PUT', `/${id}`, JSON.stringify(one))
  const get = (path: string) => send(new Request(`${url}${path}`, { headers: portalHeaders }))
  const subscribe = async (change: object = {}, headers: Record<string, string> = portalHeaders) => {
    const response = await send(client.writeSubscribe(at.portal, headers, { ...wanted, ...change }))
    expect(response.status).toBe(200)
    return client.readSubscribed(await response.text()) ?? 0
  }
  const remove = (id: number) => send(client.writeDelete(at.portal, portalHeaders, id))
  const listed = (query = '') => exact(list, get(query))
  const listedIds = async (query = '') => (await listed(query)).map(each => each.id)
  const failures = (query = '') => exact(failureList, get(`/falhas${query}`))
  /** The subscriptions that a notice is delivered for. */
  const notified = async (change: object = {}) =>
    (await opened.portal.notify({ ...notice, ...change })).map(each => each.subscription)
  return { ...opened, url, write, post, put, get, subscribe, remove, listed, listedIds, failures, notified }
}

/** A portal with one subscription. */
async function givenOne() {
  const opened = await given()
  return { ...opened, id: await opened.subscribe() }
}

/** A subscription whose receiver records notifications, and answers as it is told to when one is delivered. */
async function givenDeliveries(policies: PortalPolicies = {}) {
  const opened = await given(policies)
  const received: { method: string; path: string; headers: Record<string, string>; text: string }[] = []
  let status = 204
  await opened.receive(host, async request => {
    const path = new URL(request.url).pathname
    const headers = Object.fromEntries(request.headers)
    received.push({ method: request.method, path, headers, text: await request.text() })
    if (status !== 302) return new Response(null, { status })
    const location = { location: `https://${host}/outro` }
    return path === '/averba' ? new Response(null, { status, headers: location }) : new Response(null, { status: 204 })
  })
  const deliver = (answer: number) => {
    status = answer
    return opened.portal.notify(notice)
  }
  return { ...opened, received, deliver, id: await opened.subscribe() }
}

/** Document 3, line by line. */
export function portalContract(): void {
  test('Subscribe answers id, evento, endpoint, chaveSecreta and chaveAutenticacao, and no others', async () => {
    const { at, send } = await given()
    const answered = await exactText(
      wire.assinaturaSchema,
      send(client.writeSubscribe(at.portal, portalHeaders, wanted)),
    )
    expect(answered.body).toEqual({ id: expect.any(Number), ...wanted })
    expect(client.readSubscribed(answered.text)).toBe(answered.body.id)
  })

  test('a listed subscription has the nine fields, with times as dd-MM-yyyy HH:mm:ss', async () => {
    const { at, send, clock, notified, remove, id } = await givenDeliveries()
    const ask = () => exactText(list, send(client.writeList(at.portal, portalHeaders)))
    const none = { dataExclusao: null, motivoExclusao: null, dataUltimoSucesso: null }
    const fresh = { id, ...wanted, dataRegistro: '20-11-2026 09:00:00', ...none }
    expect((await ask()).body).toEqual([fresh])
    await clock.advance(secondMs)
    await notified()
    await clock.advance(secondMs)
    await remove(id)
    const { body, text } = await ask()
    const dataUltimoSucesso = '20-11-2026 09:00:01'
    expect(body).toEqual([{ ...fresh, dataUltimoSucesso, dataExclusao: '20-11-2026 09:00:02' }])
    expect((await client.readList(text))?.items[0]).toEqual({
      ...{ remoteId: id, evento, endpoint, secrets: keys, isDeleted: true, reason: null },
      registeredAt: '2026-11-20T12:00:00.000Z',
      deletedAt: '2026-11-20T12:00:02.000Z',
      lastSuccessAt: '2026-11-20T12:00:01.000Z',
    })
  })

  test('Change answers id, evento and endpoint, and no secrets', async () => {
    const { at, send, put, listed, id } = await givenOne()
    const named = { evento: 'outro', endpoint: `${endpoint}/2` }
    const next = { ...named, chaveSecreta: 'nova', chaveAutenticacao: 'x' }
    const response = await send(client.writeChange(at.portal, portalHeaders, id, next))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
    expect(await response.json()).toEqual({ id, ...named })
    expect(await listed()).toMatchObject([{ id, ...next }])
    // Without the optional fields it clears them.
    expect((await put(id, { id, evento, endpoint })).status).toBe(200)
    expect(await listed()).toMatchObject([{ chaveSecreta: null, chaveAutenticacao: null }])
  })

  test('chaveSecreta and chaveAutenticacao are optional, and null in answers', async () => {
    const { post, put, listed } = await given()
    const answered = await exact(wire.assinaturaSchema, post({ evento, endpoint }))
    const none = { chaveSecreta: null, chaveAutenticacao: null }
    expect(answered).toEqual({ id: expect.any(Number), evento, endpoint, ...none })
    const [row] = await listed()
    expect(row).toMatchObject(none)
    // It can be sent back.
    expect((await put(row?.id ?? 0, row ?? {})).status).toBe(200)
    expect(await listed()).toEqual([row])
  })

  test('a subscription without evento or endpoint is a 422 with code and message', async () => {
    const { post, listed } = await given()
    for (const body of [{ endpoint }, { evento }, { evento: '', endpoint }, { evento, endpoint: '' }, {}]) {
      const response = await post(body)
      expect(response.status).toBe(422)
      expect(await response.json()).toEqual(problem)
    }
    expect(await listed()).toEqual([])
  })

  test('evento has at most 40 characters, endpoint 500, and each key 100, on Subscribe and on Change', async () => {
    const { post, put } = await given()
    const ofLength = (evento: number, endpoint: number, key: number) => ({
      ...{ evento: 'e'.repeat(evento), endpoint: endpointOf(endpoint) },
      ...{ chaveSecreta: 's'.repeat(key), chaveAutenticacao: 'a'.repeat(key) },
    })
    const longest = ofLength(40, 500, 100)
    const { id } = await exact(wire.assinaturaSchema, post(longest))
    expect((await put(id, { id, ...longest })).status).toBe(200)
    for (const [name, tooLong] of Object.entries(ofLength(41, 501, 101))) {
      expect((await post({ ...wanted, [name]: tooLong })).status, name).toBe(422)
      expect((await put(id, { id, ...longest, [name]: tooLong })).status, name).toBe(422)
    }
  })

  test('a second active subscription for an event is a 422, on Subscribe and on Change', async () => {
    const { post, put, subscribe } = await given()
    await subscribe()
    const id = await subscribe({ evento: 'outro' })
    for (const response of [await post({ ...wanted, endpoint: `${endpoint}/2` }), await put(id, { id, ...wanted })]) {
      expect(response.status).toBe(422)
      expect(await response.json()).toMatchObject({ code: 'PLAT-ER9100' })
    }
    expect((await put(id, { id, ...wanted, evento: 'outro' })).status).toBe(200)
  })

  test('evento and keys that no header carries unchanged are a 422, on Subscribe and on Change', async () => {
    const { post, put, listed, id } = await givenOne()
    for (const wrong of ['€', 'a\rb', 'a\nb', ' a', 'a '])
      for (const name of ['evento', 'chaveSecreta', 'chaveAutenticacao']) {
        const body = { ...wanted, evento: 'outro', [name]: wrong }
        expect((await post(body)).status, `${name} ${wrong}`).toBe(422)
        expect((await put(id, { id, ...body })).status, `${name} ${wrong}`).toBe(422)
      }
    expect(await listed()).toMatchObject([wanted])
  })

  test('other paths and methods are 404 and 405 in JSON, with Allow', async () => {
    const { url, send } = await given()
    for (const [method, path, ...refusal] of [
      ['GET', '/outro/caminho', 404, null],
      ['PATCH', '', 405, 'POST, GET'],
      ['POST', '/1', 405, 'PUT, DELETE'],
      ['POST', '/falhas', 405, 'GET'],
      ['PUT', '/falhas', 405, 'GET'],
    ] as const) {
      const response = await send(new Request(`${url}${path}`, { method, headers: portalHeaders }))
      expect(await response.json()).toEqual(problem)
      expect([response.status, response.headers.get('allow')], `${method} ${path}`).toEqual(refusal)
    }
  })

  test('the list has active subscriptions, and with exibirInativos=true deleted ones too', async () => {
    const { subscribe, remove, listedIds, get } = await given()
    const [first, second] = [await subscribe(), await subscribe({ evento: 'outro' })]
    await remove(first)
    expect(await listedIds()).toEqual([second])
    expect(await listedIds('?exibirInativos=false')).toEqual([second])
    expect(await listedIds('?exibirInativos=true')).toEqual([first, second])
    for (const wrong of ['sim', 'TRUE', '1', '']) expect((await get(`?exibirInativos=${wrong}`)).status).toBe(400)
  })

  test('the endpoint is a secure URL, on port 443 on Subscribe and on any port on Change', async () => {
    const { post, put, listed, id } = await givenOne()
    const onPort = `https://${host}:8443/`
    for (const wrong of [`http://${host}/`, 'receptor', ...onlyAlmostSecure])
      expect((await put(id, { id, evento, endpoint: wrong })).status, wrong).toBe(422)
    for (const wrong of [onPort, `http://${host}/`, `http://${host}:443/`, 'receptor', ...onlyAlmostSecure])
      expect((await post({ evento: 'outro', endpoint: wrong })).status, wrong).toBe(422)
    expect(await listed()).toMatchObject([{ endpoint }])
    expect((await post({ evento: 'outro', endpoint: `https://${host}:443/` })).status).toBe(200)
    expect((await put(id, { id, evento, endpoint: onPort })).status).toBe(200)
  })

  test('id, evento and endpoint are required on Change, and the id must match the path', async () => {
    const { put, listed, id } = await givenOne()
    const without = [
      { evento, endpoint },
      { id, endpoint },
      { id, evento },
    ]
    for (const body of [...without, { id: String(id), evento, endpoint }, { id: id + 1, evento, endpoint }])
      expect((await put(id, body)).status).toBe(422)
    expect(await listed()).toMatchObject([wanted])
  })

  test('Delete answers no fields, records the time, and stops the notifications', async () => {
    const { id, remove, listed, notified, received, clock } = await givenDeliveries()
    await clock.advance(secondMs)
    const response = await remove(id)
    expect(response.status).toBe(200)
    expect(await response.text()).toBe('')
    const deleted = { id, dataExclusao: '20-11-2026 09:00:01', motivoExclusao: null }
    expect(await listed('?exibirInativos=true')).toMatchObject([deleted])
    expect(await notified()).toEqual([])
    expect(received).toEqual([])
  })

  test('Delete requires the id as a JSON field too, and it must match the path', async () => {
    const { write, listed, id } = await givenOne()
    for (const body of [null, '', '{}', JSON.stringify({ id: String(id) }), JSON.stringify({ id: id + 1 })])
      expect((await write('DELETE', `/${id}`, body)).status, String(body)).toBe(422)
    expect(await listed()).toMatchObject([{ id }])
  })

  test('a deleted or unknown subscription is a 404 on Change and Delete', async () => {
    const { put, remove, listed, listedIds, subscribe, id } = await givenOne()
    await remove(id)
    for (const each of [id, 77]) {
      expect((await put(each, { id: each, evento, endpoint })).status).toBe(404)
      const response = await remove(each)
      expect(response.status).toBe(404)
      expect(await response.json()).toEqual(problem)
    }
    expect(await listed()).toEqual([])
    const second = await subscribe()
    expect(second).not.toBe(id)
    expect(await listedIds()).toEqual([second])
  })

  test('a call without the headers of a session is a 401 with code and message', async () => {
    const { url, send, at } = await given()
    for (const request of [
      client.writeSubscribe(at.portal, {}, wanted),
      client.writeList(at.portal, {}),
      client.writeChange(at.portal, {}, 1, wanted),
      client.writeDelete(at.portal, {}, 1),
      client.writeFailures(at.portal, {}, null),
      new Request(url, { headers: { authorization: 'outra' } }),
    ]) {
      const response = await send(request)
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="portal"'])
      expect(await response.json()).toEqual(problem)
    }
  })

  test('a notification is one POST of JSON with the documented headers', async () => {
    const { portal, received, id } = await givenDeliveries()
    expect(await portal.notify(notice)).toEqual([{ subscription: id, isDelivered: true, description: '' }])
    const headers = {
      ...{ 'content-type': 'application/json', 'event-type': evento, secret: 'chave-um', authorization: 'Basic YTpi' },
      ...{ 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' },
    }
    expect(received).toMatchObject([{ method: 'POST', path: '/averba', text: '{"numero":"26BR1"}', headers }])
  })

  test('a subscription without keys is notified without the headers secret and authorization', async () => {
    const { notified, received, put, id } = await givenDeliveries()
    await put(id, { id, evento, endpoint })
    await notified()
    expect(received).toHaveLength(1)
    for (const name of ['secret', 'authorization']) expect(received[0]?.headers).not.toHaveProperty(name)
  })

  test('each kind of recipient is sent, and read by the receiver', async () => {
    const { portal, receive, subscribe, clock } = await given()
    const { receiver, stored, bodies } = givenReceiver({ clock, sources: 'any', secretsOf: async () => [keys] })
    await receive(host, request => receiver.fetch(request))
    await subscribe()
    for (const destinatarioTipo of wire.recipientKinds)
      await portal.notify({ ...notice, destinatarioTipo, destinatarioId: recipientIds[destinatarioTipo] })
    expect(stored.map(each => [each.evento, each.recipient.kind, each.recipient.id])).toEqual([
      [evento, 'CPF', '25774435016'],
      [evento, 'CNPJ', '12ABC34501DE35'],
      [evento, 'ORGAO', '26000'],
    ])
    expect(bodies().join()).toBe(Array(3).fill('{"numero":"26BR1"}').join())
  })

  test('a notification goes to the users who represent its recipient, and to no others', async () => {
    const matriz = { tipo: 'CNPJ', id: recipientIds.CNPJ } as const
    const represented = [
      [matriz, { tipo: 'CPF', id: recipientIds.CPF }],
      [{ tipo: 'CNPJ', id: '00000000000191' }],
      [
        { tipo: 'ORGAO', id: matriz.id },
        { tipo: 'ORGAO', id: recipientIds.ORGAO },
      ],
    ] as const
    const users = represented.map((represents, i) => ({ headers: { authorization: `${i}` }, represents }))
    const { notified, subscribe, received, id } = await givenDeliveries({ represents: [matriz], users })
    const [second, , fourth] = await Promise.all(users.map(({ headers }) => subscribe({}, headers)))
    for (const [destinatarioTipo, destinatarioId, to] of [
      // Both representatives have the same endpoint: it is notified once for each.
      ['CNPJ', matriz.id, [id, second]],
      ['CNPJ', '11222333000181', []],
      ['CPF', recipientIds.CPF, [second]],
      ['CPF', '52998224725', []],
      ['ORGAO', recipientIds.ORGAO, [fourth]],
    ] as const)
      expect(await notified({ destinatarioTipo, destinatarioId }), destinatarioId).toEqual(to)
    expect(received).toHaveLength(4)
  })

  test('by default every user represents everyone', async () => {
    const second = { authorization: 'dois' }
    const { notified, subscribe, id } = await givenDeliveries({ users: [{ headers: second }] })
    const other = await subscribe({ endpoint: `https://${host}/outro-usuario` }, second)
    for (const destinatarioTipo of wire.recipientKinds) {
      const destinatarioId = recipientIds[destinatarioTipo]
      expect(await notified({ destinatarioTipo, destinatarioId })).toEqual([id, other])
    }
  })

  test('a notification goes to the subscriptions of its event only', async () => {
    const { notified, received, subscribe, id } = await givenDeliveries()
    const other = await subscribe({ evento: 'outro', endpoint: `${endpoint}/2` })
    expect(await notified()).toEqual([id])
    expect(await notified({ evento: 'outro' })).toEqual([other])
    expect(await notified({ evento: 'nenhum' })).toEqual([])
    expect(received.map(each => each.path)).toEqual(['/averba', '/averba/2'])
  })

  test('an endpoint with two subscriptions for one event is notified once for each', async () => {
    const { notified, received, subscribe, id } = await givenDeliveries({ duplicateEvent: 'accept' })
    const second = await subscribe()
    expect(await notified()).toEqual([id, second])
    expect(received).toHaveLength(2)
  })

  test('only a 2xx is a success: there is no retry, and redirects are not followed', async () => {
    const { portal, received, deliver, failures, listed } = await givenDeliveries()
    for (const status of [302, 400, 404, 500, 503])
      expect(await deliver(status)).toMatchObject([{ isDelivered: false, description: `HTTP ${status}` }])
    expect(received).toHaveLength(5)
    expect(await failures()).toHaveLength(5)
    expect(await listed()).toMatchObject([{ dataUltimoSucesso: null }])
    for (const status of [200, 202, 204]) expect(await deliver(status)).toMatchObject([{ isDelivered: true }])
    expect(received).toHaveLength(8)
    expect(portal.deliveries).toEqual({ succeeded: 3, failed: 5 })
  })

  test('by policy a failed delivery is retried at once, and makes one failure record', async () => {
    const { portal, received, deliver, failures } = await givenDeliveries({ tries: 3 })
    expect(await deliver(500)).toMatchObject([{ isDelivered: false, description: 'HTTP 500' }])
    expect(received).toHaveLength(3)
    expect(await failures()).toHaveLength(1)
    expect(portal.deliveries).toEqual({ succeeded: 0, failed: 1 })
    expect(await deliver(204)).toMatchObject([{ isDelivered: true }])
    expect(received).toHaveLength(4)
  })

  test('by policy a redirect is followed with the same POST', async () => {
    const { received, deliver } = await givenDeliveries({ redirects: 'follow' })
    expect(await deliver(302)).toMatchObject([{ isDelivered: true }])
    const [first] = received
    expect(first?.path).toBe('/averba')
    expect(received).toEqual([first, { ...first, path: '/outro' }])
  })

  test('dataUltimoSucesso is the time of the last success', async () => {
    const { deliver, listed, clock } = await givenDeliveries()
    for (const status of [204, 204, 500]) {
      await deliver(status)
      await clock.advance(secondMs)
    }
    expect(await listed()).toMatchObject([{ dataUltimoSucesso: '20-11-2026 09:00:01' }])
  })

  test('a failure record has id, data, descricao, evento and conteudo, and no others', async () => {
    const { at, send, deliver } = await givenDeliveries()
    await deliver(500)
    const { body, text } = await exactText(failureList, send(client.writeFailures(at.portal, portalHeaders, null)))
    const said = { data: '20-11-2026 09:00:00', descricao: 'HTTP 500', evento, conteudo: '{"numero":"26BR1"}' }
    expect(body).toEqual([{ id: expect.any(Number), ...said }])
    const [record] = body
    expect(await client.readFailures(text)).toEqual({
      unreadable: [],
      items: [{ remoteId: record?.id, evento, failedAt: '2026-11-20T12:00:00.000Z', record }],
    })
  })

  test('ids are numbers of up to ten digits', async () => {
    const { deliver, failures, listed } = await givenDeliveries()
    await deliver(500)
    const ids = [...(await listed()), ...(await failures())].map(each => each.id)
    expect(ids).toHaveLength(2)
    for (const id of ids) expect(String(id)).toMatch(/^\d{1,10}$/)
    const one = { data: '', descricao: '', evento: 'e', conteudo: '' }
    const read = await client.readFailures(JSON.stringify([9_999_999_999, 10_000_000_000].map(id => ({ ...one, id }))))
    expect(read).toMatchObject({ items: [{ remoteId: 9_999_999_999 }], unreadable: [{ id: 10_000_000_000 }] })
  })

  test('failures are queried by day, ddMMyyyy in Brasilia, or for today without data', async () => {
    const { at, send, deliver, failures, clock } = await givenDeliveries()
    const [before, after] = [{ data: '20-11-2026 23:59:59' }, { data: '21-11-2026 00:00:00' }]
    await clock.advance(15 * 3_600 * secondMs - secondMs)
    await deliver(500)
    expect(await failures()).toMatchObject([before])
    await clock.advance(secondMs)
    expect(await failures()).toEqual([])
    await deliver(500)
    expect(await failures()).toMatchObject([after])
    expect(await failures('?data=20112026')).toMatchObject([before])
    expect(await failures('?data=21112026')).toMatchObject([after])
    expect(await failures('?data=19112026')).toEqual([])
    const written = send(client.writeFailures(at.portal, portalHeaders, '2026-11-20'))
    expect(await exact(failureList, written)).toMatchObject([before])
  })

  test('a day in a wrong format, or one that does not exist, is a 422', async () => {
    const { get } = await given()
    const noDays = ['99999999', '00000000', '32012026', '29022026', '31042026', '01132026']
    for (const data of ['2026-11-20', '20/11/2026', '201126', '2011202', '', ...noDays])
      expect((await get(`/falhas?data=${encodeURIComponent(data)}`)).status, data).toBe(422)
    expect((await get('/falhas?data=29022028')).status).toBe(200)
  })

  test('failure records are kept for thirty days, and no longer', async () => {
    const { deliver, failures, clock } = await givenDeliveries()
    await deliver(500)
    await clock.advance(30 * dayMs)
    expect(await failures('?data=20112026')).toHaveLength(1)
    await clock.advance(1)
    expect(await failures('?data=20112026')).toEqual([])
  })

  test('thirty days with only errors delete a subscription, twenty-nine do not', async () => {
    const { deliver, listed, listedIds, clock, id } = await givenDeliveries()
    await deliver(500)
    await clock.advance(29 * dayMs)
    await deliver(500)
    expect(await listedIds()).toEqual([id])
    await clock.advance(dayMs - 1)
    expect(await listedIds()).toEqual([id])
    await clock.advance(1)
    expect(await listed()).toEqual([])
    const [deleted] = await listed('?exibirInativos=true')
    const motivoExclusao = expect.stringContaining('30 dias')
    expect(deleted).toMatchObject({ id, dataExclusao: '20-12-2026 09:00:00', motivoExclusao })
    expect(deleted?.motivoExclusao?.length).toBeLessThanOrEqual(200)
    expect(await deliver(500)).toEqual([])
  })

  test('a success restarts the thirty days', async () => {
    const { deliver, listed, clock } = await givenDeliveries()
    await deliver(500)
    await clock.advance(29 * dayMs)
    await deliver(204)
    await deliver(500)
    await clock.advance(30 * dayMs - 1)
    expect(await listed()).toHaveLength(1)
    await clock.advance(1)
    expect(await listed()).toEqual([])
  })

  test('a subscription without any delivery is not deleted', async () => {
    const { listed, clock } = await givenOne()
    await clock.advance(90 * dayMs)
    expect(await listed()).toHaveLength(1)
  })
}
