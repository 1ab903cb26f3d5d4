import { once } from 'node:events'
import { request } from 'node:https'
import { createConnection } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ReceiverOptions } from '../../../src/adapters/receiver/receiver.ts'
import { type ServeReceiversOptions, serveReceivers } from '../../../src/adapters/receiver/serve-receivers.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { authority, own } from '../../support/over-tls.ts'
import { givenReceiver } from './given-receiver.ts'

/** A receiver of small notifications, without secrets. */
const openToAll = (options: Partial<ReceiverOptions> = {}) =>
  givenReceiver({ secretsOf: async () => [], bodyBytesMax: 1_000, ...options })

/** Two tenants behind one server. */
async function openServer(options: Partial<ServeReceiversOptions> = {}) {
  const [north, south] = [openToAll(), openToAll()]
  const receivers = { '/norte': north.receiver, '/sul': south.receiver }
  const server = await serveReceivers({ receivers, certificate: own, host: '127.0.0.1', port: 0, ...options })
  onTestFinished(server.close)
  return { north: north.stored, south: south.stored, port: server.port, close: server.close }
}

/** Posts as the portal does, and returns the status. */
function post(port: number, path: string, { headers = {}, body = '{}' } = {}): Promise<number | undefined> {
  const target = { host: 'localhost', port, path, method: 'POST', ca: authority.ca }
  return new Promise((resolve, reject) => {
    const sent = request({ ...target, headers: { 'event-type': 'e', ...headers }, agent: false })
    sent.on('response', answer => resolve(answer.resume().statusCode))
    sent.on('error', reject).end(body)
  })
}

async function open(port: number, options: ConnectionOptions & { localAddress?: string } = {}): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', servername: 'localhost', port, ca: authority.ca, ...options })
  await once(socket, 'secureConnect')
  return socket
}

/** The certificate that a client gets who asks for a name. */
async function certificateFor(port: number, servername: string) {
  const socket = await open(port, { servername, checkServerIdentity: () => undefined })
  const certificate = socket.getPeerCertificate()
  socket.destroy()
  return certificate
}

/** All that arrives until the connection ends, in whatever way. */
async function readAll(socket: TLSSocket): Promise<string> {
  let text = ''
  socket
    .on('error', () => undefined)
    .on('data', chunk => {
      text += chunk
    })
  await new Promise(resolve => socket.once('close', resolve))
  return text
}

test('each path has its own receiver, and any other path is a 404', async () => {
  const { north, south, port } = await openServer()
  expect(await post(port, '/norte')).toBe(200)
  expect(await post(port, '/sul?x=1')).toBe(200)
  expect(await post(port, '/sul')).toBe(200)
  expect(await post(port, '/toString')).toBe(404)
  expect([north.length, south.length]).toEqual([1, 2])
})

