import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { portalSession } from '../../../src/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { systemEntropy } from '../../../src/runtime/entropy.ts'
import { createAuthority } from '../../../src/simulation/served/authority.ts'
import { serveHttps } from '../../../src/simulation/served/serve.ts'
import { Memory } from '../../../src/simulation/services/memory.ts'
import { simulatePortal } from '../../../src/simulation/services/portal/portal.ts'
import { openEngine } from '../../support/world.ts'

test('the certificate is presented over TLS, and the login sends its headers', async () => {
  const authority = await createAuthority(systemClock.now())
  const { ca } = authority
  let laterMs = 0
  const clock = { ...systemClock, now: () => systemClock.now() + laterMs }
  const portal = simulatePortal({
    memory: new Memory(),
    clock,
    entropy: systemEntropy,
    policies: { authentication: 'session' },
    deliver: async () => new Response(),
  })
  const seen: [path: string, client: string | undefined, role: string | null][] = []
  const server = await serveHttps(
    (request, { clientName }) => {
      seen.push([new URL(request.url).pathname, clientName, request.headers.get('role-type')])
      return portal.fetch(request)
    },
    { ...(await authority.issueServer(['localhost'])), clientCa: ca },
  )
  let certificate = await authority.issueClient('importadora')
  const averba = await openEngine({
    store: ':memory:',
    clock,
    portal: {
      baseUrl: `https://localhost:${server.port}`,
      ca,
      authenticate: portalSession({ certificate: () => certificate, roleType: 'IMPEXP' }),
    },
  })
  expect((await averba.subscriptions.plan()).changes).toEqual([])
  expect(seen).toEqual([
    ['/portal/api/autenticar', 'importadora', 'IMPEXP'],
    ['/portal/api/ext/webhook', 'importadora', null],
  ])
  // The certificate is loaded again without a restart: connections a minute later present the new one.
  certificate = await authority.issueClient('importadora-nova')
  laterMs = 61_000
  expect((await averba.subscriptions.plan()).changes).toEqual([])
  expect(seen.slice(2)).toEqual([
    ['/portal/api/autenticar', 'importadora-nova', 'IMPEXP'],
    ['/portal/api/ext/webhook', 'importadora-nova', null],
  ])
  await server.close()
})

test('a PKCS#12 file that is opened late has the same identity as one opened at once', async () => {
  const pfx = readFileSync(join(import.meta.dirname, '../../recordings/certificates/aes.pfx'))
  let passphrase = 'antiga'
  const begin = () => portalSession({ certificate: () => ({ pfx, passphrase }), roleType: 'IMPEXP' })
  const [early, late] = [begin(), begin()]
  const unread = await early.identity()
  passphrase = 'senha'
  const read = await late.identity()
  expect(read).not.toBe(unread)
  expect(await early.identity()).toBe(read)
  // The identity is cached: the file is not opened again.
  passphrase = 'antiga'
  expect(await early.identity()).toBe(read)
})
