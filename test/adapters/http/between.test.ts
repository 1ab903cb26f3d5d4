import { createServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { connect } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, test, vi } from 'vitest'
import { proxyFromEnvironment } from '../../../src/adapters/http/outbound-proxy.ts'
import { tryReach } from '../../../src/adapters/http/try-reach.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { authority, openClient, own, serveUntilEnd, stranger } from '../../support/over-tls.ts'

/** What stands between us and a service: interim answers, and a proxy that connections go through. */

const clock = systemClock

describe('an unasked 100 Continue', () => {
  const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'
  const interim = 'HTTP/1.1 100 Continue\r\n\r\n'
  const withHeader = 'HTTP/1.1 100 Continue\r\nx-trace: 1\r\n\r\n'

  /** Answers each request with these pieces, each in its own TLS record. */
  async function ask(pieces: readonly string[], times = 1): Promise<string[]> {
    const server = createTlsServer(own, socket => {
      socket.setNoDelay(true)
      socket.on('data', () => {
        const rest = [...pieces]
        const send = () => {
          const piece = rest.shift()
          if (piece !== undefined) socket.write(piece, () => setImmediate(send))
        }
        send()
      })
    })
    const port = await listenUntilEnd(server)
    const client = openClient({ budgetMs: 5_000 })
    const seen: string[] = []
    for (let n = 0; n < times; n++) {
      const response = await client.fetch(new Request(`https://localhost:${port}/`, { method: 'POST', body: 'x=1' }))
      seen.push(`${response.status} ${await response.text()}`)
    }
    return seen
  }

  test.each([
    ['with the answer', [interim + answer]],
    ['before the answer', [interim, answer]],
    ['twice, once with a header', [interim, withHeader, answer]],
    ['after another interim answer', [`HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${interim}${answer}`]],
    ['byte by byte', [...(interim + answer)]],
    ['cut within its name', ['HTTP/1.1 10', `0 Continue\r\n\r\n${answer}`]],
    ['not at all', [answer]],
    ['not at all, in two pieces', ['HTTP/1.1 2', '00 OK\r\ncontent-length: 2\r\n\r\n{}']],
  ])('loses no answer: it comes %s', async (_, pieces) => {
    expect(await ask(pieces, 2)).toEqual(['200 {}', '200 {}'])
  })

  test('in a body is a part of it', async () => {
    const body = `${interim}x`
    const head = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`
    expect(await ask([head, body])).toEqual([`200 ${body}`])
  })

  test('without an end is no answer', async () => {
    await expect(ask(['HTTP/1.1 100 Continue\r\n', 'x: '.padEnd(20_000, 'y')])).rejects.toThrow()
  })
})

describe('a proxy', () => {
  /** A proxy for `CONNECT`, and what it was asked for. */
  async function givenProxy(status = 200) {
    const seen: { authority: string | undefined; credentials: string | undefined }[] = []
    const server = createServer()
    server.on('connect', ({ url, headers }, socket) => {
      seen.push({ authority: url, credentials: headers['proxy-authorization'] })
      if (status !== 200) return void socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`)
      const [host = '', port = ''] = (url ?? '').split(':')
      const onward = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
        onward.pipe(socket).pipe(onward)
      })
      for (const each of [onward, socket]) each.on('error', () => undefined)
    })
    const port = await listenUntilEnd(server)
    return { seen, port }
  }

  async function givenService() {
    const clients: (string | undefined)[] = []
    const address = await serveUntilEnd(async (_, peer) => {
      clients.push(peer.clientName)
      return Response.json({})
    })
    return { clients, address: `${address}/` }
  }

  test('connections go through it, with our client certificate to the service', async () => {
    const { clients, address } = await givenService()
    const proxy = await givenProxy()
    const certificate = await authority.issueClient('gestora')
    const proxyFor = () => `http://ana:s%40nha@127.0.0.1:${proxy.port}`
    const client = openClient({ certificate, proxyFor })
    for (let n = 0; n < 2; n++) expect((await client.fetch(new Request(address))).status).toBe(200)
    expect(clients).toEqual(['gestora', 'gestora'])
    const credentials = `Basic ${Buffer.from('ana:s@nha').toString('base64')}`
    // The simulated service closes each connection.
    const through = { authority: new URL(address).host, credentials }
    expect(proxy.seen).toEqual([through, through])
  })

  test.each([407, 403, 502])('that answers %i sends nothing on, and is named', async status => {
    const { clients, address } = await givenService()
    const { port } = await givenProxy(status)
    const options = { clock, ca: authority.ca, proxyFor: () => `http://ana:senha@127.0.0.1:${port}` }
    const refused = { name: 'UnsentError', message: `PROXY_REFUSED: the outbound proxy answered ${status}` }
    await expect(openClient(options).fetch(new Request(address))).rejects.toMatchObject(refused)
    expect(clients).toEqual([])
    const detail = expect.stringMatching(/^PROXY_REFUSED: .* or ask who runs it$/)
    const found = await tryReach(address, { ...options, service: 'portal' })
    expect(found).toMatchObject({ isReached: false, detail })
  })

  const noAddress = 'the address of the proxy is not one of http or https'
  test.each([
    ['is down', 'http://127.0.0.1:1', 'the outbound proxy cannot be reached (ECONNREFUSED)'],
    ['has a password that no address can carry', 'http://a:50%off@127.0.0.1:1', noAddress],
    ['has another protocol', 'socks5://127.0.0.1:1', noAddress],
  ])('that %s sends nothing, and is named', async (_, proxy, words) => {
    const { clients, address } = await givenService()
    const refused = { name: 'UnsentError', message: expect.stringContaining(words) }
    const sending = openClient({ proxyFor: () => proxy }).fetch(new Request(address))
    await expect(sending).rejects.toMatchObject(refused)
    expect(clients).toEqual([])
  })

  test('that a stranger answers for over https gets no password, whatever the environment says', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    let asked = 0
    const server = createHttpsServer(own)
    const port = await listenUntilEnd(server.on('connect', (_, socket) => void socket.end(`${asked++}`)))
    const client = openClient({ ca: stranger.ca, proxyFor: () => `https://ana:senha@localhost:${port}` })
    await expect(client.fetch(new Request('https://service.example/'))).rejects.toMatchObject({ name: 'UnsentError' })
    expect(asked).toBe(0)
  })

  test('that says nothing is given up in time', async () => {
    const server = createServer().on('connect', (_, socket) => void socket.resume().on('end', () => socket.end()))
    const port = await listenUntilEnd(server)
    const client = openClient({ budgetMs: 300, proxyFor: () => `http://127.0.0.1:${port}` })
    const message = 'the outbound proxy cannot be reached (UND_ERR_CONNECT_TIMEOUT)'
    await expect(client.fetch(new Request('https://localhost:1/'))).rejects.toMatchObject({ message })
  })

  test('of the environment is used but for the names of NO_PROXY', () => {
    const proxyFor = proxyFromEnvironment({ HTTPS_PROXY: 'http://p:1', no_proxy: 'a.br, .b.br,c.br:8443 *.d.br' })
    const direct = ['a.br', 'x.a.br', 'A.br', 'b.br', 'x.b.br', 'y.d.br']
    expect(direct.filter(host => proxyFor(host, '443') !== undefined)).toEqual([])
    for (const host of ['xa.br', 'c.br', 'e.br']) expect(proxyFor(host, '443'), host).toBe('http://p:1')
    expect(proxyFor('c.br', '8443')).toBeUndefined()
    expect(proxyFromEnvironment({ HTTPS_PROXY: 'http://p:1', NO_PROXY: '*' })('a.br', '443')).toBeUndefined()
    expect(proxyFromEnvironment({})('a.br', '443')).toBeUndefined()
  })
})