test('TLS 1.1 is refused, TLS 1.2 and 1.3 are accepted', async () => {
  const { port } = await openServer()
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const
  await expect(open(port, old)).rejects.toMatchObject({ code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' })
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await open(port, { minVersion: version, maxVersion: version })
    expect(socket.getProtocol()).toBe(version)
    socket.destroy()
  }
})

test.each([
  ['a slow head', '', '', 408, { headersTimeoutMs: 100, requestTimeoutMs: 200 }],
  ['a slow body', 'content-length: 2\r\n\r\n', '{', 408, { headersTimeoutMs: 100, requestTimeoutMs: 200 }],
  ['an endless body', 'transfer-encoding: chunked\r\n\r\n', `3e9\r\n${'x'.repeat(1_001)}\r\n`, 413, {}],
])('%s is cut off', async (_, head, body, status, limits) => {
  const { north, port } = await openServer(limits)
  const socket = await open(port)
  socket.write(`POST /norte HTTP/1.1\r\nhost: localhost\r\nevent-type: e\r\n${head}${body}`)
  expect(await readAll(socket)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  expect(north).toEqual([])
})

test('a too large head and a too large body are refused', async () => {
  const { north, port } = await openServer({ headerBytesMax: 2_000 })
  expect(await post(port, '/norte', { headers: { 'x-large': 'x'.repeat(2_000) } })).toBe(431)
  expect(await post(port, '/norte', { body: 'x'.repeat(1_001) })).toBe(413)
  expect(north).toEqual([])
})

test('a connection without a handshake is closed after a timeout', async () => {
  const { port } = await openServer({ handshakeTimeoutMs: 100 })
  const idle = createConnection(port, '127.0.0.1')
  idle.on('error', () => undefined) // The server resets it.
  await new Promise(resolve => idle.once('close', resolve))
})

test('clients get the certificate of the name that they ask for, else the default', async () => {
  const [exact, wild] = ['aduana.exemplo.br', '*.exemplo.br'] as const
  const certificates = { [exact]: await authority.issueServer([exact]), [wild]: await authority.issueServer([wild]) }
  const { port } = await openServer({ certificates })
  const nameOf = async (name: string) => (await certificateFor(port, name)).subjectaltname?.split(', ')[0]
  expect(await nameOf('aduana.exemplo.br')).toBe('DNS:aduana.exemplo.br')
  expect(await nameOf('outra.exemplo.br')).toBe('DNS:*.exemplo.br')
  expect(await nameOf('outro.br')).toBe('DNS:localhost')
  expect(await nameOf('')).toBe('DNS:localhost')
})

test('a renewed certificate is served without a restart, and a failed renewal keeps the old one', async () => {
  const clock = new VirtualClock(toInstant(Date.now()))
  const renewed = await authority.issueServer(['localhost'])
  const certificate = vi.fn(async () => renewed).mockResolvedValueOnce(own)
  certificate.mockRejectedValueOnce(new Error('The vault is locked'))
  const troubles: unknown[] = []
  const { port } = await openServer({ clock, certificate, onTrouble: error => void troubles.push(error) })
  const serialOf = async (name: string) => (await certificateFor(port, name)).serialNumber
  const first = await serialOf('localhost')
  expect(certificate).toHaveBeenCalledTimes(1)
  await clock.advance(60_000)
  expect(await serialOf('localhost')).toBe(first)
  await expect.poll(() => troubles).toMatchObject([{ code: 'MISCONFIGURED' }])
  await clock.advance(60_000)
  await expect.poll(() => serialOf('localhost')).not.toBe(first)
  expect(certificate).toHaveBeenCalledTimes(3)
  // Clients that name no server get it too.
  await expect.poll(() => serialOf('')).not.toBe(first)
})

test('addresses that may not notify cannot take all connections', async () => {
  const { receiver } = openToAll({ sources: ['127.0.0.2/32'] })
  const { port } = await openServer({ receivers: { '/norte': receiver }, connectionsMax: 8 })
  const silent = Array.from({ length: 20 }, () => createConnection({ host: '127.0.0.1', port }))
  onTestFinished(() => {
    for (const each of silent) each.destroy()
  })
  for (const each of silent) each.on('error', () => undefined)
  await expect.poll(() => silent.filter(each => each.destroyed || each.readableEnded).length).toBe(16)
  ;(await open(port, { localAddress: '127.0.0.2' })).destroy()
  // While there is room, such an address gets the reason.
  for (const each of silent) each.destroy()
  await expect.poll(() => post(port, '/norte').catch(() => undefined)).toBe(403)
})

test('a request target that is a full URL is served by its path', async () => {
  const { north, port } = await openServer()
  const socket = await open(port)
  const head = 'host: localhost\r\nevent-type: e\r\ncontent-length: 2\r\nconnection: close'
  socket.write(`POST https://localhost/norte?x=1 HTTP/1.1\r\n${head}\r\n\r\n{}`)
  expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 200 /)
  expect(north).toHaveLength(1)
})

test('closing refuses new connections, and each open one ends after its answer in progress', async () => {
  const stored = Promise.withResolvers<void>()
  const store = vi.fn(() => stored.promise)
  const { receiver } = openToAll({ store })
  const { port, close } = await openServer({ receivers: { '/norte': receiver } })
  const socket = await open(port)
  socket.write('POST /norte HTTP/1.1\r\nhost: localhost\r\nevent-type: e\r\ncontent-length: 2\r\n\r\n{}')
  await expect.poll(() => store).toHaveBeenCalled()
  const closing = close()
  await expect(post(port, '/norte')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  stored.resolve()
  const answer = await readAll(socket)
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  expect(answer).toMatch(/\r\nconnection: close\r\n/i)
  await closing
  expect(store).toHaveBeenCalledTimes(1)
})

test('an invalid path or certificate is refused with its reason, before listening', async () => {
  const { key } = await authority.issueServer(['localhost'])
  const expired = await authority.issueExpiredServer(['localhost'])
  const serve = 'Cannot serve the receivers:'
  for (const [wrong, message] of [
    [{ receivers: {} }, `${serve} no receiver is given`],
    [{ receivers: { norte: openToAll().receiver } }, `${serve} "norte" is not a path`],
    [{ certificate: { ...own, key } }, 'Cannot use the server certificate: its key belongs to another certificate'],
    [{ certificate: { ...own, cert: `${own.cert}\n${own.cert.slice(0, 99)}` } }, 'TLS refuses it or its chain'],
    [{ certificates: { 'a.br': expired } }, 'Cannot use the server certificate: it expired on'],
  ] as const) {
    const refused = { code: 'MISCONFIGURED', message: expect.stringContaining(message) }
    await expect(openServer(wrong)).rejects.toMatchObject(refused)
  }
})
