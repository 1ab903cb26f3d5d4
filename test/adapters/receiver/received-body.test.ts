import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import { createConnection } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import express from 'express'
import { expect, test } from 'vitest'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { givenReceiver } from './given-receiver.ts'

const body = Buffer.from('{"numero": "26BR1", "situacao": "não ✓"}')
const headers = { 'event-type': 'e', secret: 'certa', 'content-type': 'application/json' }

async function listen(handle: (incoming: IncomingMessage, outgoing: never) => void) {
  const server = createServer(handle as Parameters<typeof createServer>[1])
  return { server, port: await listenUntilEnd(server) }
}

/** Posts a body in two chunks to Express. The second leaves when the host has the first, cut within a character. */
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
  return { status: answer.statusCode, text: await text(answer) }
}

const seenBy = ({ bodies, reported, missed }: ReturnType<typeof givenReceiver>) => [bodies(), reported, missed]
const consumed = 'Cannot read the notification: its body was consumed before'

/** What a middleware does before it calls the next one: synchronously, or until its promise resolves. */
type Before = (incoming: express.Request, outgoing: express.Response) => unknown

const behind = (before: Before, { receiver }: ReturnType<typeof givenReceiver>) =>
  express()
    .use((incoming, outgoing, next) => {
      const waiting = before(incoming, outgoing)
      if (waiting instanceof Promise) waiting.then(() => next())
      else next()
    })
    .post('/averba', receiver.listener)

test.each<[string, Before]>([
  ['logs it', incoming => incoming.on('data', () => undefined)],
  ['discards it', incoming => incoming.resume()],
  ['pipes it into a digest', incoming => incoming.pipe(new PassThrough()).resume()],
  ['parses it and does not wait', (...both) => express.json()(...both, () => undefined)],
  ['decodes it', incoming => incoming.setEncoding('utf8')],
  ['pauses it', incoming => setImmediate(incoming.pause())],
  ['waits for something else', () => setImmediate()],
])('a body in two chunks is stored byte for byte behind a middleware that %s', async (_, before) => {
  const host = givenReceiver()
  expect(await postTo(behind(before, host), body)).toEqual({ status: 200, text: '' })
  expect(seenBy(host)).toEqual([[body], [], []])
})

const latin = Buffer.from('{"situacao": "não"}', 'latin1')

test.each<[string, Buffer, Before]>([
  ['has read the first chunk', body, incoming => once(incoming, 'data')],
  ['turns it into other characters', body, incoming => incoming.setEncoding('ascii')],
  ['decodes invalid UTF-8', latin, incoming => incoming.setEncoding('utf8')],
])('a body behind a middleware that %s is answered 500, not stored, and reported as lost', async (...row) => {
  const [, content, before] = row
  const host = givenReceiver()
  const refused = { status: 500, text: `${consumed}. Put the receiver before any body parser\n` }
  expect(await postTo(behind(before, host), content)).toEqual(refused)
  expect(seenBy(host)).toEqual([[], [`e BODY_CONSUMED: ${consumed}`], ['unstored']])
})

test('a body that is consumed while the secrets are read is not stored, not even in part', async () => {
  let reading: IncomingMessage | undefined
  const secretsOf = async () => {
    reading?.resume()
    if (reading) await once(reading, 'end')
    return [{ chaveSecreta: 'certa' }]
  }
  const host = givenReceiver({ secretsOf })
  const app = behind(incoming => {
    reading = incoming
  }, host)
  expect((await postTo(app, body)).status).toBe(500)
  expect(seenBy(host)).toEqual([[], [`e BODY_CONSUMED: ${consumed}`], ['unstored']])
})

test('a consumed body from another address is reported, but not as lost', async () => {
  const { receiver, reported, missed } = givenReceiver()
  const request = new Request('https://localhost/averba', { method: 'POST', headers, body })
  await request.text()
  const asking = receiver.fetch(request, { remoteAddress: '203.0.113.7' })
  await expect(asking).rejects.toMatchObject({ code: 'BODY_CONSUMED' })
  expect([reported, missed]).toEqual([[`e BODY_CONSUMED: ${consumed}`], []])
})

