import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import forge from 'node-forge'
import { expect, test } from 'vitest'
import { loadCertificate } from '../../../src/adapters/credentials/certificate.ts'
import { type Averba, type PortalLogin, portalAccessKeys, portalSession, valueOf } from '../../../src/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import type { simulate, World } from '../../../src/simulation/index.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { applyPlan } from '../../support/portal.ts'
import { standStill } from '../../support/stand-still.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const subscriptions = [{ evento, chaveSecreta: 'um' }]
const certificate = { cert: '', key: '' }
const login = portalSession({ certificate, roleType: 'IMPEXP' })
const baseUrl = 'https://portal.exemplo.br'

const given = (
  options: Parameters<typeof simulate>[0] = {},
  authenticate: PortalLogin = login,
  olderTokens: 'accept' | 'refuse' = 'refuse',
) =>
  openWorld({
    ...options,
    policies: { portal: { authentication: 'session', olderTokens } },
    averba: { subscriptions, portal: { baseUrl, authenticate }, ...options.averba },
  })

/** More processes on the store of a world, whose clocks may be ahead. */
function processes(world: World, store: string, count: number, aheadMs = 0): Promise<Averba[]> {
  const { sleep } = world.clock
  const clock = { now: () => world.clock.now() + aheadMs, sleep: sleep.bind(world.clock) }
  const portal = { baseUrl, authenticate: login }
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }
  const fetch = (request: Request) => world.reach.portal(request)
  return Promise.all(
    Array.from({ length: count }, () => openEngine({ store, clock, fetch, portal, receiver, subscriptions })),
  )
}

const passphrase = 'senha'
const recorded = (name: string) => readFileSync(join(import.meta.dirname, '../../recordings/certificates', name))

test.each(['accept', 'refuse'] as const)(
  'one login serves all calls, each with the latest token; older tokens: %s',
  async olderTokens => {
    const world = await given({}, login, olderTokens)
    const { averba } = world
    const plans = [averba.subscriptions.plan(), averba.subscriptions.plan(), averba.subscriptions.failures()]
    await Promise.all(plans)
    await applyPlan(averba)
    expect(world.portal.session.logins).toBe(1)
    expect(world.requests.filter(each => each.path.includes('/ext/')).length).toBeGreaterThan(4)
    expect(world.requests.filter(each => each.path.endsWith('/autenticar'))).toHaveLength(1)
  },
)

test('a session is used until it ends, then a new login follows', async () => {
  const world = await given()
  const { averba, clock, portal } = world
  for (let i = 0; i < 6; i++) {
    await averba.subscriptions.plan()
    await clock.advance(50 * minuteMs)
  }
  expect(portal.session.logins).toBe(1)
  await clock.advance(10 * minuteMs)
  await averba.subscriptions.plan()
  expect(portal.session.logins).toBe(2)
  // No call was refused: the session was known to have ended.
  expect(world.requests.filter(each => each.path.includes('/ext/'))).toHaveLength(7)
})

test('after the portal ended a session, one login follows and the call is made', async () => {
  const { averba, clock, portal } = await given()
  await averba.subscriptions.plan()
  await clock.advance(2 * minuteMs)
  portal.session.end()
  const calls = [averba.subscriptions.plan(), averba.subscriptions.plan(), averba.subscriptions.failures()]
  await Promise.all(calls)
  expect(portal.session.logins).toBe(2)
})

test('a session that ends within a minute of its login defers calls without another login', async () => {
  const world = await given()
  const { averba, clock, portal } = world
  const hash = (await averba.subscriptions.plan()).hash
  portal.session.end()
  const failed = await averba.subscriptions.apply({ hash }).catch(error => error)
  expect(failed).toMatchObject({ code: 'OUTCOME', outcome: { status: 'deferred' } })
  expect(failed.outcome.reason).toBe('the portal allows one login a minute')
  expect(failed.outcome.retryAt).toBe('2026-11-20T12:01:01.000Z')
  expect(world.requests.filter(each => each.path.endsWith('/autenticar'))).toHaveLength(1)
  await clock.advance(61_000)
  for (const each of await averba.subscriptions.apply({ hash })) valueOf(each)
  expect(portal.session.logins).toBe(2)
})

