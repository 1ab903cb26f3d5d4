import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { createConnection } from 'node:net'
import { connect } from 'node:tls'
import { expect, test } from 'vitest'
import { openSocket } from '../../../src/adapters/http/transport.ts'
import { createReceiver, type IncomingNotification } from '../../../src/adapters/receiver/receiver.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { createAuthority } from '../../../src/simulation/served/authority.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'

const headers = { 'event-type': 'e', 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' }
const post = (init: RequestInit = {}) =>
  new Request('https://localhost/averba', { method: 'POST', headers, body: '{}', ...init })

/** A receiver behind Node's HTTPS server, and a client for it. */
async function openReceiver(
  store: (incoming: IncomingNotification) => Promise<void>,
  wrap = (listener: RequestListener) => listener,
) {
  const receiver = createReceiver({
    clock: systemClock,
    sources: ['127.0.0.0/8'],
    secretsOf: async () => [{ chaveSecreta: 'certa' }],
    store,
    onRefused: () => undefined,
    onStoreError: () => undefined,
  })
  const authority = await createAuthority(systemClock.now())
  const server = createServer(
    { ...(await authority.issueServer(['localhost'])), minVersion: 'TLSv1.2' },
    wrap(receiver.listener),
  )
  const port = await listenUntilEnd(server)
  const connectTo = () => ({ host: '127.0.0.1', port })
  const { fetch } = closeAtEnd(openSocket({ clock: systemClock, ca: authority.ca, connectTo }))
  return { port, ca: authority.ca, fetch }
}

test('behind an HTTPS server a notification is stored before it is acknowledged', async () => {
  const stored: IncomingNotification[] = []
  const { fetch } = await openReceiver(async incoming => void stored.push(incoming))
  const taken = await fetch(post({ headers: { ...headers, secret: 'certa' } }))
  expect([taken.status, taken.headers.get('content-length'), await taken.text()]).toEqual([200, '0', ''])
  expect(stored).toMatchObject([{ evento: 'e', recipient: { kind: 'CNPJ', id: '12ABC34501DE35' } }])
  expect((await fetch(post({ headers: { ...headers, secret: 'errada' } }))).status).toBe(401)
  expect(stored).toHaveLength(1)
})

test('a body that a parser consumed is answered 500 at once, with the reason', async () => {
  const { fetch } = await openReceiver(
    async () => undefined,
    listener => (incoming, outgoing) => incoming.resume().on('end', () => listener(incoming, outgoing)),
  )
  const response = await fetch(post({ headers: { ...headers, secret: 'certa' } }))
  expect(response.status).toBe(500)
  expect(await response.text()).toContain('Put the receiver before any body parser')
})

test('if the host has already answered, a stored notification is reported as late', async () => {
  const missed: string[] = []
  const troubles: unknown[] = []
  const storing = Promise.withResolvers<void>()
  const stored = Promise.withResolvers<void>()
  const written = Promise.withResolvers<void>()
  const receiver = createReceiver({
    clock: systemClock,
    sources: 'any',
    secretsOf: async () => [],
    store() {
      storing.resolve()
      return stored.promise
    },
    onRefused: () => undefined,
    onStoreError: error => troubles.push(error),
    onMissed(why) {
      missed.push(why)
      written.resolve()
    },
  })
  const server = createHttpServer((incoming, outgoing) => {
    receiver.listener(incoming, outgoing)
    void storing.promise.then(() => outgoing.writeHead(503).end('timeout'))
  })
  const port = await listenUntilEnd(server)
  const { status } = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: '{}' })
  expect(status).toBe(503)
  stored.resolve()
  await written.promise
  expect([missed, troubles]).toEqual([['late'], []])
})

