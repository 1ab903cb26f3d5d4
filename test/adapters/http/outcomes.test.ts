import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Server as NetServer, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sendRequest } from '../../../src/adapters/http/exchange.ts'
import type { SocketOptions } from '../../../src/adapters/http/transport.ts'
import { hostToken } from '../../../src/api/validations/tokens.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { type Authority, createAuthority, type IssuedCertificate } from '../../../src/simulation/served/authority.ts'
import { type Server, serveHttps } from '../../../src/simulation/served/serve.ts'
import { type Kind, kinds, openThreeCalls } from '../three-calls.ts'

/** What the clients conclude from everything that can happen to a call, by the phase in which it happens. */

type Expected = Record<Kind, string>
const all = (status: string): Expected => ({ read: status, change: status, paid: status })
const deferred = all('deferred')
const declined = all('declined')
const unknownUnlessRead: Expected = { read: 'deferred', change: 'unknown', paid: 'unknown' }
/** How often a request is sent: only reads are retried. */
const sentOnce: Record<Kind, number> = { read: 3, change: 1, paid: 1 }

const now = systemClock.now()
let authority: Authority
let stranger: Authority
let own: IssuedCertificate
let server: Server
/** How the server answers, and how many requests it received. */
let answer: (request: Request) => Response | Promise<Response>
let received = 0
const others: { port: number; close(): Promise<void> }[] = []

beforeAll(async () => {
  authority = await createAuthority(now)
  stranger = await createAuthority(now, 'a stranger')
  own = await authority.issueServer(['localhost'])
  server = await serveHttps(request => {
    received += 1
    return answer(request)
  }, own)
})

afterAll(async () => {
  await server.close()
  await Promise.all(others.map(each => each.close()))
})

/** Performs a call of a kind at an address. */
async function call(kind: Kind, baseUrl: string, options: Omit<SocketOptions, 'clock'> = {}) {
  received = 0
  let asked = 0
  const newToken = () => {
    asked += 1
    return `token-${asked}`
  }
  const target = { consentUrl: baseUrl, validationUrl: baseUrl, service: 'demo', consent: 'a' }
  const { calls, close } = openThreeCalls({ ...target, tokens: hostToken(newToken) }, { ca: authority.ca, ...options })
  try {
    return await calls[kind]()
  } finally {
    await close()
  }
}

async function listen(other: NetServer & { closeAllConnections(): void }): Promise<string> {
  await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo // It listens on a port, not on a pipe.
  others.push({
    port,
    close: () =>
      new Promise(resolve => {
        other.close(() => resolve())
        other.closeAllConnections()
      }),
  })
  return `https://localhost:${port}`
}

const localhost = (port: number) => `https://localhost:${port}`

/** A server with a given certificate that would answer. */
async function openServer(issued: IssuedCertificate): Promise<string> {
  const other = await serveHttps(request => answer(request), issued)
  others.push(other)
  return localhost(other.port)
}

/** A server that refuses clients without a certificate. */
function openDemandingServer(version: 'TLSv1.2' | 'TLSv1.3'): Promise<string> {
  const limits = { minVersion: version, maxVersion: version }
  const asking = { ca: authority.ca, requestCert: true, rejectUnauthorized: true }
  return listen(createHttpsServer({ ...own, ...asking, ...limits }, (_, response) => response.end()))
}