test('after a login elsewhere, calls are deferred for a minute', async () => {
  const world = await given()
  const { averba, clock, portal } = world
  const request = () =>
    new Request(`${baseUrl}/portal/api/autenticar`, { method: 'POST', headers: { 'role-type': 'X' } })
  expect((await portal.fetch(request())).status).toBe(200)
  for (let i = 0; i < 3; i++) {
    await expect(averba.subscriptions.plan()).rejects.toMatchObject({
      outcome: { status: 'deferred', retryAt: '2026-11-20T12:01:01.000Z' },
    })
  }
  // The portal was asked only once.
  expect(world.requests.filter(each => each.path.endsWith('/autenticar'))).toHaveLength(1)
  await clock.advance(61_000)
  await averba.subscriptions.plan()
  expect(portal.session.logins).toBe(2)
})

test.each(['accept', 'refuse'] as const)(
  'five processes starting together on one store log in once; older tokens: %s',
  async olderTokens => {
    const store = temporaryStore()
    const world = await given({ averba: { store } }, login, olderTokens)
    const others = await processes(world, store, 4)
    const all = [world.averba, ...others]
    const plans = await world.clock.finish(Promise.allSettled(all.map(each => each.subscriptions.plan())))
    expect(world.portal.session.logins).toBe(1)
    if (olderTokens === 'accept') expect(plans.filter(each => each.status === 'rejected')).toEqual([])
    // In turn they all continue the session, whatever the portal does with older tokens.
    await world.clock.advance(61_000)
    for (const each of all) await each.subscriptions.plan()
    expect(world.portal.session.logins).toBeLessThanOrEqual(2)
  },
)

test('a later process continues the session, which is not stored in clear', async () => {
  const store = temporaryStore()
  const seen: string[] = []
  const world = await given({
    averba: { store },
    intercept: async (request, forward) => {
      const response = await forward(request)
      for (const name of ['set-token', 'x-csrf-token']) {
        const value = response.headers.get(name)
        if (value !== null) seen.push(value.replace(/^Bearer /, ''))
      }
      return response
    },
  })
  await world.averba.subscriptions.plan()
  const [later] = await processes(world, store, 1)
  await later?.subscriptions.plan()
  expect(world.portal.session.logins).toBe(1)
  await later?.close()
  await world.close()
  expect(seen.length).toBeGreaterThan(2)
  const bytes = readFileSync(store, 'latin1')
  for (const token of seen) expect(bytes.includes(token)).toBe(false)
})

test('a crash during a login delays the other processes for a minute at most', async () => {
  const store = temporaryStore()
  const world = await given({
    averba: { store },
    intercept: (request, forward) =>
      request.url.endsWith('/autenticar') ? new Promise<never>(() => undefined) : forward(request),
  })
  const goOn = standStill()
  void world.averba.subscriptions.plan().catch(() => undefined)
  await expect.poll(() => world.clock.sleeping).toBeGreaterThan(0)
  goOn()
  const [other] = await processes(world, store, 1)
  const waiting = await world.clock.finish(other?.subscriptions.plan().catch(error => error) ?? Promise.resolve())
  expect(waiting).toMatchObject({
    outcome: { status: 'deferred', reason: 'another process is logging in at the portal' },
  })
  await world.clock.advance(minuteMs)
  await world.clock.finish(Promise.resolve(other?.subscriptions.plan()))
  expect(world.portal.session.logins).toBe(1)
  await other?.close()
})

test('a declined login is CREDENTIALS_REFUSED and repeated at most once a minute', async () => {
  const world = await given()
  await world.faults.add({ kind: 'status', status: 422, path: '/autenticar', service: 'portal' })
  for (let i = 0; i < 5; i++) {
    await expect(world.averba.subscriptions.plan()).rejects.toMatchObject({
      outcome: { status: 'deferred', reason: expect.stringMatching(/^CREDENTIALS_REFUSED: .* 422/) },
    })
  }
  expect(world.requests.filter(each => each.path.endsWith('/autenticar'))).toHaveLength(1)
  await world.faults.clear()
  await world.clock.advance(61_000)
  await world.averba.subscriptions.plan()
})

test.each([408, 429, 503])('a login answered %i is not CREDENTIALS_REFUSED', async status => {
  const world = await given()
  await world.faults.add({ kind: 'status', status, path: '/autenticar', service: 'portal' })
  await expect(world.averba.subscriptions.plan()).rejects.toMatchObject({
    outcome: {
      status: 'deferred',
      reason: expect.stringMatching(new RegExp(`^the portal answered the login ${status}`)),
    },
  })
})

