import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:https'
import { createConnection } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { expect, test, vi } from 'vitest'
import { sourceRanges } from '../../../src/adapters/portal/wire.ts'
import type { ReceiverOptions } from '../../../src/adapters/receiver/receiver.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { authority, openClient, own } from '../../support/over-tls.ts'
import { givenReceiver } from './given-receiver.ts'

const headers = { 'event-type': 'e', 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' }
const post = (init: RequestInit = {}) =>
  new Request('https://localhost/averba', { method: 'POST', headers, body: '{}', ...init })

/** A receiver behind Node's HTTPS server, and a client for it. */
async function openReceiver() {
  const { receiver, stored } = givenReceiver()
  const port = await listenUntilEnd(createServer({ ...own, minVersion: 'TLSv1.2' }, receiver.listener))
  const { fetch } = openClient({ connectTo: () => ({ host: '127.0.0.1', port }) })
  /** Sends the lines of a head as they are, and returns the answer. */
  const send = async (head: readonly string[]) => {
    const socket = connect({ host: '127.0.0.1', port, ca: authority.ca, servername: 'localhost' })
    const lines = ['POST /averba HTTP/1.1', 'host: localhost', ...head, 'content-length: 2', 'connection: close']
    socket.write(`${lines.join('\r\n')}\r\n\r\n{}`)
    return text(socket)
  }
  return { stored, fetch, send }
}

/** A receiver of notifications from anywhere, without secrets. */
const openToAll = (options: Partial<ReceiverOptions>) =>
  givenReceiver({ sources: 'any', secretsOf: async () => [], ...options })

test('if the host has already answered, a stored notification is reported as late', async () => {
  const storing = Promise.withResolvers<void>()
  const stored = Promise.withResolvers<void>()
  const store = () => {
    storing.resolve()
    return stored.promise
  }
  const { receiver, reported, missed } = openToAll({ store })
  const server = createHttpServer((incoming, outgoing) => {
    receiver.listener(incoming, outgoing)
    void storing.promise.then(() => outgoing.writeHead(503).end('timeout'))
  })
  const port = await listenUntilEnd(server)
  const { status } = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: '{}' })
  expect(status).toBe(503)
  stored.resolve()
  await expect.poll(() => missed).toEqual(['late'])
  expect(reported).toEqual([])
})

test('a repeated secret header is refused', async () => {
  const { send } = await openReceiver()
  expect(await send(['event-type: e', 'secret: certa', 'secret: certa'])).toMatch(/^HTTP\/1\.1 401 /)
})

test.each([
  ['with the same value is accepted', 'e', 200],
  ['with another value is refused', 'outro', 400],
])('a repeated event-type %s, over a socket and as a web request', async (_, second, status) => {
  const pairs = [...Object.entries(headers), ...Object.entries({ ...headers, 'event-type': second })]
  const { send, stored } = await openReceiver()
  const answer = await send([...pairs.map(([name, value]) => `${name}: ${value}`), 'secret: certa'])
  expect(answer).toContain(`HTTP/1.1 ${status} `)
  const refused: unknown[] = []
  const web = openToAll({ onRefused: (status, reason, evento) => void refused.push([status, reason, evento]) })
  expect((await web.receiver.fetch(post({ headers: pairs }))).status).toBe(status)
  const taken = { evento: 'e', recipient: { kind: 'CNPJ', id: '12ABC34501DE35' } }
  for (const each of [stored, web.stored]) expect(each).toMatchObject(status === 200 ? [taken] : [])
  expect(refused).toEqual(status === 200 ? [] : [[400, expect.stringContaining('has several values'), 'e, outro']])
})

test.each([
  ['the portal', 0, '189.9.1.2', '', 200],
  ['the portal in IPv6 form', 0, '::ffff:189.9.1.2', '', 200],
  ['the portal by a trusted proxy', 1, '10.0.0.1', '203.0.113.7, 189.9.1.2', 200],
  ['another one that names the portal', 1, '10.0.0.1', '189.9.1.2, 203.0.113.7', 403],
  ['the portal with its port', 1, '10.0.0.1', '203.0.113.7, 189.9.1.2:54321', 200],
  ['the portal in brackets', 1, '10.0.0.1', '203.0.113.7, [::ffff:189.9.1.2]', 200],
  ['the portal in brackets with its port', 1, '10.0.0.1', '203.0.113.7, [::FFFF:189.9.1.2]:54321', 200],
  ['another one with its port', 1, '10.0.0.1', '189.9.1.2, 203.0.113.7:54321', 403],
  ['another one of IPv6 with its port', 1, '10.0.0.1', '189.9.1.2, [2001:db8::1]:443', 403],
])('the sender is %s', async (_, trustedProxies, remoteAddress, forwarded, status) => {
  const { receiver } = givenReceiver({ sources: sourceRanges, trustedProxies })
  const request = post({ headers: { ...headers, secret: 'certa', 'x-forwarded-for': forwarded } })
  expect((await receiver.fetch(request, { remoteAddress })).status).toBe(status)
})

test('a notification that is not stored in time is answered 503 before the portal gives up', async () => {
  const clock = new VirtualClock()
  const stored = Promise.withResolvers<void>()
  const { receiver, missed } = openToAll({ clock, store: () => stored.promise })
  const answering = receiver.fetch(post())
  await expect.poll(() => clock.sleeping).toBe(1)
  await clock.advance(3_500 - 501)
  expect(missed).toEqual([])
  await clock.advance(1)
  expect((await answering).status).toBe(503)
  expect(missed).toEqual(['late'])
  stored.resolve()
  expect((await receiver.fetch(post())).status).toBe(200)
  expect(clock.sleeping).toBe(0)
  expect(missed).toEqual(['late'])
})

test('a failed commit, and one that blocked the process too long, are reported as missed', async () => {
  let now = 0
  const clock = { now: () => now, sleep: () => new Promise<void>(() => undefined) }
  const store = vi.fn().mockRejectedValueOnce(new Error('The disk is full'))
  // The event loop is blocked meanwhile: no timer runs before the commit is done.
  for (const ms of [3_501, 3_500])
    store.mockImplementationOnce(async () => {
      now += ms
    })
  const { receiver, missed } = openToAll({ clock, store })
  for (const status of [503, 200, 200]) expect((await receiver.fetch(post())).status).toBe(status)
  expect(missed).toEqual(['unstored', 'late'])
})

test('a body that is cut off is not stored, and is reported as lost', async () => {
  const { receiver, stored, missed } = openToAll({})
  const server = createHttpServer(receiver.listener)
  const socket = createConnection(await listenUntilEnd(server), '127.0.0.1')
  socket.write('POST /averba HTTP/1.1\r\nhost: a\r\nevent-type: e\r\ncontent-length: 9\r\n\r\n{"a"')
  await new Promise(resolve => server.once('request', resolve))
  socket.destroy()
  await expect.poll(() => missed).toEqual(['unstored'])
  expect(stored).toEqual([])
})

test('the budget includes secrets and body, and nothing is stored after it', async () => {
  const clock = new VirtualClock()
  const secrets = Promise.withResolvers<[]>()
  const { receiver, stored } = openToAll({ clock, secretsOf: () => secrets.promise })
  const answering = receiver.fetch(post())
  await expect.poll(() => clock.sleeping).toBe(1)
  await clock.advance(3_000)
  expect((await answering).status).toBe(503)
  secrets.resolve([])
  await new Promise(resolve => setImmediate(resolve))
  expect(stored).toEqual([])
})
