import { describe, expect, test } from 'vitest'
import {
  readFailures,
  readList,
  readSubscribed,
  writeChange,
  writeDelete,
  writeFailures,
  writeList,
  writeSubscribe,
} from '../../src/adapters/portal/protocol.ts'
import {
  assinaturaListadaSchema,
  assinaturaSchema,
  falhaSchema,
  type RecipientKind,
  recipientKinds,
} from '../../src/adapters/portal/wire.ts'
import { createReceiver, type IncomingNotification } from '../../src/adapters/receiver/receiver.ts'
import type { PortalPolicies } from '../../src/simulation/services/policies.ts'
import { dayMs, exact, type Open, type OpenedServices, portalHeaders, secondMs } from './opened-services.ts'

const evento = 'dimp-situacao-import'
const host = 'receptor.exemplo.br'
const endpoint = `https://${host}/averba`
const wanted = { evento, endpoint, chaveSecreta: 'chave-um', chaveAutenticacao: 'Basic YTpi' }
const company = { destinatarioTipo: 'CNPJ', destinatarioId: '12ABC34501DE35' } as const
const notice = { evento, ...company, body: { numero: '26BR1' } }
const brasilia = /^\d{2}-\d{2}-\d{4} \d{2}:\d{2}:\d{2}$/
const list = assinaturaListadaSchema.array()
const failureList = falhaSchema.array()
/** What `URL` reads as an address of the host, and document 3 does not. */
const onlyAlmostSecure = [
  ...[`https:${host}/a`, `https:/${host}/a`, `https:///${host}/a`, ` https://${host}/a`, `https://${host}/a `],
  ...[
    `https:\\\\${host}\\a`,
    `https://${host}/a\nb`,
    `https://${host}/\ta`,
    `https://ana@${host}/`,
    `https://@${host}/`,
  ],
]
/** An endpoint with a given number of characters. */
const endpointOf = (length: number) => `https://${host}/`.padEnd(length, 'x')