test('a process that stands still before it logs in finds the session of another one', async () => {
  const store = temporaryStore()
  let goOn = (): void => undefined
  const resumed = new Promise<void>(resolve => {
    goOn = resolve
  })
  const slow: PortalLogin = { ...login, write: baseUrl => resumed.then(() => login.write(baseUrl)) }
  const world = await given({ averba: { store } }, slow)
  const extending = standStill()
  const stopped = world.averba.subscriptions.plan().catch(() => undefined)
  await world.clock.advance(minuteMs)
  const [other] = await processes(world, store, 1)
  await world.clock.finish(Promise.resolve(other?.subscriptions.plan()))
  await world.clock.advance(3 * minuteMs)
  goOn()
  extending()
  await stopped
  await world.clock.finish(world.averba.settle())
  expect(world.portal.session.logins).toBe(1)
  expect(world.requests.filter(each => each.path.endsWith('/autenticar'))).toHaveLength(1)
  await world.averba.subscriptions.plan()
  await other?.close()
})

test('a login whose answer was lost is not repeated within a minute', async () => {
  const world = await given()
  await world.faults.add({ kind: 'lose', path: '/autenticar', service: 'portal', times: 1 })
  const failed = await world.averba.subscriptions.plan().catch(error => error)
  expect(failed).toMatchObject({ outcome: { status: 'deferred', retryAt: '2026-11-20T12:01:01.000Z' } })
  await world.clock.advance(61_000)
  await world.averba.subscriptions.plan()
  expect(world.portal.session.logins).toBe(2)
})

test('access keys log in without a certificate and are read from their source at each login', async () => {
  let asked = 0
  const clientSecret = () => {
    asked += 1
    return 'segredo'
  }
  const keys = portalAccessKeys({ clientId: 'chave', clientSecret, roleType: 'IMPEXP' })
  const world = await given({}, keys)
  await world.averba.subscriptions.plan()
  await world.averba.subscriptions.plan()
  const [first] = world.requests
  expect(first).toMatchObject({ path: '/portal/api/autenticar/chave-acesso' })
  expect(JSON.stringify(world.requests)).not.toContain('segredo')
  expect([asked, world.portal.session.logins]).toEqual([1, 1])
})

test('a session from a process with a clock ahead is renewed and ends like any other', async () => {
  const store = temporaryStore()
  const world = await given({ averba: { store } })
  const { averba, clock, portal } = world
  const [ahead] = await processes(world, store, 1, 365 * 24 * 60 * minuteMs)
  await clock.finish(Promise.resolve(ahead?.subscriptions.plan()))
  await ahead?.close()
  // Older tokens are refused: the token of each answer must be kept.
  for (let i = 0; i < 3; i++) await averba.subscriptions.plan()
  expect(portal.session.logins).toBe(1)
  await clock.advance(2 * minuteMs)
  portal.session.end()
  await averba.subscriptions.plan()
  await averba.subscriptions.plan()
  expect(portal.session.logins).toBe(2)
})

test('a login refused to a process with a clock ahead delays others for a minute at most', async () => {
  const store = temporaryStore()
  const world = await given({ averba: { store } })
  const { averba, clock, portal } = world
  const [ahead] = await processes(world, store, 1, 5 * minuteMs)
  await world.faults.add({ kind: 'status', status: 422, path: '/autenticar', service: 'portal', times: 1 })
  const refused = await clock.finish(ahead?.subscriptions.plan().catch(error => error) ?? Promise.resolve())
  expect(refused).toMatchObject({ outcome: { status: 'deferred' } })
  await clock.advance(minuteMs + 1_000)
  await averba.subscriptions.plan()
  expect(portal.session.logins).toBe(1)
  await ahead?.close()
})

test('a 401 right after login is declined and does not log in again', async () => {
  let isAllowed = false
  const world = await given({
    intercept: async (request, forward) => {
      const answer = await forward(request)
      if (isAllowed || request.url.includes('/autenticar')) return answer
      return Response.json({ code: 'PUCX-ER0201', message: 'Perfil sem acesso' }, { status: 401 })
    },
  })
  const { averba, clock, portal } = world
  const plan = () => averba.subscriptions.plan().catch(error => error)
  expect(await plan()).toMatchObject({
    outcome: { status: 'declined', problem: { status: 401, code: 'PUCX-ER0201' } },
  })
  // Within the minute nothing is sent, and the portal's answer is reported.
  expect(await plan()).toMatchObject({
    outcome: {
      status: 'deferred',
      reason: 'the portal rejects a new session: 401 PUCX-ER0201',
    },
  })
  expect(world.requests.filter(each => each.path.includes('/ext/'))).toHaveLength(1)
  await passTime({ averba, clock }, 60 * minuteMs, 24)
  expect(portal.session.logins).toBe(2)
  expect((await averba.effects.list()).map(each => each.state)).toEqual(['declined', 'declined'])
  isAllowed = true
  await averba.subscriptions.plan()
  expect(portal.session.logins).toBe(3)
})

