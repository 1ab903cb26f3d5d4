import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { createPortalClient, type PortalClientOptions } from '../../../src/adapters/portal/client.ts'
import type { PortalLogin } from '../../../src/adapters/portal/login.ts'
import { type SharedText, shareInMemory } from '../../../src/adapters/portal/shared-text.ts'
import { portalAccessKeys, portalSession, staticHeaders } from '../../../src/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { VirtualClock } from '../../../src/simulation/world/virtual-clock.ts'
import { AverbaError } from '../../../src/vocabulary/errors.ts'
import type { Performers } from '../../../src/vocabulary/performer.ts'
import { performOnce } from '../../support/performers.ts'
import { simulateSessions } from '../../support/portal.ts'

const data = { evento: 'dimp-situacao-import', endpoint: 'https://receptor.exemplo.br/averba', generation: 1 }

/** Performs an operation at the portal. */
function givenClient(options: Pick<PortalClientOptions, 'authenticate' | 'fetch'> & Partial<PortalClientOptions>) {
  const performers: Performers = createPortalClient({
    ...{ baseUrl: 'https://portal.exemplo.br', clock: systemClock, secretsOf: async () => ({}) },
    ...options,
  })
  return (type = 'portal.listSubscriptions') => performOnce(performers, type, { data, parts: {} })
}

const accessKeys = portalAccessKeys({ clientId: 'x', clientSecret: 'y', roleType: 'IMPEXP' })

/** The only process of a store logs in. */
function alone(login: PortalLogin, share: SharedText = shareInMemory()) {
  const lease = { takeLease: async () => 60_000, underLease: <T>(work: () => Promise<T>) => work() }
  return { login, shareOf: () => share, logins: { ...shareInMemory(), ...lease, digestIdentity: String } }
}

test('a call that the portal did is settled even if the session cannot be stored', async () => {
  const portal = simulateSessions(systemClock)
  const kept = shareInMemory()
  let isHeld = false
  const login = portalSession({ certificate: { cert: '', key: '' }, roleType: 'IMPEXP' })
  const perform = givenClient({
    authenticate: alone(login, {
      ...kept,
      async change(make) {
        if (isHeld) throw new AverbaError('STORE_BUSY', 'Cannot write: another process holds the file')
        return kept.change(make)
      },
    }),
    async fetch(request) {
      isHeld = request.method === 'POST' && request.url.includes('/ext/webhook')
      return portal.fetch(request)
    },
    secretsOf: async () => ({ chaveSecreta: 'um' }),
  })
  const outcome = await perform('portal.subscribe')
  expect(outcome).toMatchObject({ status: 'settled', fact: { type: 'portal.subscribed' } })
  expect(await perform()).toMatchObject({ status: 'settled' })
})

test('a login whose answer nobody could record counts: the next one waits for the portal’s minute', async () => {
  let isAway = false
  const away = () => {
    if (isAway) throw new AverbaError('STORE_UNSAFE', 'Cannot reach the server')
  }
  const { logins } = alone(accessKeys)
  const change: SharedText['change'] = async make => {
    away()
    await logins.change(make)
  }
  const askedAt: number[] = []
  const clock = new VirtualClock()
  const start = clock.now()
  const perform = givenClient({
    authenticate: {
      login: accessKeys,
      shareOf: () => ({ find: async () => undefined, change: async () => away() }),
      logins: { ...logins, change },
    },
    clock,
    async fetch() {
      askedAt.push(clock.now() - start)
      isAway = true
      return new Response('', { headers: { 'set-token': 'um', 'x-csrf-token': 'dois' } })
    },
  })
  const attempt = () => perform().catch(error => error)
  expect(await attempt()).toMatchObject({ code: 'STORE_UNSAFE' })
  isAway = false
  expect(await attempt()).toMatchObject({ status: 'deferred', reason: 'the portal allows one login a minute' })
  expect(askedAt).toEqual([0])
  await clock.advance(61_000)
  await attempt()
  expect(askedAt).toEqual([0, 61_000])
})

test('a login that never left costs no minute', async () => {
  const refused = new AverbaError('MISCONFIGURED', 'Cannot use the certificate')
  const fetch = () => Promise.reject(refused)
  const perform = givenClient({ authenticate: alone(accessKeys), clock: new VirtualClock(), fetch })
  for (const _ of [1, 2]) await expect(perform()).rejects.toBe(refused)
})

const malformed = 'AAA\ncanario'
test.each([
  ['an access key', alone(portalAccessKeys({ clientId: 'x', clientSecret: malformed, roleType: 'IMPEXP' }))],
  ['a header from the host', staticHeaders({ authorization: malformed })],
])('%s that no request can carry is MISCONFIGURED and never quoted', async (_, authenticate) => {
  const error = await givenClient({ authenticate, fetch: async () => new Response('[]') })().catch(error => error)
  expect(error).toMatchObject({ name: 'AverbaError', code: 'MISCONFIGURED', hint: expect.any(String) })
  expect(inspect(error, { depth: null, showHidden: true })).not.toContain('canario')
})