/** Document 3, line by line, in process or over TLS. */
export function portalContract(open: Open): void {
  describe('the portal', () => {
    const given = async (policies: PortalPolicies = {}) => {
      const opened = await open({ portal: policies })
      const { at, send } = opened
      const url = `${at.portal}/portal/api/ext/webhook`
      const headers = { ...portalHeaders, 'content-type': 'application/json' }
      const post = (body: object) => send(new Request(url, { method: 'POST', headers, body: JSON.stringify(body) }))
      const put = (id: number, body: object) =>
        send(new Request(`${url}/${id}`, { method: 'PUT', headers, body: JSON.stringify(body) }))
      const get = (path: string) => send(new Request(`${url}${path}`, { headers: portalHeaders }))
      const subscribe = async (change: object = {}) => {
        const response = await send(writeSubscribe(at.portal, portalHeaders, { ...wanted, ...change }))
        expect(response.status).toBe(200)
        return readSubscribed(await response.text()) ?? 0
      }
      const remove = (id: number) => send(writeDelete(at.portal, portalHeaders, id))
      const listed = async (query = '') => exact(list, await get(query))
      const failures = async (query = '') => exact(failureList, await get(`/falhas${query}`))
      return { ...opened, url, post, put, get, subscribe, remove, listed, failures }
    }

    /** A subscription whose receiver records notifications, and answers with a status that can be set. */
    const givenReceiver = async (change: object = {}, policies: PortalPolicies = {}) => {
      const opened = await given(policies)
      const received: { method: string; path: string; headers: Record<string, string>; text: string }[] = []
      const answer = { status: 204 }
      await opened.receive(host, async request => {
        received.push({
          method: request.method,
          path: new URL(request.url).pathname,
          headers: Object.fromEntries(request.headers),
          text: await request.text(),
        })
        const isMoved = answer.status === 302 && new URL(request.url).pathname === '/averba'
        const location = { location: `https://${host}/outro` }
        const status = answer.status === 302 && !isMoved ? 204 : answer.status
        return new Response(null, { status, headers: isMoved ? location : {} })
      })
      return { ...opened, received, answer, id: await opened.subscribe(change) }
    }

    test('Subscribe answers id, evento, endpoint, chaveSecreta and chaveAutenticacao, and no others', async () => {
      const { at, send } = await given()
      const response = await send(writeSubscribe(at.portal, portalHeaders, wanted))
      const text = await response.clone().text()
      const answered = await exact(assinaturaSchema, response)
      expect(answered).toEqual({ id: expect.any(Number), ...wanted })
      expect(readSubscribed(text)).toBe(answered.id)
    })

    test('a listed subscription has the nine fields, with times as dd-MM-yyyy HH:mm:ss', async () => {
      const { at, send, clock, portal, remove, id } = await givenReceiver()
      const ask = async () => {
        const response = await send(writeList(at.portal, portalHeaders))
        const text = await response.clone().text()
        const [only] = await exact(list, response)
        return { only, read: (await readList(text))?.items[0] }
      }
      const fresh = {
        id,
        ...wanted,
        dataRegistro: '20-11-2026 09:00:00',
        dataExclusao: null,
        motivoExclusao: null,
        dataUltimoSucesso: null,
      }
      expect((await ask()).only).toEqual(fresh)
      await clock.advance(secondMs)
      await portal.notify(notice)
      await clock.advance(secondMs)
      await remove(id)
      const { only, read } = await ask()
      const dataUltimoSucesso = '20-11-2026 09:00:01'
      expect(only).toEqual({ ...fresh, dataUltimoSucesso, dataExclusao: '20-11-2026 09:00:02' })
      expect(read).toEqual({
        remoteId: id,
        evento,
        endpoint,
        secrets: { chaveSecreta: wanted.chaveSecreta, chaveAutenticacao: wanted.chaveAutenticacao },
        isDeleted: true,
        registeredAt: '2026-11-20T12:00:00.000Z',
        deletedAt: '2026-11-20T12:00:02.000Z',
        reason: null,
        lastSuccessAt: '2026-11-20T12:00:01.000Z',
      })
    })

    test('Change answers id, evento and endpoint, and no secrets', async () => {
      const { at, send, subscribe, listed } = await given()
      const id = await subscribe()
      const next = {
        evento: 'outro',
        endpoint: `${endpoint}/2`,
        chaveSecreta: 'nova',
        chaveAutenticacao: 'x',
      }
      const response = await send(writeChange(at.portal, portalHeaders, id, next))
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
      expect(await response.json()).toEqual({ id, evento: 'outro', endpoint: `${endpoint}/2` })
      expect(await listed()).toMatchObject([{ id, ...next }])
    })

    test('chaveSecreta and chaveAutenticacao are optional, and null in answers', async () => {
      const { post, listed } = await given()
      const answered = await exact(assinaturaSchema, await post({ evento, endpoint }))
      const none = { chaveSecreta: null, chaveAutenticacao: null }
      expect(answered).toEqual({ id: expect.any(Number), evento, endpoint, ...none })
      expect(await listed()).toMatchObject([none])
    })

    test('a subscription without evento or endpoint is a 422 with code and message', async () => {
      const { post, listed } = await given()
      for (const body of [{ endpoint }, { evento }, { evento: '', endpoint }, { evento, endpoint: '' }, {}]) {
        const response = await post(body)
        expect(response.status).toBe(422)
        expect(await response.json()).toEqual({ code: expect.any(String), message: expect.any(String) })
      }
      expect(await listed()).toEqual([])
    })

    test('on Subscribe the endpoint is a secure URL on port 443', async () => {
      const { post, listed } = await given()
      const insecure = [`http://${host}/`, `https://${host}:8443/`, `http://${host}:443/`, 'receptor']
      for (const wrong of [...insecure, ...onlyAlmostSecure]) {
        expect((await post({ evento, endpoint: wrong })).status, wrong).toBe(422)
      }
      expect(await listed()).toEqual([])
      expect((await post({ evento, endpoint: `https://${host}:443/` })).status).toBe(200)
    })

    test('evento has at most 40 characters, endpoint 500, and each key 100, on Subscribe and on Change', async () => {
      const { post, put } = await given()
      const longest = {
        evento: 'e'.repeat(40),
        endpoint: endpointOf(500),
        chaveSecreta: 's'.repeat(100),
        chaveAutenticacao: 'a'.repeat(100),
      }
      const { id } = await exact(assinaturaSchema, await post(longest))
      expect((await put(id, { id, ...longest })).status).toBe(200)
      const longer = [
        { evento: 'e'.repeat(41) },
        { endpoint: endpointOf(501) },
        { chaveSecreta: 's'.repeat(101) },
        { chaveAutenticacao: 'a'.repeat(101) },
      ]
      for (const change of longer) {
        expect((await post({ ...wanted, ...change })).status, Object.keys(change)[0]).toBe(422)
        expect((await put(id, { id, ...longest, ...change })).status, Object.keys(change)[0]).toBe(422)
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
      const { post, put, subscribe, listed } = await given()
      const id = await subscribe()
      for (const wrong of ['€', 'a\rb', 'a\nb', ' a', 'a '])
        for (const name of ['evento', 'chaveSecreta', 'chaveAutenticacao']) {
          const body = { ...wanted, evento: 'outro', [name]: wrong }
          expect((await post(body)).status, `${name} ${wrong}`).toBe(422)
          expect((await put(id, { id, ...body })).status, `${name} ${wrong}`).toBe(422)
        }
      expect(await listed()).toMatchObject([wanted])
    })

    test('a listed row without keys can be sent back', async () => {
      const { put, post, listed } = await given()
      await post({ evento, endpoint })
      const [row] = await listed()
      expect((await put(row?.id ?? 0, row ?? {})).status).toBe(200)
      expect(await listed()).toEqual([row])
    })

    test('other paths and methods are 404 and 405 in JSON, with Allow', async () => {
      const { url, send } = await given()
      const asked = async (method: string, path: string) => {
        const response = await send(new Request(`${url}${path}`, { method, headers: portalHeaders }))
        expect(await response.json()).toEqual({ code: expect.any(String), message: expect.any(String) })
        return [response.status, response.headers.get('allow')]
      }
      expect(await asked('GET', '/outro/caminho')).toEqual([404, null])
      expect(await asked('PATCH', '')).toEqual([405, 'POST, GET'])
      expect(await asked('POST', '/1')).toEqual([405, 'PUT, DELETE'])
      expect(await asked('POST', '/falhas')).toEqual([405, 'GET'])
      expect(await asked('PUT', '/falhas')).toEqual([405, 'GET'])
    })

    test('the list has active subscriptions, and with exibirInativos=true deleted ones too', async () => {
      const { subscribe, remove, listed, get } = await given()
      const [first, second] = [await subscribe(), await subscribe({ evento: 'outro' })]
      await remove(first)
      expect((await listed()).map(each => each.id)).toEqual([second])
      expect((await listed('?exibirInativos=false')).map(each => each.id)).toEqual([second])
      expect((await listed('?exibirInativos=true')).map(each => each.id)).toEqual([first, second])
      for (const wrong of ['sim', 'TRUE', '1', '']) expect((await get(`?exibirInativos=${wrong}`)).status).toBe(400)
    })

    test('on Change the endpoint is a secure URL on any port', async () => {
      const { put, subscribe, listed } = await given()
      const id = await subscribe()
      for (const wrong of [`http://${host}/`, 'receptor', ...onlyAlmostSecure]) {
        expect((await put(id, { id, evento, endpoint: wrong })).status, wrong).toBe(422)
      }
      expect(await listed()).toMatchObject([{ endpoint }])
      expect((await put(id, { id, evento, endpoint: `https://${host}:8443/` })).status).toBe(200)
    })

    test('id, evento and endpoint are required on Change, and the id must match the path', async () => {
      const { put, subscribe, listed } = await given()
      const id = await subscribe()
      const bodies = [
        { evento, endpoint },
        { id, endpoint },
        { id, evento },
        { id: String(id), evento, endpoint },
        { id: id + 1, evento, endpoint },
      ]
      for (const body of bodies) expect((await put(id, body)).status).toBe(422)
      expect(await listed()).toMatchObject([wanted])
    })

    test('a Change without the optional fields clears them', async () => {
      const { put, subscribe, listed } = await given()
      const id = await subscribe()
      expect((await put(id, { id, evento, endpoint })).status).toBe(200)
      expect(await listed()).toMatchObject([{ chaveSecreta: null, chaveAutenticacao: null }])
    })

    test('Delete answers no fields, records the time, and stops the notifications', async () => {
      const { id, remove, listed, portal, received, clock } = await givenReceiver()
      await clock.advance(secondMs)
      const response = await remove(id)
      expect(response.status).toBe(200)
      expect(await response.text()).toBe('')
      expect(await listed('?exibirInativos=true')).toMatchObject([
        { id, dataExclusao: '20-11-2026 09:00:01', motivoExclusao: null },
      ])
      expect(await portal.notify(notice)).toEqual([])
      expect(received).toEqual([])
    })

    test('Delete requires the id as a JSON field too, and it must match the path', async () => {
      const { url, send, subscribe, listed } = await given()
      const id = await subscribe()
      const headers = { ...portalHeaders, 'content-type': 'application/json' }
      const bodies = [null, '', '{}', JSON.stringify({ id: String(id) }), JSON.stringify({ id: id + 1 })]
      for (const body of bodies) {
        const response = await send(new Request(`${url}/${id}`, { method: 'DELETE', headers, body }))
        expect(response.status, String(body)).toBe(422)
      }
      expect(await listed()).toMatchObject([{ id }])
    })

    test('a deleted or unknown subscription is a 404 on Change and Delete', async () => {
      const { put, subscribe, remove, listed } = await given()
      const id = await subscribe()
      await remove(id)
      for (const each of [id, 77]) {
        expect((await put(each, { id: each, evento, endpoint })).status).toBe(404)
        const response = await remove(each)
        expect(response.status).toBe(404)
        expect(await response.json()).toEqual({ code: expect.any(String), message: expect.any(String) })
      }
      expect(await listed()).toEqual([])
    })

    test('an event can be subscribed to again after its subscription was deleted', async () => {
      const { subscribe, remove, listed } = await given()
      const first = await subscribe()
      await remove(first)
      const second = await subscribe()
      expect(second).not.toBe(first)
      expect((await listed()).map(each => each.id)).toEqual([second])
    })

    test('a call without the headers of a session is a 401 with code and message', async () => {
      const { url, send, at } = await given()
      const requests = [
        writeSubscribe(at.portal, {}, wanted),
        writeList(at.portal, {}),
        writeChange(at.portal, {}, 1, wanted),
        writeDelete(at.portal, {}, 1),
        writeFailures(at.portal, {}, null),
        new Request(url, { headers: { authorization: 'outra' } }),
      ]
      for (const request of requests) {
        const response = await send(request)
        expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="portal"'])
        expect(await response.json()).toEqual({ code: expect.any(String), message: expect.any(String) })
      }
    })

    test('a notification is one POST of JSON with the documented headers', async () => {
      const { portal, received, id } = await givenReceiver()
      expect(await portal.notify(notice)).toEqual([{ subscription: id, isDelivered: true, description: '' }])
      expect(received).toHaveLength(1)
      expect(received[0]).toMatchObject({ method: 'POST', path: '/averba', text: '{"numero":"26BR1"}' })
      expect(received[0]?.headers).toMatchObject({
        'content-type': 'application/json',
        'destinatario-tipo': 'CNPJ',
        'destinatario-id': '12ABC34501DE35',
        'event-type': evento,
        secret: 'chave-um',
        authorization: 'Basic YTpi',
      })
    })

    test('a subscription without keys is notified without the headers secret and authorization', async () => {
      const { portal, received, put, id } = await givenReceiver()
      await put(id, { id, evento, endpoint })
      await portal.notify(notice)
      expect(received).toHaveLength(1)
      expect(Object.keys(received[0]?.headers ?? {})).not.toContain('secret')
      expect(Object.keys(received[0]?.headers ?? {})).not.toContain('authorization')
    })

    test('each kind of recipient is sent, and read by the receiver', async () => {
      const { portal, receive, subscribe, clock } = await given()
      const stored: IncomingNotification[] = []
      const { chaveSecreta, chaveAutenticacao } = wanted
      const receiver = createReceiver({
        clock,
        sources: 'any',
        secretsOf: async () => [{ chaveSecreta, chaveAutenticacao }],
        store: async incoming => void stored.push(incoming),
        onRefused: () => undefined,
        onStoreError: () => undefined,
      })
      await receive(host, request => receiver.fetch(request))
      await subscribe()
      const recipients = ['25774435016', '12ABC34501DE35', '26000']
      for (const [i, destinatarioTipo] of recipientKinds.entries()) {
        await portal.notify({ ...notice, destinatarioTipo, destinatarioId: recipients[i] ?? '' })
      }
      expect(stored.map(each => [each.evento, each.recipient.kind, each.recipient.id])).toEqual([
        [evento, 'CPF', '25774435016'],
        [evento, 'CNPJ', '12ABC34501DE35'],
        [evento, 'ORGAO', '26000'],
      ])
      expect(Buffer.from(stored[0]?.body ?? []).toString()).toBe('{"numero":"26BR1"}')
    })

    /** Subscribes as another user of the portal, to a path of the receiver. */
    const subscribeAs = async ({ at, send }: OpenedServices, headers: Record<string, string>, path: string) => {
      const response = await send(writeSubscribe(at.portal, headers, { ...wanted, endpoint: `https://${host}${path}` }))
      return readSubscribed(await response.text()) ?? 0
    }

    test('a notification to a CNPJ goes to all its representatives, and to no others', async () => {
      const [second, third, fourth] = ['dois', 'tres', 'quatro'].map(authorization => ({ authorization }))
      const matriz = { tipo: 'CNPJ', id: '12ABC34501DE35' } as const
      const users = [
        { headers: second ?? {}, represents: [{ tipo: 'CPF', id: '25774435016' }, matriz] as const },
        { headers: third ?? {}, represents: [{ tipo: 'CNPJ', id: '00000000000191' }] as const },
        { headers: fourth ?? {}, represents: [{ tipo: 'ORGAO', id: '12ABC34501DE35' }] as const },
      ]
      const opened = await givenReceiver({}, { represents: [matriz], users })
      const { portal, received, id } = opened
      const same = await subscribeAs(opened, second ?? {}, '/averba')
      await subscribeAs(opened, third ?? {}, '/outra-empresa')
      await subscribeAs(opened, fourth ?? {}, '/orgao')
      // Both representatives have the same endpoint: it is notified once for each.
      expect((await portal.notify(notice)).map(each => each.subscription)).toEqual([id, same])
      expect(received.map(each => each.path)).toEqual(['/averba', '/averba'])
      expect(await portal.notify({ ...notice, destinatarioId: '11222333000181' })).toEqual([])
    })

    test('a notification to a person or to a public body goes to the users who represent it', async () => {
      const second = { authorization: 'dois' }
      const person = { tipo: 'CPF', id: '25774435016' } as const
      const users = [{ headers: second, represents: [{ tipo: 'ORGAO', id: '26000' }] as const }]
      const opened = await givenReceiver({}, { represents: [person], users })
      const { portal, received, id } = opened
      const other = await subscribeAs(opened, second, '/orgao')
      const to = async (destinatarioTipo: RecipientKind, destinatarioId: string) => {
        const delivered = await portal.notify({ ...notice, destinatarioTipo, destinatarioId })
        return delivered.map(each => each.subscription)
      }
      expect(await to('CPF', '25774435016')).toEqual([id])
      expect(await to('CPF', '52998224725')).toEqual([])
      expect(await to('ORGAO', '26000')).toEqual([other])
      expect(await to('CNPJ', '12ABC34501DE35')).toEqual([])
      expect(received.map(each => each.path)).toEqual(['/averba', '/orgao'])
    })

    test('by default every user represents everyone', async () => {
      const second = { authorization: 'dois' }
      const opened = await givenReceiver({}, { users: [{ headers: second }] })
      const other = await subscribeAs(opened, second, '/outro-usuario')
      const ids = { CPF: '25774435016', CNPJ: '12ABC34501DE35', ORGAO: '26000' }
      for (const destinatarioTipo of recipientKinds) {
        const destinatarioId = ids[destinatarioTipo]
        const delivered = await opened.portal.notify({ ...notice, destinatarioTipo, destinatarioId })
        expect(delivered.map(each => each.subscription)).toEqual([opened.id, other])
      }
    })

    test('a notification goes to the subscriptions of its event only', async () => {
      const { portal, received, subscribe, id } = await givenReceiver()
      const other = await subscribe({ evento: 'outro', endpoint: `${endpoint}/2` })
      expect((await portal.notify(notice)).map(each => each.subscription)).toEqual([id])
      expect((await portal.notify({ ...notice, evento: 'outro' })).map(each => each.subscription)).toEqual([other])
      expect(await portal.notify({ ...notice, evento: 'nenhum' })).toEqual([])
      expect(received.map(each => each.path)).toEqual(['/averba', '/averba/2'])
    })

    test('an endpoint with two subscriptions for one event is notified once for each', async () => {
      const { portal, received, subscribe, id } = await givenReceiver({}, { duplicateEvent: 'accept' })
      const second = await subscribe()
      expect((await portal.notify(notice)).map(each => each.subscription)).toEqual([id, second])
      expect(received).toHaveLength(2)
    })

    test('only a 2xx is a success: there is no retry, and redirects are not followed', async () => {
      const { portal, received, answer, failures, listed } = await givenReceiver()
      for (const status of [302, 400, 404, 500, 503]) {
        answer.status = status
        expect(await portal.notify(notice)).toMatchObject([{ isDelivered: false, description: `HTTP ${status}` }])
      }
      expect(received).toHaveLength(5)
      expect(await failures()).toHaveLength(5)
      expect(await listed()).toMatchObject([{ dataUltimoSucesso: null }])
      for (const status of [200, 202, 204]) {
        answer.status = status
        expect(await portal.notify(notice)).toMatchObject([{ isDelivered: true }])
      }
      expect(received).toHaveLength(8)
      expect(portal.deliveries).toEqual({ succeeded: 3, failed: 5 })
    })

    test('by policy a failed delivery is retried at once, and makes one failure record', async () => {
      const { portal, received, answer, failures } = await givenReceiver({}, { tries: 3 })
      answer.status = 500
      expect(await portal.notify(notice)).toMatchObject([{ isDelivered: false, description: 'HTTP 500' }])
      expect(received).toHaveLength(3)
      expect(await failures()).toHaveLength(1)
      expect(portal.deliveries).toEqual({ succeeded: 0, failed: 1 })
      answer.status = 204
      expect(await portal.notify(notice)).toMatchObject([{ isDelivered: true }])
      expect(received).toHaveLength(4)
    })

    test('by policy a redirect is followed with the same POST', async () => {
      const { portal, received, answer } = await givenReceiver({}, { redirects: 'follow' })
      answer.status = 302
      expect(await portal.notify(notice)).toMatchObject([{ isDelivered: true }])
      const [first, second] = received
      expect([first?.path, second?.path, received.length]).toEqual(['/averba', '/outro', 2])
      expect({ ...second, path: '' }).toEqual({ ...first, path: '' })
    })

    test('dataUltimoSucesso is the time of the last success', async () => {
      const { portal, answer, listed, clock } = await givenReceiver()
      await portal.notify(notice)
      await clock.advance(secondMs)
      await portal.notify(notice)
      await clock.advance(secondMs)
      answer.status = 500
      await portal.notify(notice)
      expect(await listed()).toMatchObject([{ dataUltimoSucesso: '20-11-2026 09:00:01' }])
    })

    test('a failure record has id, data, descricao, evento and conteudo, and no others', async () => {
      const { at, send, portal, answer } = await givenReceiver()
      answer.status = 500
      await portal.notify(notice)
      const response = await send(writeFailures(at.portal, portalHeaders, null))
      const text = await response.clone().text()
      const [record] = await exact(failureList, response)
      expect(record).toEqual({
        id: expect.any(Number),
        data: '20-11-2026 09:00:00',
        descricao: 'HTTP 500',
        evento,
        conteudo: '{"numero":"26BR1"}',
      })
      expect(record?.data).toHaveLength(19)
      expect(record?.data).toMatch(brasilia)
      expect(await readFailures(text)).toEqual({
        unreadable: [],
        items: [{ remoteId: record?.id, evento, failedAt: '2026-11-20T12:00:00.000Z', record }],
      })
    })

    test('ids are numbers of up to ten digits', async () => {
      const { portal, answer, failures, listed } = await givenReceiver()
      answer.status = 500
      await portal.notify(notice)
      const ids = [...(await listed()), ...(await failures())].map(each => each.id)
      expect(ids).toHaveLength(2)
      for (const id of ids) expect(String(id)).toMatch(/^\d{1,10}$/)
      const one = { data: '', descricao: '', evento: 'e', conteudo: '' }
      const read = await readFailures(JSON.stringify([9_999_999_999, 10_000_000_000].map(id => ({ ...one, id }))))
      expect(read).toMatchObject({
        items: [{ remoteId: 9_999_999_999 }],
        unreadable: [{ id: 10_000_000_000 }],
      })
    })

    test('failures are queried by day, ddMMyyyy in Brasilia, or for today without data', async () => {
      const { at, send, portal, answer, failures, clock } = await givenReceiver()
      answer.status = 500
      await clock.advance(15 * 3_600 * secondMs - secondMs)
      await portal.notify(notice)
      expect(await failures()).toMatchObject([{ data: '20-11-2026 23:59:59' }])
      await clock.advance(secondMs)
      expect(await failures()).toEqual([])
      await portal.notify(notice)
      expect(await failures()).toMatchObject([{ data: '21-11-2026 00:00:00' }])
      expect(await failures('?data=20112026')).toMatchObject([{ data: '20-11-2026 23:59:59' }])
      expect(await failures('?data=21112026')).toMatchObject([{ data: '21-11-2026 00:00:00' }])
      expect(await failures('?data=19112026')).toEqual([])
      const written = await send(writeFailures(at.portal, portalHeaders, '2026-11-20'))
      expect(await exact(failureList, written)).toMatchObject([{ data: '20-11-2026 23:59:59' }])
    })

    test('a day in a wrong format, or one that does not exist, is a 422', async () => {
      const { get } = await given()
      const noDays = ['99999999', '00000000', '32012026', '29022026', '31042026', '01132026']
      for (const data of ['2026-11-20', '20/11/2026', '201126', '2011202', '', ...noDays])
        expect((await get(`/falhas?data=${encodeURIComponent(data)}`)).status, data).toBe(422)
      expect((await get('/falhas?data=29022028')).status).toBe(200)
    })

    test('failure records are kept for thirty days, and no longer', async () => {
      const { portal, answer, failures, clock } = await givenReceiver()
      answer.status = 500
      await portal.notify(notice)
      await clock.advance(30 * dayMs)
      expect(await failures('?data=20112026')).toHaveLength(1)
      await clock.advance(1)
      expect(await failures('?data=20112026')).toEqual([])
    })

    test('thirty days with only errors delete a subscription, twenty-nine do not', async () => {
      const { portal, answer, listed, clock, id } = await givenReceiver()
      answer.status = 500
      await portal.notify(notice)
      await clock.advance(29 * dayMs)
      await portal.notify(notice)
      expect((await listed()).map(each => each.id)).toEqual([id])
      await clock.advance(dayMs - 1)
      expect((await listed()).map(each => each.id)).toEqual([id])
      await clock.advance(1)
      expect(await listed()).toEqual([])
      const [deleted] = await listed('?exibirInativos=true')
      expect(deleted).toMatchObject({
        id,
        dataExclusao: '20-12-2026 09:00:00',
        motivoExclusao: expect.stringContaining('30 dias'),
      })
      expect(deleted?.motivoExclusao?.length).toBeLessThanOrEqual(200)
      expect(await portal.notify(notice)).toEqual([])
    })

    test('a success restarts the thirty days', async () => {
      const { portal, answer, listed, clock } = await givenReceiver()
      answer.status = 500
      await portal.notify(notice)
      await clock.advance(29 * dayMs)
      answer.status = 204
      await portal.notify(notice)
      answer.status = 500
      await portal.notify(notice)
      await clock.advance(30 * dayMs - 1)
      expect(await listed()).toHaveLength(1)
      await clock.advance(1)
      expect(await listed()).toEqual([])
    })

    test('a subscription without any delivery is not deleted', async () => {
      const { subscribe, listed, clock } = await given()
      await subscribe()
      await clock.advance(90 * dayMs)
      expect(await listed()).toHaveLength(1)
    })
  })
}
