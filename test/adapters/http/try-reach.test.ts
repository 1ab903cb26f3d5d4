import { createServer as createHttps } from 'node:https'
import { createServer, type Server } from 'node:net'
import { expect, test } from 'vitest'
import type { DeclaredAnswer } from '../../../src/adapters/http/answer-meaning.ts'
import { tryReach } from '../../../src/adapters/http/try-reach.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createAuthority } from '../../../src/simulation/served/authority.ts'
import type { ServiceName } from '../../../src/vocabulary/names.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'

const service = 'consentService'

const listen = async (server: Server) => `https://localhost:${await listenUntilEnd(server)}`

const clock = systemClock
const authority = await createAuthority(clock.now())
const { ca } = authority
const own = await authority.issueServer(['localhost'])

test('an answer of the service to GET / counts as reached, and its Date gives the clock difference', async () => {
  const seen: string[] = []
  const address = await listen(
    createHttps(own, (incoming, outgoing) => {
      seen.push(`${incoming.method} ${incoming.url} ${incoming.headers.authorization ?? 'none'}`)
      const date = new Date(clock.now() - 600_000).toUTCString()
      outgoing.writeHead(500, { date, 'content-type': 'application/problem+json' }).end('{}')
    }),
  )
  const found = await tryReach(`${address}/token?x=1`, { service, clock, ca })
  expect(found).toMatchObject({
    isReached: true,
    detail: expect.stringMatching(/^it answered within \d+ ms$/),
  })
  expect(Math.abs((found.skewMs ?? 0) + 600_000)).toBeLessThan(2_000)
  expect(seen).toEqual(['GET / none'])
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
  const { isReached, detail } = await tryReach('https://servico.exemplo.br', {
    ...{ clock, service, fetch: fetchOf(status, body) },
  })
  expect({ isReached, code: /^[A-Z_]+(?=: it answered \d+ ".*nginx": )/.exec(detail)?.[0] ?? '' }).toEqual({
    ...{ isReached: code === '', code },
  })
  expect(detail).not.toContain('222')
})

test('an object in JSON is the form of some services, and a host declares others', async () => {
  const answered = (service: ServiceName, body: string, answers?: readonly DeclaredAnswer[]) =>
    tryReach('https://servico.exemplo.br', { clock, service, answers, fetch: fetchOf(403, body) })
  expect(await answered('consentService', '{"erro":1}')).toMatchObject({ isReached: false })
  expect(await answered('tokenService', '{"erro":1}')).toMatchObject({ isReached: true })
  const declared = [{ status: 403, contains: 'nginx', means: 'declined' }] as const
  expect(await answered('tokenService', html, declared)).toMatchObject({ isReached: true })
})

test('an answer without a Date gives no clock difference', async () => {
  const address = await listen(
    createHttps(own, (_, outgoing) => {
      outgoing.sendDate = false
      outgoing.end()
    }),
  )
  expect(await tryReach(address, { service, clock, ca })).not.toHaveProperty('skewMs')
})

test('each failure to connect is described with advice', async () => {
  const untrusted = await createAuthority(clock.now(), 'another authority')
  const silent = await listen(createServer(socket => socket.resume().on('error', () => undefined)))
  const mute = await listen(createHttps(own, () => undefined))
  const elsewhere = await listen(createHttps(await authority.issueServer(['outro.exemplo.br'])))
  const expired = await listen(createHttps(await authority.issueExpiredServer(['localhost'])))
  const needy = await listen(
    createHttps({ ...own, ca, requestCert: true, rejectUnauthorized: true }, (_, outgoing) => outgoing.end()),
  )
  const stranger = await untrusted.issueClient('ninguem')
  // The budget also stops a connection attempt, which an abort signal alone does not.
  const began = clock.now()
  const handshake = await tryReach(silent, { service, clock, ca, budgetMs: 300 })
  expect(clock.now() - began).toBeLessThan(8_000)
  const tried = {
    name: await tryReach('https://nao-existe.invalid', { service, clock }),
    port: await tryReach('https://localhost:1', { service, clock }),
    ca: await tryReach(mute, { service, clock, ca: untrusted.ca, budgetMs: 2_000 }),
    elsewhere: await tryReach(elsewhere, { service, clock, ca }),
    expired: await tryReach(expired, { service, clock, ca }),
    handshake,
    answer: await tryReach(mute, { service, clock, ca, budgetMs: 300 }),
    client: await tryReach(needy, { service, clock, ca, certificate: stranger }),
    mismatch: await tryReach(needy, { service, clock, ca, certificate: { ...own, key: stranger.key } }),
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
    answer: expect.stringMatching(/^connected, but no answer within 0\.3 s: ask the service$/),
    client: expect.stringMatching(/check that it accepts our client certificate$/),
    mismatch: expect.stringMatching(/its key belongs to another certificate/),
  })
})