describe('resolve, connect, TLS: nothing was sent, and the reason says why', () => {
  test.each<[string, string, () => Promise<string>]>([
    ['resolve', "the service's host name was not found", async () => 'https://nao-existe.invalid'],
    ['connect: a port without a listener', 'the connection was refused', async () => localhost(1)],
    ['TLS: a port that does not speak it', 'ERR_SSL_', () => listen(createHttpServer((_, response) => response.end()))],
    [
      'TLS: an expired certificate',
      "the service's certificate has expired",
      async () => openServer(await authority.issueExpiredServer(['localhost'])),
    ],
    [
      'TLS: a certificate of an unknown authority',
      "the service's certificate is not trusted",
      async () => openServer(await stranger.issueServer(['localhost'])),
    ],
    [
      'TLS: a certificate for another name',
      "the service's certificate is for another name",
      async () => openServer(await authority.issueServer(['outro.exemplo.br'])),
    ],
    ['TLS 1.2: our certificate is missing', 'HANDSHAKE_FAILURE', () => openDemandingServer('TLSv1.2')],
    ['TLS 1.3: our certificate is missing', 'CERTIFICATE_REQUIRED', () => openDemandingServer('TLSv1.3')],
  ])('%s', async (_, words, open) => {
    const baseUrl = await open()
    for (const kind of kinds) {
      const outcome = await call(kind, baseUrl)
      expect(outcome, kind).toMatchObject({ status: 'deferred', reason: expect.stringContaining(words) })
    }
  })
})

describe('sent: the call may have been done', () => {
  const broken = () => {
    throw new Error('The connection breaks')
  }
  test.each<[string, string, () => Response | Promise<Response>, Omit<SocketOptions, 'clock'>, number]>([
    ['the connection breaks before an answer', 'UND_ERR_SOCKET', broken, {}, sentOnce.read],
    [
      'no answer within the budget',
      'no answer in time',
      () => new Promise(() => undefined),
      { budgetMs: 150 },
      sentOnce.read,
    ],
    [
      'an answer that is too large',
      'larger than allowed',
      () => new Response('x'.repeat(101)),
      { bodyBytesMax: 100 },
      1, // The next answer is no smaller.
    ],
  ])('%s', async (_, words, act, options, readings) => {
    answer = act
    for (const kind of kinds) {
      const outcome = await call(kind, localhost(server.port), options)
      expect(outcome, kind).toMatchObject({
        status: unknownUnlessRead[kind],
        reason: expect.stringContaining(words),
      })
      expect(received, kind).toBe(kind === 'read' ? readings : sentOnce[kind])
    }
  })
})

test.each(['EHOSTUNREACH', 'ENETUNREACH'])(
  'sent: a network error (%s) after the request arrived leaves the outcome unknown',
  async code => {
    const sockets: Socket[] = []
    const see = (message: unknown) => void sockets.push((message as { socket: Socket }).socket) // From undici.
    subscribe('undici:client:connected', see)
    let requests = 0
    const baseUrl = await listen(
      createHttpsServer(own, request => {
        request.resume().on('end', () => {
          requests += 1
          sockets.at(-1)?.destroy(Object.assign(new Error(code), { code }))
        })
      }),
    )
    for (const kind of kinds) {
      requests = 0
      const reason = expect.stringContaining(code)
      expect(await call(kind, baseUrl), kind).toMatchObject({ status: unknownUnlessRead[kind], reason })
      expect(requests, kind).toBe(sentOnce[kind])
    }
    unsubscribe('undici:client:connected', see)
  },
)