test('a new session stays valid after another process used it first', async () => {
  const store = temporaryStore()
  let isFirst = true
  let other: Averba | undefined
  const world = await given({
    averba: { store },
    intercept: async (request, forward) => {
      if (isFirst && request.url.includes('/ext/')) {
        isFirst = false
        await other?.subscriptions.plan()
      }
      return forward(request)
    },
  })
  other = (await processes(world, store, 1))[0]
  await world.clock.finish(world.averba.subscriptions.plan())
  expect(world.portal.session.logins).toBe(1)
  await other?.close()
})

test('with keys of another person a new login follows, and the former session is not used', async () => {
  let clientId = 'maria'
  const keys = portalAccessKeys({ clientId: () => clientId, clientSecret: 'segredo', roleType: 'IMPEXP' })
  const world = await given({}, keys)
  const { averba, clock } = world
  const paths = async () => {
    const before = world.requests.length
    await averba.subscriptions.plan()
    return world.requests.slice(before).map(each => /[\w-]+(?=$|\?)/.exec(each.path)?.[0])
  }
  expect(await paths()).toEqual(['chave-acesso', 'webhook'])
  expect(await paths()).toEqual(['webhook'])
  await clock.advance(2 * minuteMs)
  clientId = 'joao'
  expect(await paths()).toEqual(['chave-acesso', 'webhook'])
  expect(await paths()).toEqual(['webhook'])
})

test('with another certificate a new login follows, and the former session is not used', async () => {
  let cert = 'um'
  const world = await given({}, portalSession({ certificate: () => ({ cert, key: '' }), roleType: 'IMPEXP' }))
  await world.averba.subscriptions.plan()
  await world.clock.advance(2 * minuteMs)
  cert = 'outro'
  await world.averba.subscriptions.plan()
  expect(world.portal.session.logins).toBe(2)
})

test('a certificate exported again for each call is the same one and logs in once', async () => {
  const pem = await loadCertificate({ pfx: recorded('aes.pfx'), passphrase }, systemClock.now())
  const exported: string[] = []
  const exportAnew = () => {
    const [key, cert] = [forge.pki.privateKeyFromPem(pem.key), forge.pki.certificateFromPem(pem.cert)]
    const pfx = forge.asn1.toDer(forge.pkcs12.toPkcs12Asn1(key, [cert], passphrase)).getBytes()
    exported.push(pfx)
    return { pfx, passphrase }
  }
  const world = await given({}, portalSession({ certificate: exportAnew, roleType: 'IMPEXP' }))
  for (let i = 0; i < 3; i++) await world.averba.subscriptions.plan()
  expect(new Set(exported).size).toBe(3)
  expect(world.requests.map(each => each.path.endsWith('/autenticar'))).toEqual([true, false, false, false])
})

test('a second login within a minute waits, for any person, but not for another profile', async () => {
  const store = temporaryStore()
  let clientId = 'maria'
  const keysFor = (roleType: string) =>
    portalAccessKeys({ clientId: () => clientId, clientSecret: 'segredo', roleType })
  const world = await given({ averba: { store } }, keysFor('IMPEXP'))
  const { averba, clock } = world
  await averba.subscriptions.plan()
  const logins = () => world.requests.filter(each => each.path.endsWith('/chave-acesso')).length
  clientId = 'joao'
  const quiet = { outcome: { status: 'deferred', reason: expect.stringContaining('one login a minute') } }
  await expect(averba.subscriptions.plan()).rejects.toMatchObject(quiet)
  expect(logins()).toBe(1)
  // The simulated portal refuses this profile; the test only counts the requests.
  const fetch = (request: Request) => world.reach.portal(request)
  const other = await openEngine({
    ...{ store, clock, fetch, schedules: false },
    portal: { baseUrl, authenticate: keysFor('DEPOSIT') },
  })
  await expect(other.subscriptions.plan()).rejects.toMatchObject(quiet)
  expect(logins()).toBe(2)
  clientId = 'maria'
  await averba.subscriptions.plan()
  expect(logins()).toBe(2)
  clientId = 'joao'
  await clock.advance(minuteMs + 1_000)
  await averba.subscriptions.plan()
  expect(logins()).toBe(3)
})

