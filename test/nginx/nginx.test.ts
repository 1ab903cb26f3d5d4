import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { tryReach } from '../../src/adapters/http/try-reach.ts'
import { hostToken } from '../../src/api/validations/tokens.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import type { IssuedCertificate } from '../../src/simulation/served/authority.ts'
import { hourMs } from '../../src/vocabulary/instant.ts'
import { type Kind, kinds, openThreeCalls } from '../adapters/three-calls.ts'
import { freePort } from '../support/free-port.ts'
import { authority, openClient, own, stranger } from '../support/over-tls.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const service = 'consentService' as const

/** The clients behind a real nginx that ends the TLS, as `npm run test:nginx` finds it in the path. */

const clock = systemClock
let port: number
let upstream: number
let running: ChildProcess

beforeEach(async () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'logs'))
  const files = { 'server.crt': own.cert, 'server.key': own.key, 'clients.crt': authority.ca }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  port = await freePort()
  upstream = await freePort()
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const paths = kinds.map(kind => `${kind}_temp_path ${join(folder, kind)};`)
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${join(folder, 'pid')}; error_log ${join(folder, 'logs/error.log')} notice;
    events {}
    http {
      access_log off; ${paths.join(' ')}
      server {
        listen 127.0.0.1:${port} ssl;
        ssl_certificate ${join(folder, 'server.crt')}; ssl_certificate_key ${join(folder, 'server.key')};
        ssl_client_certificate ${join(folder, 'clients.crt')}; ssl_verify_client on;
        client_max_body_size 16;
        location / { proxy_pass http://127.0.0.1:${upstream}; }
      }
    }`,
  )
  running = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: ['ignore', 'ignore', 'inherit'] })
  const failed = once(running, 'exit').then(() => Promise.reject(new Error('nginx does not start')))
  failed.catch(() => undefined)
  await Promise.race([failed, untilOpen()])
})

/** Nginx says nothing once it listens: asks until it does. */
async function untilOpen(): Promise<void> {
  for (;;) {
    const found = await tryReach(`https://localhost:${port}/`, { service, clock, ca: authority.ca })
    if (!found.detail.includes('ECONNREFUSED')) return
  }
}

afterEach(async () => {
  running.kill('SIGQUIT')
  if (running.exitCode === null) await once(running, 'exit')
})

/** Answers for the services behind nginx, as both of them may. */
async function serveUpstream(): Promise<{ count: number }> {
  const served = { count: 0 }
  const server = createServer((request, response) => {
    served.count += 1
    request.resume()
    response.setHeader('content-type', 'application/json').end(request.method === 'GET' ? '[]' : '{}')
  })
  await new Promise<void>(resolve => server.listen(upstream, '127.0.0.1', resolve))
  closing.push(() => server.close())
  return served
}

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function outcomes(certificate: IssuedCertificate | undefined, clock: Clock = systemClock) {
  const baseUrl = `https://localhost:${port}`
  const target = { consentUrl: baseUrl, validationUrl: baseUrl, service: 'demo', consent: 'a' }
  const options = { clock, ca: authority.ca, ...(certificate && { certificate }) }
  const { calls, close } = openThreeCalls({ ...target, tokens: hostToken('token') }, options)
  closing.push(() => void close())
  const told: Partial<Record<Kind, string>> = {}
  for (const kind of kinds) {
    const { status, reason = '' } = await calls[kind]()
    told[kind] = `${status} ${reason.split(':')[0]}`
  }
  return told
}

test('the right certificate is let through', async () => {
  const served = await serveUpstream()
  const told = await outcomes(await authority.issueClient('gestora'))
  expect(told).toMatchObject({ read: 'settled ' })
  expect(served.count).toBeGreaterThan(0)
})

const deferred = 'deferred CERTIFICATE_REFUSED'
const refused = { read: deferred, change: deferred, paid: 'unknown CERTIFICATE_REFUSED' }

test.each([
  ['none', async () => undefined],
  ['one of a stranger', async () => stranger.issueClient('gestora')],
  ['an expired one', async () => authority.issueExpiredClient('gestora')],
])('a client certificate that nginx refuses ends nothing, and doctor names it: %s', async (_, issue) => {
  const served = await serveUpstream()
  const certificate = await issue()
  // Our own check of an expired one must not come first.
  const behind: Clock = { ...systemClock, now: () => systemClock.now() - 2 * hourMs }
  expect(await outcomes(certificate, behind)).toEqual(refused)
  expect(served.count).toBe(0)
  const options = { service, clock: behind, ca: authority.ca, ...(certificate && { certificate }) }
  const detail = expect.stringMatching(/^CERTIFICATE_REFUSED: it answered 400 .*SSL certificate/)
  expect(await tryReach(`https://localhost:${port}/`, options)).toMatchObject({ isReached: false, detail })
})

test('a body that is too large for nginx is not a refusal of the service', async () => {
  await serveUpstream()
  const told = await outcomes(await authority.issueClient('gestora'))
  expect(told.paid).toBe('unknown SERVICE_MISDIRECTED')
})

test('an upstream that is down leaves a change and a paid call in doubt, and doctor says that nginx answers', async () => {
  const certificate = await authority.issueClient('gestora')
  const told = await outcomes(certificate)
  expect(told).toEqual({
    read: 'deferred the consent service answered 502',
    change: 'unknown the consent service answered 502',
    paid: expect.stringMatching(/^unknown /),
  })
  const found = await tryReach(`https://localhost:${port}/`, { service, clock, ca: authority.ca, certificate })
  const detail = expect.stringMatching(/^SERVICE_MISDIRECTED: it answered 502 "502 Bad Gateway/)
  expect(found).toMatchObject({ isReached: false, detail })
})

test('the certificate of nginx is checked', async () => {
  const sending = openClient({ ca: stranger.ca }).fetch(new Request(`https://localhost:${port}/`))
  await expect(sending).rejects.toMatchObject({ name: 'UnsentError' })
})