test('a repeated secret header is refused', async () => {
  const { port, ca } = await openReceiver(async () => undefined)
  const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost' })
  const lines = [
    'POST /averba HTTP/1.1',
    'host: localhost',
    'event-type: e',
    'secret: certa',
    'secret: certa',
    'content-length: 2',
    'connection: close',
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n{}`)
  let answer = ''
  for await (const chunk of socket) answer += chunk
  expect(answer).toMatch(/^HTTP\/1\.1 401 /)
})

test.each([
  ['with the same value is accepted', 'e', 200],
  ['with another value is refused', 'outro', 400],
])('a repeated event-type %s, over a socket and as a web request', async (_, second, status) => {
  const stored: IncomingNotification[] = []
  const { port, ca } = await openReceiver(async incoming => void stored.push(incoming))
  const again = Object.entries({ ...headers, 'event-type': second })
  const pairs = [...Object.entries(headers), ...again, ['secret', 'certa'] as [string, string]]
  const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost' })
  const lines = pairs.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`POST / HTTP/1.1\r\nhost: localhost\r\n${lines}content-length: 2\r\nconnection: close\r\n\r\n{}`)
  let answer = ''
  for await (const chunk of socket) answer += chunk
  expect(answer).toContain(`HTTP/1.1 ${status} `)
  const refused: unknown[] = []
  const receiver = createReceiver({
    ...{ clock: systemClock, sources: 'any', onStoreError: () => undefined },
    secretsOf: async () => [],
    store: async incoming => void stored.push(incoming),
    onRefused: (status, reason, evento) => void refused.push([status, reason, evento]),
  })
  const request = post({ headers: pairs })
  expect((await receiver.fetch(request)).status).toBe(status)
  const taken = { evento: 'e', recipient: { kind: 'CNPJ', id: '12ABC34501DE35' } }
  expect(stored).toMatchObject(status === 200 ? [taken, taken] : [])
  expect(refused).toEqual(status === 200 ? [] : [[400, expect.stringContaining('has several values'), 'e, outro']])
})

test('a notification that is not stored in time is answered 503 before the portal gives up', async () => {
  const clock = new VirtualClock()
  const stored = Promise.withResolvers<void>()
  const missed: string[] = []
  const receiver = createReceiver({
    clock,
    sources: 'any',
    secretsOf: async () => [],
    store: () => stored.promise,
    onRefused: () => undefined,
    onStoreError: () => undefined,
    onMissed: reason => void missed.push(reason),
  })
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

test('each notification has its own full budget', async () => {
  const clock = new VirtualClock()
  const waiting: (() => void)[] = []
  const receiver = createReceiver({
    clock,
    sources: 'any',
    secretsOf: async () => [],
    store: () => new Promise(resolve => waiting.push(resolve)),
    onRefused: () => undefined,
    onStoreError: () => undefined,
  })
  const answers: number[] = []
  const notify = async () => {
    const before = waiting.length
    void receiver.fetch(post()).then(({ status }) => answers.push(status))
    await expect.poll(() => waiting.length).toBe(before + 1)
  }
  await notify()
  await clock.advance(1_000)
  await notify()
  await clock.advance(1_000)
  await notify()
  waiting[0]?.()
  await expect.poll(() => answers).toEqual([200])
  await clock.advance(1_999)
  expect(answers).toEqual([200])
  await clock.advance(1)
  expect(answers).toEqual([200, 503])
  await clock.advance(1_000)
  expect(answers).toEqual([200, 503, 503])
  expect(clock.sleeping).toBe(0)
})

test('a failed commit, and one that blocked the process too long, are reported as missed', async () => {
  const missed: string[] = []
  let now = 0
  const blocked = { now: () => now, sleep: () => new Promise<void>(() => undefined) }
  const stores = [
    async () => {
      throw new Error('The disk is full')
    },
    // The event loop is blocked meanwhile: no timer runs before the commit is done.
    async () => {
      now += 3_501
    },
    async () => {
      now += 3_500
    },
  ]
  const receiver = createReceiver({
    clock: blocked,
    sources: 'any',
    secretsOf: async () => [],
    store: () => stores.shift()?.() ?? Promise.resolve(),
    onRefused: () => undefined,
    onStoreError: () => undefined,
    onMissed: reason => void missed.push(reason),
  })
  const answers: number[] = []
  for (let i = 0; i < 3; i++) answers.push((await receiver.fetch(post())).status)
  expect(answers).toEqual([503, 200, 200])
  expect(missed).toEqual(['unstored', 'late'])
})

test('a body that is cut off is not stored, and is reported as lost', async () => {
  const missed: string[] = []
  const stored: IncomingNotification[] = []
  const receiver = createReceiver({
    clock: systemClock,
    sources: 'any',
    secretsOf: async () => [],
    store: async incoming => void stored.push(incoming),
    onRefused: () => undefined,
    onStoreError: () => undefined,
    onMissed: reason => void missed.push(reason),
  })
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
  const stored: IncomingNotification[] = []
  const secrets = Promise.withResolvers<[]>()
  const receiver = createReceiver({
    clock,
    sources: 'any',
    secretsOf: () => secrets.promise,
    store: async incoming => void stored.push(incoming),
    onRefused: () => undefined,
    onStoreError: () => undefined,
  })
  const answering = receiver.fetch(post())
  await expect.poll(() => clock.sleeping).toBe(1)
  await clock.advance(3_000)
  expect((await answering).status).toBe(503)
  secrets.resolve([])
  await new Promise(resolve => setImmediate(resolve))
  expect(stored).toEqual([])
})