test('corrected access keys do not inherit the former refusal, but wait out the minute', async () => {
  const store = temporaryStore()
  let clientId = 'errada'
  const keys = portalAccessKeys({ clientId: () => clientId, clientSecret: 'segredo', roleType: 'IMPEXP' })
  let logins = 0
  const intercept = async (request: Request, forward: (request: Request) => Promise<Response>) => {
    if (request.url.endsWith('/chave-acesso')) logins += 1
    const isWrong = request.headers.get('client-id') === 'errada'
    return isWrong ? Response.json({ code: 'PLAT-ER8008' }, { status: 422 }) : forward(request)
  }
  const world = await given({ averba: { store }, intercept }, keys)
  const fetch = (request: Request) => intercept(request, each => world.reach.portal(each))
  const portal = { baseUrl, authenticate: keys }
  const told = (averba: Averba) => averba.subscriptions.plan().catch(error => error.outcome)
  const until = { status: 'deferred', retryAt: '2026-11-20T12:01:01.000Z' }
  const refused = { ...until, reason: 'CREDENTIALS_REFUSED: the portal answered the login 422 PLAT-ER8008' }
  const quiet = { ...until, reason: 'the portal allows one login a minute' }
  expect(await told(world.averba)).toMatchObject(refused)
  clientId = 'certa'
  expect(await told(world.averba)).toMatchObject(quiet)
  const later = await openEngine({ store, clock: world.clock, fetch, portal, schedules: false })
  expect(await told(later)).toMatchObject(quiet)
  // Every process reports the refusal of the refused keys.
  clientId = 'errada'
  expect(await told(world.averba)).toMatchObject(refused)
  expect(await told(later)).toMatchObject(refused)
  expect(logins).toBe(1)
  clientId = 'certa'
  await world.clock.advance(minuteMs + 1_000)
  await later.subscriptions.plan()
  await world.averba.subscriptions.plan()
  expect(logins).toBe(2)
})

test('a session rejected at once is reported to its own login only', async () => {
  const store = temporaryStore()
  const keysOf = (clientId: string) => portalAccessKeys({ clientId, clientSecret: 'segredo', roleType: 'IMPEXP' })
  const told = (averba: Averba) => averba.subscriptions.plan().catch(error => error.outcome)
  let other: Averba | undefined
  const seen: unknown[] = []
  const world = await given(
    {
      averba: { store },
      async intercept(request, forward) {
        if (!request.url.includes('/ext/')) return forward(request)
        seen.push(other && (await told(other)))
        return Response.json({ code: 'PUCX-ER0201' }, { status: 401 })
      },
    },
    keysOf('maria'),
  )
  // Its clock is ahead: for it the minute is over.
  const sleep = world.clock.sleep.bind(world.clock)
  const clock = { now: () => world.clock.now() + 2 * minuteMs, sleep }
  const fetch = (request: Request) => world.reach.portal(request)
  const portal = { baseUrl, authenticate: keysOf('joao') }
  other = await openEngine({ store, clock, fetch, portal, schedules: false })
  expect(await told(world.averba)).toMatchObject({ status: 'declined' })
  const quiet = { status: 'deferred', reason: 'the portal allows one login a minute' }
  expect(seen).toMatchObject([quiet])
  expect(await told(other)).toMatchObject(quiet)
})

test('a 403 without a new token means an ended session; one with a new token is declined', async () => {
  let answers: 'over' | 'no' | undefined
  const { averba, clock, portal } = await given({
    async intercept(request, forward) {
      if (request.url.includes('/autenticar')) answers = answers === 'over' ? undefined : answers
      const answer = await forward(request)
      if (answers === undefined || request.url.includes('/autenticar')) return answer
      const renewed = { 'x-csrf-token': answer.headers.get('x-csrf-token') ?? '' }
      const headers = answers === 'no' ? renewed : {}
      return Response.json({ code: 'PUCX-ER0201', message: 'Não permitido' }, { status: 403, headers })
    },
  })
  await averba.subscriptions.plan()
  answers = 'no'
  await clock.advance(2 * minuteMs)
  const declined = { outcome: { status: 'declined', problem: { status: 403, code: 'PUCX-ER0201' } } }
  await expect(averba.subscriptions.plan()).rejects.toMatchObject(declined)
  expect(portal.session.logins).toBe(1)
  answers = 'over'
  await averba.subscriptions.plan()
  expect(portal.session.logins).toBe(2)
})

test('an answer without a new token does not prolong the session', async () => {
  const world = await given(
    {
      async intercept(request, forward) {
        const answer = await forward(request)
        if (request.url.includes('/ext/')) answer.headers.delete('x-csrf-token')
        return answer
      },
    },
    login,
    'accept',
  )
  for (let i = 0; i < 3; i++) {
    await world.averba.subscriptions.plan()
    await world.clock.advance(50 * minuteMs)
  }
  expect(world.portal.session.logins).toBe(2)
  // The session was known to have ended: no call was refused.
  expect(world.requests.filter(each => each.path.includes('/ext/'))).toHaveLength(3)
})
