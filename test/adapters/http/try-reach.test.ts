import { createServer as createHttps } from 'node:https'
import { createServer, type Server } from 'node:net'
import { expect, test } from 'vitest'
import type { DeclaredAnswer } from '../../../src/adapters/http/answer-meaning.ts'
import { tryReach } from '../../../src/adapters/http/try-reach.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import type { ServiceName } from '../../../src/vocabulary/names.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { authority, own, stranger } from '../../support/over-tls.ts'

const service = 'consentService'

const listen = async (server: Server) => `https://localhost:${await listenUntilEnd(server)}`

const clock = systemClock
const { ca } = authority
const reach = (address: string, more: object = {}) => tryReach(address, { service, clock, ca, ...more })

test('an answer of the service to GET / counts as reached, and its Date gives the clock difference', async () => {
  const seen: string[] = []
  const server = createHttps(own, (incoming, outgoing) => {
    const { authorization = 'none', 'accept-encoding': encoding } = incoming.headers
    seen.push(`${incoming.method} ${incoming.url} ${authorization} ${encoding}`)
    const date = new Date(clock.now() - 600_000).toUTCString()
    outgoing.writeHead(500, { date, 'content-type': 'application/problem+json' }).end('{}')
  })
  const found = await reach(`${await listen(server)}/token?x=1`)
  expect(found).toMatchObject({ isReached: true, detail: expect.stringMatching(/^it answered within \d+ ms$/) })
  expect(Math.abs((found.skewMs ?? 0) + 600_000)).toBeLessThan(60_000)
  expect(seen).toEqual(['GET / none identity'])
})

const html = '<html><body>111.222.333-44 nginx</body></html>'
const problem = '{"type":"about:blank","title":"Recurso inexistente"}'
const fetchOf = (status: number, body: string) => async () => new Response(body, { status })

test.each([
  ...[301, 400, 401, 403, 413, 500, 502, 503].map(status => [status, html, 'SERVICE_MISDIRECTED'] as const),
  ...[[407, html, 'PROXY_REFUSED'] as const, [495, html, 'CERTIFICATE_REFUSED'] as const],
  ...[200, 404, 405].map(status => [status, html, ''] as const),
  ...[400, 401, 403, 404, 503].map(status => [status, problem, ''] as const),
])('an answer %i counts by its form: %s', async (status, body, code) => {
  const { isReached, detail } = await reach('https://servico.exemplo.br', { fetch: fetchOf(status, body) })
  const [found = ''] = /^[A-Z_]+(?=: it answered \d+ ".*nginx": )/.exec(detail) ?? []
  expect([isReached, found]).toEqual([code === '', code])
  expect(detail).not.toContain('222')
})

test('an object in JSON is the form of some services, and a host declares others', async () => {
  const answered = (service: ServiceName, body: string, answers?: readonly DeclaredAnswer[]) =>
    reach('https://servico.exemplo.br', { service, answers, fetch: fetchOf(403, body) })
  expect(await answered('consentService', '{"erro":1}')).toMatchObject({ isReached: false })
  expect(await answered('tokenService', '{"erro":1}')).toMatchObject({ isReached: true })
  const declared = [{ status: 403, contains: 'nginx', means: 'declined' }] as const
  expect(await answered('tokenService', html, declared)).toMatchObject({ isReached: true })
})

test('an answer without a Date gives no clock difference', async () => {
  const server = createHttps(own, (_, outgoing) => {
    outgoing.sendDate = false
    outgoing.end()
  })
  expect(await reach(await listen(server))).not.toHaveProperty('skewMs')
})

test('each failure to connect is described with advice', async () => {
  const silent = await listen(createServer(socket => socket.resume().on('error', () => undefined)))
  const mute = await listen(createHttps(own, () => undefined))
  const elsewhere = await listen(createHttps(await authority.issueServer(['outro.exemplo.br'])))
  const expired = await listen(createHttps(await authority.issueExpiredServer(['localhost'])))
  const asking = { ...own, ca, requestCert: true, rejectUnauthorized: true }
  const needy = await listen(createHttps(asking, (_, outgoing) => outgoing.end()))
  const certificate = await stranger.issueClient('ninguem')
  // The budget also stops a connection attempt, which an abort signal alone does not.
  const began = clock.now()
  const handshake = await reach(silent, { budgetMs: 300 })
  expect(clock.now() - began).toBeLessThan(8_000)
  // Until the connection is made in time.
  const answer = () => reach(mute, { budgetMs: 300 })
  await expect.poll(answer).toMatchObject({ detail: 'connected, but no answer within 0.3 s: ask the service' })
  const tried = {
    name: await reach('https://nao-existe.invalid'),
    port: await reach('https://localhost:1'),
    ca: await reach(mute, { ca: stranger.ca, budgetMs: 20_000 }),
    elsewhere: await reach(elsewhere),
    expired: await reach(expired),
    handshake,
    client: await reach(needy, { certificate }),
    mismatch: await reach(needy, { certificate: { ...own, key: certificate.key } }),
  }
  const words = Object.fromEntries(Object.entries(tried).map(([name, { detail }]) => [name, detail]))
  expect(Object.values(tried).filter(each => each.isReached)).toEqual([])
  expect(words).toEqual({
    name: expect.stringMatching(/^the service's host name was not found \(\w+\): correct its address/),
    port: expect.stringMatching(/^the connection was refused \(ECONNREFUSED\): nothing listens/),
    ca: expect.stringMatching(/is not trusted: is the option ca missing or wrong\?/),
    elsewhere: expect.stringMatching(/certificate is for another name .*: correct its address$/),
    expired: expect.stringMatching(/^the service's certificate has expired .*check this machine's clock/),
    handshake: expect.stringMatching(/^the connection timed out \(UND_ERR_CONNECT_TIMEOUT\): check for a firewall/),
    client: expect.stringMatching(/check that it accepts our client certificate$/),
    mismatch: expect.stringMatching(/its key belongs to another certificate/),
  })
})
