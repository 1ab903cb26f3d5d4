import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { createServer as createHttpsServer, type Server, type ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { sendRequest } from '../../../src/adapters/http/exchange.ts'
import type { SocketOptions } from '../../../src/adapters/http/transport.ts'
import { hostToken } from '../../../src/api/validations/tokens.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import type { IssuedCertificate } from '../../../src/simulation/served/authority.ts'
import { serveHttps } from '../../../src/simulation/served/serve.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { authority, own, serveUntilEnd, stranger } from '../../support/over-tls.ts'
import { all, type Expected, inDoubt, type Kind, kinds, openThreeCalls } from '../three-calls.ts'

/** What the clients conclude from everything that can happen to a call, by the phase in which it happens. */

const deferred = all('deferred')
const declined = all('declined')
/** How often a request is sent: only reads are retried. */
const sentOnce: Record<Kind, number> = { read: 3, change: 1, paid: 1 }

/** How the server answers, and how many requests it received. */
let answer: (request: Request) => Response | Promise<Response>
let received = 0
const server = await serveHttps(request => {
  received += 1
  return answer(request)
}, own)
afterAll(() => server.close())

async function call(kind: Kind, baseUrl: string, options: Omit<SocketOptions, 'clock'> = {}) {
  received = 0
  let asked = 0
  const newToken = () => `token-${++asked}`
  const target = { consentUrl: baseUrl, validationUrl: baseUrl, service: 'demo', consent: 'a' }
  const { calls, close } = openThreeCalls({ ...target, tokens: hostToken(newToken) }, { ca: authority.ca, ...options })
  return calls[kind]().finally(close)
}

const localhost = (port: number) => `https://localhost:${port}`
const listen = async (other: Parameters<typeof listenUntilEnd>[0]) => localhost(await listenUntilEnd(other))

/** A server with a given certificate that would answer. */
const openServer = (issued: IssuedCertificate) => serveUntilEnd(request => answer(request), issued)

/** A server that refuses clients without a certificate. */
function openDemandingServer(version: 'TLSv1.2' | 'TLSv1.3'): Promise<string> {
  const limits = { minVersion: version, maxVersion: version }
  const asking = { ca: authority.ca, requestCert: true, rejectUnauthorized: true }
  return listen(createHttpsServer({ ...own, ...asking, ...limits }, (_, response) => response.end()))
}

const expired = async () => openServer(await authority.issueExpiredServer(['localhost']))
const unknown = async () => openServer(await stranger.issueServer(['localhost']))
const misnamed = async () => openServer(await authority.issueServer(['outro.exemplo.br']))
test.each<[string, string, () => Promise<string>]>([
  ['resolve', "the service's host name was not found", async () => 'https://nao-existe.invalid'],
  ['connect: a port without a listener', 'the connection was refused', async () => localhost(1)],
  ['TLS: a port that does not speak it', 'ERR_SSL_', () => listen(createHttpServer((_, response) => response.end()))],
  ['TLS: an expired certificate', "the service's certificate has expired", expired],
  ['TLS: a certificate of an unknown authority', "the service's certificate is not trusted", unknown],
  ['TLS: a certificate for another name', "the service's certificate is for another name", misnamed],
  ['TLS 1.2: our certificate is missing', 'HANDSHAKE_FAILURE', () => openDemandingServer('TLSv1.2')],
  ['TLS 1.3: our certificate is missing', 'CERTIFICATE_REQUIRED', () => openDemandingServer('TLSv1.3')],
])('%s: nothing was sent, and the reason says why', async (_, words, open) => {
  const baseUrl = await open()
  for (const kind of kinds) {
    const outcome = await call(kind, baseUrl)
    expect(outcome, kind).toMatchObject({ status: 'deferred', reason: expect.stringContaining(words) })
  }
})

const breaks = () => Promise.reject(new Error('The connection breaks'))
const limited = { bodyBytesMax: 100 }
const large = () => new Response('x'.repeat(101))

test.each<[string, string, typeof answer, Omit<SocketOptions, 'clock'>, number]>([
  ['whose connection breaks before an answer', 'the connection broke (UND_ERR_SOCKET)', breaks, {}, sentOnce.read],
  ['without an answer in time', 'no answer in time', () => new Promise(() => {}), { budgetMs: 500 }, sentOnce.read],
  // The next answer is no smaller.
  ['whose answer is too large', 'ANSWER_TOO_LARGE: the answer is larger than 100 bytes', large, limited, 1],
])('a call %s may have been done', async (_, words, act, options, readings) => {
  answer = act
  for (const kind of kinds) {
    const reason = expect.stringContaining(words)
    const outcome = await call(kind, localhost(server.port), options)
    expect(outcome, kind).toMatchObject({ status: inDoubt[kind], reason })
    expect(received, kind).toBe(kind === 'read' ? readings : sentOnce[kind])
  }
})

/** Breaks our own end of the newest connection with an error of the network, when a request has arrived. */
function breakNewest(code: string): (request: IncomingMessage) => void {
  const sockets: Socket[] = []
  const see = (message: unknown) => void sockets.push((message as { socket: Socket }).socket) // From undici.
  subscribe('undici:client:connected', see)
  onTestFinished(() => void unsubscribe('undici:client:connected', see))
  return request => request.resume().on('end', () => sockets.at(-1)?.destroy(Object.assign(new Error(code), { code })))
}

/** Answers without TLS on the connections of a server, when a request has arrived. */
function answerInClear(server: Server): void {
  const sockets: Duplex[] = []
  server.on('connection', socket => sockets.push(socket))
  const text = 'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n'
  server.on('request', request => request.resume().on('end', () => sockets.at(-1)?.write(text)))
}

/** Breaks the connection within the answer. */
function breakAnswer(server: Server): void {
  server.on('request', (_, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('[', () => response.destroy())
  })
}

const invalidHeader = 'HTTP/1.1 200 OK\r\nx: a\x01b\r\ncontent-length: 2\r\n\r\n[]'
const answerWith = (bytes: string) => (server: Server) => server.on('request', ({ socket }) => socket.end(bytes))

test.each<[string, string | RegExp, (server: Server) => void, ServerOptions?]>([
  ['EHOSTUNREACH', 'EHOSTUNREACH', server => server.on('request', breakNewest('EHOSTUNREACH'))],
  ['ENETUNREACH', 'ENETUNREACH', server => server.on('request', breakNewest('ENETUNREACH'))],
  ['a proxy answers without TLS', 'ERR_SSL_WRONG_VERSION_NUMBER', answerInClear, { maxVersion: 'TLSv1.2' }],
  ['the connection breaks within the answer', '', breakAnswer],
  ['another protocol', /^the answer is not HTTP \(\w+\)$/, answerWith('\x16\x03\x01 cpf=25774435016')],
  ['a header with an invalid byte', /^the answer is not HTTP \(\w+\)$/, answerWith(invalidHeader)],
])('sent: %s after the request arrived leaves the outcome unknown, with a reason', async (_, words, fail, options) => {
  let requests = 0
  const other = createHttpsServer({ ...own, ...options }).on('request', () => void requests++)
  fail(other)
  const baseUrl = await listen(other)
  for (const kind of kinds) {
    requests = 0
    const reason = expect.stringMatching(words)
    expect(await call(kind, baseUrl), kind).toMatchObject({ status: inDoubt[kind], reason })
    expect(requests, kind).toBe(sentOnce[kind])
  }
})

const consent = {
  ...{ id: 'a', status: 'ATIVO', dataHora: '2026-11-20T12:00:00Z', dataExpiracao: '2027-11-20T12:00:00Z' },
  ...{ cnpjUsuario: null, href: 'https://consentimento.exemplo.br/a' },
}
/** The answer of a service that did the operation. */
const good = ({ method }: Request) => {
  if (method === 'GET') return Response.json([consent])
  return Response.json(method === 'PUT' ? consent : { cpf_disponivel: true })
}

type Row = [status: number, how: string, expected: Expected, headers?: Record<string, string>]
const rows = (expected: Expected, ...statuses: number[]) => statuses.map((status): Row => [status, '', expected])

test.each<Row>([
  [200, '', all('settled')],
  [200, ', unreadable', inDoubt],
  ...rows(inDoubt, 201, 204, 205, 408, 500, 502, 503, 504),
  ...[301, 302, 307].map((status): Row => [status, '', inDoubt, { location: '/elsewhere' }]),
  ...rows(declined, 400, 403, 404, 409, 415, 422),
  // The validation is sent once more with a newer token. A second 401 says that nothing was done either.
  [401, '', { ...declined, paid: 'deferred' }],
  ...rows(deferred, 429),
  [429, ' with Retry-After', deferred, { 'retry-after': '120' }],
  [503, ' with Retry-After', deferred, { 'retry-after': '120' }],
  [503, ' with an invalid Retry-After', inDoubt, { 'retry-after': '1.5' }],
  [503, ' with a negative Retry-After', inDoubt, { 'retry-after': '-5' }],
])('an answer of %i%s ends each call as the contracts say', async (status, how, expected, headers = {}) => {
  answer = request => {
    if (how === ', unreadable') return new Response('<html>Manutenção</html>')
    if (status === 200 || status === 201) return new Response(good(request).body, { status })
    return new Response(status === 204 || status === 205 ? null : '{"title":"Não","status":0}', { status, headers })
  }
  for (const kind of kinds) {
    const outcome = await call(kind, localhost(server.port))
    expect(outcome.status, kind).toBe(expected[kind])
    if (outcome.status === 'unknown' && status >= 300) expect(outcome.reason).toContain(`answered ${status}`)
    if (headers['retry-after'] === '120') expect(outcome).toMatchObject({ afterMs: 120_000 })
    // No redirect is followed and no answer is requested again, except with a newer token.
    expect(received, kind).toBe(status === 401 && kind === 'paid' ? 2 : 1)
  }
})

test.each([
  ['with its own limits is not retried: it may take most of a lease', { budgetMs: 45_000, bodyBytesMax: 1_000 }, 1],
  ['with the usual limits is retried at once', undefined, 3],
])('a read that times out %s', async (_, limits, times) => {
  let sent = 0
  const fetch = async () => {
    sent += 1
    throw new DOMException('The budget is over', 'TimeoutError')
  }
  const write = () => new Request('https://localhost/')
  const ended = await sendRequest({ fetch, clock: systemClock, ...(limits && { limits }) }, 'read', write)
  expect(ended).toMatchObject({ status: 'lost', reason: 'no answer in time' })
  expect(sent).toBe(times)
})

test.each([
  ['application/problem+json; charset=ISO-8859-1', 'latin1'],
  ['text/html;charset="windows-1252"', 'latin1'],
  ['application/json', 'utf8'],
  // Labelled wrongly, and packed although that was not asked for.
  ...['utf-8', 'nenhum', 'ISO-8859-1', 'utf-16'].map(name => [`application/json; charset=${name}`, 'utf8'] as const),
  ['application/json', 'gzip'],
] as const)('an answer of the type %s is decoded correctly (%s)', async (type, encoding) => {
  const text = 'Situação inválida'
  const body = encoding === 'gzip' ? gzipSync(text) : Buffer.from(text, encoding)
  const fetch = async () => new Response(body, { status: 422, headers: { 'content-type': type } })
  const answered = await sendRequest({ fetch, clock: systemClock }, 'read', () => new Request('https://localhost/'))
  expect(answered).toMatchObject({ answer: { text } })
})
