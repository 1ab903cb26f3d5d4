import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import { type AddressInfo, createConnection } from 'node:net'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import express from 'express'
import { expect, onTestFinished, test } from 'vitest'
import {
  createReceiver,
  type IncomingNotification,
  type ReceiverOptions,
} from '../../../src/adapters/receiver/receiver.ts'
import { systemClock } from '../../../src/runtime/clock.ts'

const body = Buffer.from('{"numero": "26BR1", "situacao": "não ✓"}')
const headers = { 'event-type': 'e', secret: 'certa', 'content-type': 'application/json' }

/** A receiver that keeps what it is given in memory, what its operator was told, and what it said was lost. */
function given(secretsOf: ReceiverOptions['secretsOf'] = async () => [{ chaveSecreta: 'certa' }]) {
  const stored: IncomingNotification[] = []
  const told: string[] = []
  const missed: string[] = []
  const receiver = createReceiver({
    clock: systemClock,
    sources: ['127.0.0.0/8'],
    secretsOf,
    store: async incoming => void stored.push(incoming),
    onRefused: status => void told.push(String(status)),
    onStoreError: error => void told.push(String(error)),
    onMiswired: ({ code, message }, evento) => void told.push(`${evento} ${code}: ${message}`),
    onMissed: reason => void missed.push(reason),
  })
  const bodies = () => stored.map(each => Buffer.from(each.body))
  return { receiver, bodies, told, missed }
}

async function listen(handle: (incoming: IncomingMessage, outgoing: never) => void) {
  const server = createServer(handle as Parameters<typeof createServer>[1])
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>(resolve => void server.close(() => resolve())))
  return { server, port: (server.address() as AddressInfo).port }
}

/** Posts a body in two pieces to Express: the second leaves when the host has been handed the first, amid a character. */
async function postTo(app: express.Express, content: Uint8Array, more: Record<string, string> = {}) {
  const { server, port } = await listen(app)
  const length = { 'content-length': String(content.length), ...more, connection: 'close' }
  const sent = httpRequest({ port, method: 'POST', path: '/averba', headers: { ...headers, ...length } })
  const answering = once(sent, 'response')
  const cut = Math.max(content.lastIndexOf(0xa3), content.length - 3)
  sent.write(content.subarray(0, cut))
  await once(server, 'request')
  sent.end(content.subarray(cut))
  const [answer] = (await answering) as [IncomingMessage]
  let text = ''
  for await (const chunk of answer) text += chunk
  return { status: answer.statusCode, text }
}

const consumed = 'Cannot read the notification: its body was consumed before'

/** What a middleware does before it goes on: at once, or when what it gives has come. */
type Before = (incoming: express.Request, outgoing: express.Response) => unknown

const behind = (before: Before, { receiver }: ReturnType<typeof given>) =>
  express()
    .use((incoming, outgoing, next) => {
      const waiting = before(incoming, outgoing)
      if (waiting instanceof Promise) waiting.then(() => next())
      else next()
    })
    .post('/averba', receiver.listener)

test.each<[string, Before]>([
  ['logs every body', incoming => incoming.on('data', () => undefined)],
  ['lets it flow to nowhere', incoming => incoming.resume()],
  ['pipes it into a digest', incoming => incoming.pipe(new PassThrough()).resume()],
  ['parses it and does not wait', (...both) => express.json()(...both, () => undefined)],
  ['has it decoded', incoming => incoming.setEncoding('utf8')],
  ['holds it up', incoming => setImmediate(incoming.pause())],
  ['waits for something else', () => setImmediate()],
])('behind what %s a body in two pieces is stored byte for byte', async (_, before) => {
  const host = given()
  expect(await postTo(behind(before, host), body)).toEqual({ status: 200, text: '' })
  expect(host.bodies()).toEqual([body])
  expect([host.told, host.missed]).toEqual([[], []])
})

const latin = Buffer.from('{"situacao": "não"}', 'latin1')

test.each<[string, Buffer, Before]>([
  ['has read the first of it', body, incoming => once(incoming, 'data')],
  ['turns it into other characters', body, incoming => incoming.setEncoding('ascii')],
  ['decodes what is no UTF-8', latin, incoming => incoming.setEncoding('utf8')],
])('behind what %s nothing is stored: it is answered 500, and its record is asked for', async (...row) => {
  const [, content, before] = row
  const host = given()
  const text = `${consumed}. Put the receiver before any body parser\n`
  expect(await postTo(behind(before, host), content)).toEqual({ status: 500, text })
  expect(host.bodies()).toEqual([])
  expect([host.told, host.missed]).toEqual([[`e BODY_CONSUMED: ${consumed}`], ['unstored']])
})

