import { once } from 'node:events'
import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { tryReach } from '../../src/adapters/http/try-reach.ts'
import { hostToken } from '../../src/api/validations/tokens.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import type { IssuedCertificate } from '../../src/simulation/served/authority.ts'
import { hourMs } from '../../src/vocabulary/instant.ts'
import { type Kind, kinds, openThreeCalls } from '../adapters/three-calls.ts'
import { closeAtEnd } from '../support/close-at-end.ts'
import { freePort } from '../support/free-port.ts'
import { authority, openClient, stranger } from '../support/over-tls.ts'
import { startNginx } from './start-nginx.ts'

/** The clients behind a real nginx that ends the TLS, as `npm run test:nginx` finds it in the path. */

/** Nginx in front of a port, to which it lets through whom the authority knows. */
async function openNginx() {
  const upstream = await freePort()
  const { url } = await startNginx(
    port => `server {
      listen 127.0.0.1:${port} ssl;
      ssl_certificate server.crt; ssl_certificate_key server.key;
      ssl_client_certificate clients.crt; ssl_verify_client on;
      client_max_body_size 16;
      location / { proxy_pass http://127.0.0.1:${upstream}; }
    }`,
  )
  /** Answers for the services behind nginx, as both of them may. */
  const serveUpstream = async () => {
    const served = { count: 0 }
    const server = createServer((request, response) => {
      served.count += 1
      request.resume()
      response.setHeader('content-type', 'application/json').end(request.method === 'GET' ? '[]' : '{}')
    })
    await once(server.listen(upstream, '127.0.0.1'), 'listening')
    onTestFinished(() => void server.close())
    return served
  }
  const outcomes = async (certificate: IssuedCertificate | undefined, clock: Clock = systemClock) => {
    const baseUrl = url.slice(0, -1)
    const target = { consentUrl: baseUrl, validationUrl: baseUrl, service: 'demo', consent: 'a' }
    const options = { clock, ca: authority.ca, ...(certificate && { certificate }) }
    const { calls } = closeAtEnd(openThreeCalls({ ...target, tokens: hostToken('token') }, options))
    const told: Partial<Record<Kind, string>> = {}
    for (const kind of kinds) {
      const { status, reason = '' } = await calls[kind]()
      told[kind] = `${status} ${reason.split(':')[0]}`
    }
    return told
  }
  const reach = (certificate: IssuedCertificate | undefined, clock: Clock = systemClock) =>
    tryReach(url, { service: 'consentService', clock, ca: authority.ca, ...(certificate && { certificate }) })
  return { url, serveUpstream, outcomes, reach }
}

test('the right certificate is let through', async () => {
  const { serveUpstream, outcomes } = await openNginx()
  const served = await serveUpstream()
  expect(await outcomes(await authority.issueClient('gestora'))).toMatchObject({ read: 'settled ' })
  expect(served.count).toBeGreaterThan(0)
})

const deferred = 'deferred CERTIFICATE_REFUSED'
const refused = { read: deferred, change: deferred, paid: 'unknown CERTIFICATE_REFUSED' }

test.each([
  ['none', async () => undefined],
  ['one of a stranger', async () => stranger.issueClient('gestora')],
  ['an expired one', async () => authority.issueExpiredClient('gestora')],
])('a client certificate that nginx refuses ends nothing, and doctor names it: %s', async (_, issue) => {
  const { serveUpstream, outcomes, reach } = await openNginx()
  const served = await serveUpstream()
  const certificate = await issue()
  // Our own check of an expired one must not come first.
  const behind: Clock = { ...systemClock, now: () => systemClock.now() - 2 * hourMs }
  expect(await outcomes(certificate, behind)).toEqual(refused)
  expect(served.count).toBe(0)
  const detail = expect.stringMatching(/^CERTIFICATE_REFUSED: it answered 400 .*SSL certificate/)
  expect(await reach(certificate, behind)).toMatchObject({ isReached: false, detail })
})

test('a body that is too large for nginx is not a refusal of the service', async () => {
  const { serveUpstream, outcomes } = await openNginx()
  await serveUpstream()
  expect((await outcomes(await authority.issueClient('gestora'))).paid).toBe('unknown SERVICE_MISDIRECTED')
})

test('an upstream that is down leaves a change and a paid call in doubt, and doctor says that nginx answers', async () => {
  const { outcomes, reach } = await openNginx()
  const certificate = await authority.issueClient('gestora')
  expect(await outcomes(certificate)).toEqual({
    read: 'deferred the consent service answered 502',
    change: 'unknown the consent service answered 502',
    paid: expect.stringMatching(/^unknown /),
  })
  const detail = expect.stringMatching(/^SERVICE_MISDIRECTED: it answered 502 "502 Bad Gateway/)
  expect(await reach(certificate)).toMatchObject({ isReached: false, detail })
})

test('the certificate of nginx is checked', async () => {
  const { url } = await openNginx()
  const sending = openClient({ ca: stranger.ca }).fetch(new Request(url))
  await expect(sending).rejects.toMatchObject({ name: 'UnsentError' })
})