test('sent: a proxy that answers without TLS after the request arrived leaves the outcome unknown', async () => {
  const sockets: Duplex[] = []
  let requests = 0
  const server = createHttpsServer({ ...own, maxVersion: 'TLSv1.2' }, request => {
    request.resume().on('end', () => {
      requests += 1
      sockets.at(-1)?.write('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
    })
  })
  server.on('connection', socket => sockets.push(socket))
  const baseUrl = await listen(server)
  for (const kind of kinds) {
    requests = 0
    const reason = expect.stringContaining('ERR_SSL_WRONG_VERSION_NUMBER')
    expect(await call(kind, baseUrl), kind).toMatchObject({ status: unknownUnlessRead[kind], reason })
    expect(requests, kind).toBe(sentOnce[kind])
  }
})

test('sent: a connection that breaks within the answer leaves the outcome unknown', async () => {
  let requests = 0
  const baseUrl = await listen(
    createHttpsServer(own, (_, response) => {
      requests += 1
      response.writeHead(200, { 'content-length': '100' })
      response.write('[', () => response.destroy())
    }),
  )
  for (const kind of kinds) {
    requests = 0
    expect((await call(kind, baseUrl)).status, kind).toBe(unknownUnlessRead[kind])
    expect(requests, kind).toBe(sentOnce[kind])
  }
})

test.each([
  ['another protocol', '\x16\x03\x01 cpf=25774435016'],
  ['a header with an invalid byte', 'HTTP/1.1 200 OK\r\nx: a\x01b\r\ncontent-length: 2\r\n\r\n[]'],
])('sent: an answer that is not HTTP (%s) leaves the outcome unknown, with a reason', async (_, bytes) => {
  const baseUrl = await listen(createHttpsServer(own, ({ socket }) => socket.end(bytes)))
  for (const kind of kinds) {
    const outcome = await call(kind, baseUrl)
    const reason = expect.stringMatching(/^the answer is not HTTP \(\w+\)$/)
    expect(outcome, kind).toMatchObject({ status: unknownUnlessRead[kind], reason })
  }
})

describe('answered', () => {
  const consent = {
    ...{ id: 'a', status: 'ATIVO', dataHora: '2026-11-20T12:00:00Z', dataExpiracao: '2027-11-20T12:00:00Z' },
    ...{ cnpjUsuario: null, href: 'https://consentimento.exemplo.br/a' },
  }
  /** The answer of a service that did the operation. */
  const good = ({ method }: Request) => {
    if (method === 'GET') return Response.json([consent])
    return Response.json(method === 'PUT' ? consent : { cpf_disponivel: true })
  }

  test.each<[number, string, Expected, Record<string, string>?]>([
    [200, '', all('settled')],
    [200, ', unreadable', unknownUnlessRead],
    [201, '', unknownUnlessRead],
    [204, '', unknownUnlessRead],
    [301, '', unknownUnlessRead, { location: '/elsewhere' }],
    [302, '', unknownUnlessRead, { location: '/elsewhere' }],
    [400, '', declined],
    // The validation is sent once more with a newer token. A second 401 says that nothing was done either.
    [401, '', { ...declined, paid: 'deferred' }],
    [403, '', declined],
    [404, '', declined],
    [408, '', unknownUnlessRead],
    [409, '', declined],
    [415, '', declined],
    [422, '', declined],
    [429, '', deferred],
    [429, ' with Retry-After', deferred, { 'retry-after': '120' }],
    [500, '', unknownUnlessRead],
    [502, '', unknownUnlessRead],
    [503, '', unknownUnlessRead],
    [503, ' with Retry-After', deferred, { 'retry-after': '120' }],
    [503, ' with an invalid Retry-After', unknownUnlessRead, { 'retry-after': '1.5' }],
    [503, ' with a negative Retry-After', unknownUnlessRead, { 'retry-after': '-5' }],
    [205, '', unknownUnlessRead],
    [504, '', unknownUnlessRead],
  ])('%i%s', async (status, how, expected, headers = {}) => {
    answer = request => {
      if (status === 200) return how === '' ? good(request) : new Response('<html>Manutenção</html>')
      return new Response(status === 204 || status === 205 ? null : '{"title":"Não"}', { status, headers })
    }
    for (const kind of kinds) {
      const outcome = await call(kind, localhost(server.port))
      expect(outcome.status, kind).toBe(expected[kind])
      if (headers['retry-after'] === '120') expect(outcome).toMatchObject({ afterMs: 120_000 })
      // No redirect is followed and no answer is requested again, except with a newer token.
      expect(received, kind).toBe(status === 401 && kind === 'paid' ? 2 : 1)
    }
  })
})

test.each([
  [
    'with its own limits is not retried, since it may take most of a lease',
    { budgetMs: 45_000, bodyBytesMax: 1_000 },
    1,
  ],
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