test('a body that somebody reads while the secrets are asked for is not stored, whether in part or as nothing', async () => {
  let reading: IncomingMessage | undefined
  const host = given(async () => {
    reading?.resume()
    if (reading) await once(reading, 'end')
    return [{ chaveSecreta: 'certa' }]
  })
  const app = behind(incoming => {
    reading = incoming
  }, host)
  expect((await postTo(app, body)).status).toBe(500)
  expect(host.bodies()).toEqual([])
  expect([host.told, host.missed]).toEqual([[`e BODY_CONSUMED: ${consumed}`], ['unstored']])
})

test('a consumed body from elsewhere is told of, and no record of it is asked for', async () => {
  const { receiver, told, missed } = given()
  const request = new Request('https://localhost/averba', { method: 'POST', headers, body })
  await request.text()
  const asking = receiver.fetch(request, { remoteAddress: '203.0.113.7' })
  await expect(asking).rejects.toMatchObject({ code: 'BODY_CONSUMED' })
  expect([told, missed]).toEqual([[`e BODY_CONSUMED: ${consumed}`], []])
})

test.each([
  ['no content-length', '', ''],
  ['a content-length of 0', 'content-length: 0\r\n', ''],
  ['no pieces of it', 'transfer-encoding: chunked\r\n', '0\r\n\r\n'],
])(
  'a body of nothing with %s is stored as nothing, also where somebody has looked',
  async (_, length, pieces) => {
    const { receiver, bodies } = given()
    const { port } = await listen((incoming, outgoing) => {
      if (bodies().length === 0) return receiver.listener(incoming, outgoing)
      incoming.resume().on('end', () => receiver.listener(incoming, outgoing))
    })
    const head = `POST /averba HTTP/1.1\r\nhost: a\r\nevent-type: e\r\nsecret: certa\r\nconnection: close\r\n${length}\r\n`
    for (const times of [1, 2]) {
      const socket = createConnection(port, '127.0.0.1')
      socket.write(`${head}${pieces}`)
      let answer = ''
      for await (const chunk of socket) answer += chunk
      expect(answer).toMatch(/^HTTP\/1\.1 200 /)
      expect(bodies()).toEqual(Array.from({ length: times }, () => Buffer.alloc(0)))
    }
  },
)

/** What an adapter makes of a request: some forget the body, some hand on another. */
const rebuilt = (more: Record<string, string>, content?: BodyInit) =>
  new Request('https://localhost/averba', {
    method: 'POST',
    headers: { ...headers, ...more },
    ...(content !== undefined && { body: content }),
  })

test.each<[string, Request, string]>([
  ['no body', rebuilt({ 'content-length': '18' }), '0 of 18'],
  ['no body and no length', rebuilt({}), '0 of an unknown number of'],
  ['no body of several chunks', rebuilt({ 'transfer-encoding': 'chunked' }, ''), '0 of an unknown number of'],
  ['no body that was packed', rebuilt({ 'content-length': '18', 'content-encoding': 'gzip' }), '0 of 18'],
  ['half a body', rebuilt({ 'content-length': '18' }, '{"num'), '5 of 18'],
  [
    'a body written anew',
    rebuilt({ 'content-length': '18' }, JSON.stringify({ numero: '26BR1 á' })),
    '21 of 18',
  ],
])('an adapter that hands on %s is answered 500, and nothing is stored', async (_, request, bytes) => {
  const { receiver, bodies, told, missed } = given()
  const answer = await receiver.fetch(request, { remoteAddress: '127.0.0.1' })
  const message = `Cannot read the notification: ${bytes} bytes of its body were handed on`
  expect([answer.status, await answer.text()]).toEqual([500, expect.stringContaining(message)])
  expect(bodies()).toEqual([])
  expect([told, missed]).toEqual([[`e BODY_CONSUMED: ${message}`], ['unstored']])
})

test.each<[string, Request, string]>([
  ['a body of nothing that says so', rebuilt({ 'content-length': '0' }), ''],
  ['a body without its length', rebuilt({}, '{}'), '{}'],
  ['a body whose length was said twice', rebuilt({ 'content-length': '2, 2' }, '{}'), '{}'],
  ['a body of several chunks', rebuilt({ 'transfer-encoding': 'chunked' }, '{}'), '{}'],
  ['a body that it unpacked', rebuilt({ 'content-length': '22', 'content-encoding': 'gzip' }, '{}'), '{}'],
])('an adapter may hand on %s', async (_, request, kept) => {
  const { receiver, bodies, told } = given()
  expect((await receiver.fetch(request, { remoteAddress: '127.0.0.1' })).status).toBe(200)
  expect([bodies().map(String), told]).toEqual([[kept], []])
})

test('a web request whose body somebody reads while the secrets are asked for is not stored', async () => {
  const request = rebuilt({}, '{"numero":"26BR1"}')
  const { receiver, bodies, told, missed } = given(async () => {
    request.body?.getReader()
    return [{ chaveSecreta: 'certa' }]
  })
  expect((await receiver.fetch(request, { remoteAddress: '127.0.0.1' })).status).toBe(500)
  expect([bodies(), told, missed]).toEqual([[], [`e BODY_CONSUMED: ${consumed}`], ['unstored']])
})
