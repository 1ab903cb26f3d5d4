import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { portalSession } from '../../../src/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { authority, serveUntilEnd } from '../../support/over-tls.ts'
import { simulateSessions } from '../../support/portal.ts'
import { openEngine } from '../../support/world.ts'

test('the certificate is presented over TLS, and the login sends its headers', async () => {
  let laterMs = 0
  const clock = { ...systemClock, now: () => systemClock.now() + laterMs }
  const portal = simulateSessions(clock)
  const seen: [path: string, client: string | undefined, role: string | null][] = []
  const baseUrl = await serveUntilEnd((request, { clientName }) => {
    seen.push([new URL(request.url).pathname, clientName, request.headers.get('role-type')])
    return portal.fetch(request)
  })
  let certificate = await authority.issueClient('importadora')
  const authenticate = portalSession({ certificate: () => certificate, roleType: 'IMPEXP' })
  const portalOptions = { baseUrl, ca: authority.ca, authenticate }
  const averba = await openEngine({ store: ':memory:', clock, portal: portalOptions })
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