test.each([
  ['no content-length', '', ''],
  ['a content-length of 0', 'content-length: 0\r\n', ''],
  ['no chunks', 'transfer-encoding: chunked\r\n', '0\r\n\r\n'],
])('an empty body with %s is stored as empty, also after another reader', async (_, length, pieces) => {
  const { receiver, bodies } = givenReceiver()
  const { port } = await listen((incoming, outgoing) => {
    if (bodies().length === 0) return receiver.listener(incoming, outgoing)
    incoming.resume().on('end', () => receiver.listener(incoming, outgoing))
  })
  const head = `POST /averba HTTP/1.1\r\nhost: a\r\nevent-type: e\r\nsecret: certa\r\nconnection: close\r\n${length}\r\n`
  for (const times of [1, 2]) {
    const socket = createConnection(port, '127.0.0.1')
    socket.write(`${head}${pieces}`)
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /)
    expect(bodies()).toEqual(Array(times).fill(Buffer.alloc(0)))
  }
})

/** A request as host adapters rebuild it: some lose the body, some pass on another. */
const rebuilt = (more: Record<string, string>, content: BodyInit | null = null) =>
  new Request('https://localhost/averba', { method: 'POST', headers: { ...headers, ...more }, body: content })

test.each<[string, Request, string]>([
  ['no body', rebuilt({ 'content-length': '18' }), '0 of 18'],
  ['no body and no length', rebuilt({}), '0 of an unknown number of'],
  ['no chunks of a chunked body', rebuilt({ 'transfer-encoding': 'chunked' }, ''), '0 of an unknown number of'],
  ['no body of a compressed request', rebuilt({ 'content-length': '18', 'content-encoding': 'gzip' }), '0 of 18'],
  ['half a body', rebuilt({ 'content-length': '18' }, '{"num'), '5 of 18'],
  ['a rewritten body', rebuilt({ 'content-length': '18' }, JSON.stringify({ numero: '26BR1 á' })), '21 of 18'],
])('an adapter that passes on %s is answered 500, and nothing is stored', async (_, request, bytes) => {
  const host = givenReceiver()
  const answer = await host.receiver.fetch(request, { remoteAddress: '127.0.0.1' })
  const message = `Cannot read the notification: ${bytes} bytes of its body arrived`
  expect([answer.status, await answer.text()]).toEqual([500, expect.stringContaining(message)])
  expect(seenBy(host)).toEqual([[], [`e BODY_CONSUMED: ${message}`], ['unstored']])
})

test.each<[string, Request, string]>([
  ['an empty body with a content-length of 0', rebuilt({ 'content-length': '0' }), ''],
  ['a body without its length', rebuilt({}, '{}'), '{}'],
  ['a body with two equal lengths', rebuilt({ 'content-length': '2, 2' }, '{}'), '{}'],
  ['a chunked body', rebuilt({ 'transfer-encoding': 'chunked' }, '{}'), '{}'],
  ['a decompressed body', rebuilt({ 'content-length': '22', 'content-encoding': 'gzip' }, '{}'), '{}'],
])('an adapter may pass on %s', async (_, request, kept) => {
  const { receiver, bodies, reported } = givenReceiver()
  expect((await receiver.fetch(request, { remoteAddress: '127.0.0.1' })).status).toBe(200)
  expect([bodies().map(String), reported]).toEqual([[kept], []])
})

test('a web request whose body is consumed while the secrets are read is not stored', async () => {
  const request = rebuilt({}, '{"numero":"26BR1"}')
  const secretsOf = async () => {
    request.body?.getReader()
    return [{ chaveSecreta: 'certa' }]
  }
  const host = givenReceiver({ secretsOf })
  expect((await host.receiver.fetch(request, { remoteAddress: '127.0.0.1' })).status).toBe(500)
  expect(seenBy(host)).toEqual([[], [`e BODY_CONSUMED: ${consumed}`], ['unstored']])
})
