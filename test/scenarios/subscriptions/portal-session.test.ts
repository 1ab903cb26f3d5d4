import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import forge from 'node-forge'
import { expect, test } from 'vitest'
import { loadCertificate } from '../../../src/adapters/credentials/certificate.ts'
import {
  type Averba,
  type AverbaOptions,
  type PortalLogin,
  portalAccessKeys,
  portalSession,
  valueOf,
} from '../../../src/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import type { World, WorldOptions } from '../../../src/simulation/index.ts'
import { dayMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { applyPlan, openBeside } from '../../support/portal.ts'
import { standStill } from '../../support/stand-still.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const subscriptions = [{ evento: 'dimp-situacao-import', chaveSecreta: 'um' }]
const roleType = 'IMPEXP'
const login = portalSession({ certificate: { cert: '', key: '' }, roleType })
const keysOf = (clientId: string | (() => string), profile = roleType) =>
  portalAccessKeys({ clientId, clientSecret: 'segredo', roleType: profile })
const baseUrl = 'https://portal.exemplo.br'
/** When the portal allows another login after the first. */
const retryAt = '2026-11-20T12:01:01.000Z'
const quiet = { status: 'deferred', reason: 'the portal allows one login a minute' }

const given = (options: WorldOptions = {}, authenticate = login, olderTokens: 'accept' | 'refuse' = 'refuse') =>
  openWorld({
    ...options,
    policies: { portal: { authentication: 'session', olderTokens } },
    averba: { subscriptions, portal: { baseUrl, authenticate }, ...options.averba },
  })

/** The same on a file, and a way to open other processes on it, whose clocks may be ahead. */
async function givenShared(options: WorldOptions = {}, authenticate = login, olderTokens?: 'accept' | 'refuse') {
  const store = temporaryStore()
  const world = await given({ ...options, averba: { store } }, authenticate, olderTokens)
  const { clock } = world
  const openOther = ({ aheadMs = 0, ...more }: Partial<AverbaOptions> & { aheadMs?: number } = {}) =>
    openBeside(world, {
      ...{ store, subscriptions, portal: { baseUrl, authenticate } },
      clock: { now: () => clock.now() + aheadMs, sleep: clock.sleep.bind(clock) },
      ...more,
    })
  return { ...world, world, store, openOther }
}

/** How a plan ended that cannot be made. */
const outcomeOf = ({ subscriptions }: Averba) =>
  subscriptions.plan().then(
    () => expect.fail('The plan was made'),
    ({ outcome }) => outcome,
  )

/** How many requests were logins, and how many were calls to the portal. */
const loginsOf = ({ requests }: Pick<World, 'requests'>) =>
  requests.filter(({ path }) => /autenticar(\/chave-acesso)?$/.test(path)).length
const callsOf = ({ requests }: Pick<World, 'requests'>) => requests.filter(({ path }) => path.includes('/ext/')).length

/** Makes a plan after each wait, and returns how often the portal had logged us in by then. */
async function loginsAfter({ averba, clock, portal }: Pick<World, 'averba' | 'clock' | 'portal'>, ...waits: number[]) {
  const logins: number[] = []
  for (const ms of waits) {
    await clock.advance(ms)
    await averba.subscriptions.plan()
    logins.push(portal.session.logins)
  }
  return logins
}

test.each(['accept', 'refuse'] as const)(
  'one login serves all calls, each with the latest token; older tokens: %s',
  async olderTokens => {
    const world = await given({}, login, olderTokens)
    const { subscriptions } = world.averba
    await Promise.all([subscriptions.plan(), subscriptions.plan(), subscriptions.failures()])
    await applyPlan(world.averba)
    expect(world.portal.session.logins).toBe(1)
    expect(callsOf(world)).toBeGreaterThan(4)
    expect(loginsOf(world)).toBe(1)
  },
)

test('a session is used until it ends, then a new login follows', async () => {
  const world = await given()
  const waits = [0, 50, 50, 50, 50, 50, 60].map(minutes => minutes * minuteMs)
  expect(await loginsAfter(world, ...waits)).toEqual([1, 1, 1, 1, 1, 1, 2])
  // No call was refused: the session was known to have ended.
  expect(callsOf(world)).toBe(7)
})

test('after the portal ended a session, one login follows and the call is made', async () => {
  const { averba, clock, portal } = await given()
  const { subscriptions } = averba
  await subscriptions.plan()
  await clock.advance(2 * minuteMs)
  portal.session.end()
  await Promise.all([subscriptions.plan(), subscriptions.plan(), subscriptions.failures()])
  expect(portal.session.logins).toBe(2)
})

test('a session that ends within a minute of its login defers calls without another login', async () => {
  const world = await given()
  const { averba, clock, portal } = world
  const { hash } = await averba.subscriptions.plan()
  portal.session.end()
  const outcome = { ...quiet, retryAt }
  await expect(averba.subscriptions.apply({ hash })).rejects.toMatchObject({ code: 'OUTCOME', outcome })
  expect(loginsOf(world)).toBe(1)
  await clock.advance(61_000)
  for (const each of await averba.subscriptions.apply({ hash })) valueOf(each)
  expect(portal.session.logins).toBe(2)
})

test('after a login elsewhere, calls are deferred for a minute', async () => {
  const world = await given()
  const elsewhere = new Request(`${baseUrl}/portal/api/autenticar`, { method: 'POST', headers: { 'role-type': 'X' } })
  expect((await world.portal.fetch(elsewhere)).status).toBe(200)
  for (let i = 0; i < 3; i++) expect(await outcomeOf(world.averba)).toMatchObject({ status: 'deferred', retryAt })
  // The portal was asked only once.
  expect(loginsOf(world)).toBe(1)
  expect(await loginsAfter(world, 61_000)).toEqual([2])
})

test.each(['accept', 'refuse'] as const)(
  'five processes starting together on one store log in once; older tokens: %s',
  async olderTokens => {
    const { averba, clock, portal, openOther } = await givenShared({}, login, olderTokens)
    const all = [averba, ...(await Promise.all([1, 2, 3, 4].map(() => openOther())))]
    const plans = await clock.finish(Promise.allSettled(all.map(each => each.subscriptions.plan())))
    expect(portal.session.logins).toBe(1)
    if (olderTokens === 'accept') expect(plans.filter(each => each.status === 'rejected')).toEqual([])
    // In turn they all continue the session, whatever the portal does with older tokens.
    await clock.advance(61_000)
    for (const each of all) await each.subscriptions.plan()
    expect(portal.session.logins).toBeLessThanOrEqual(2)
  },
)

test('a later process continues the session, which is not stored in clear', async () => {
  const seen: string[] = []
  const { world, averba, portal, store, openOther } = await givenShared({
    intercept: async (request, forward) => {
      const response = await forward(request)
      for (const name of ['set-token', 'x-csrf-token']) {
        const value = response.headers.get(name)
        if (value !== null) seen.push(value.replace(/^Bearer /, ''))
      }
      return response
    },
  })
  await averba.subscriptions.plan()
  const later = await openOther()
  await later.subscriptions.plan()
  expect(portal.session.logins).toBe(1)
  await later.close()
  await world.close()
  expect(seen.length).toBeGreaterThan(2)
  const bytes = readFileSync(store, 'latin1')
  for (const token of seen) expect(bytes.includes(token)).toBe(false)
})

test('a crash during a login delays the other processes for a minute at most', async () => {
  const { averba, clock, portal, openOther } = await givenShared({
    intercept: (request, forward) =>
      request.url.endsWith('/autenticar') ? new Promise<never>(() => undefined) : forward(request),
  })
  const goOn = standStill()
  void averba.subscriptions.plan().catch(() => undefined)
  await expect.poll(() => clock.sleeping).toBeGreaterThan(0)
  goOn()
  const other = await openOther()
  const reason = 'another process is logging in at the portal'
  expect(await clock.finish(outcomeOf(other))).toMatchObject({ status: 'deferred', reason })
  await clock.advance(minuteMs)
  await clock.finish(other.subscriptions.plan())
  expect(portal.session.logins).toBe(1)
})

test('a declined login is CREDENTIALS_REFUSED and repeated at most once a minute', async () => {
  const world = await given()
  const { averba, faults } = world
  await faults.add({ kind: 'status', status: 422, path: '/autenticar', service: 'portal' })
  const reason = expect.stringMatching(/^CREDENTIALS_REFUSED: .* 422/)
  for (let i = 0; i < 5; i++) expect(await outcomeOf(averba)).toMatchObject({ status: 'deferred', reason })
  expect(loginsOf(world)).toBe(1)
  await faults.clear()
  expect(await loginsAfter(world, 61_000)).toEqual([1])
})

test.each([408, 429, 503])('a login answered %i is not CREDENTIALS_REFUSED', async status => {
  const { averba, faults } = await given()
  await faults.add({ kind: 'status', status, path: '/autenticar', service: 'portal' })
  const reason = expect.stringMatching(new RegExp(`^the portal answered the login ${status}`))
  expect(await outcomeOf(averba)).toMatchObject({ status: 'deferred', reason })
})

test('a process that stands still before it logs in finds the session of another one', async () => {
  const resumed = Promise.withResolvers<void>()
  const slow: PortalLogin = { ...login, write: baseUrl => resumed.promise.then(() => login.write(baseUrl)) }
  const { world, averba, clock, portal, openOther } = await givenShared({}, slow)
  const goOn = standStill()
  const stopped = averba.subscriptions.plan().catch(() => undefined)
  await clock.advance(minuteMs)
  const other = await openOther({ portal: { baseUrl, authenticate: login } })
  await clock.finish(other.subscriptions.plan())
  await clock.advance(3 * minuteMs)
  resumed.resolve()
  goOn()
  await stopped
  await clock.finish(averba.settle())
  expect(portal.session.logins).toBe(1)
  expect(loginsOf(world)).toBe(1)
  await averba.subscriptions.plan()
})

test('a login whose answer was lost is not repeated within a minute', async () => {
  const world = await given()
  await world.faults.add({ kind: 'lose', path: '/autenticar', service: 'portal', times: 1 })
  expect(await outcomeOf(world.averba)).toMatchObject({ status: 'deferred', retryAt })
  expect(await loginsAfter(world, 61_000)).toEqual([2])
})

test('access keys log in without a certificate and are read from their source at each login', async () => {
  let asked = 0
  const clientSecret = () => {
    asked += 1
    return 'segredo'
  }
  const world = await given({}, portalAccessKeys({ clientId: 'chave', clientSecret, roleType }))
  await world.averba.subscriptions.plan()
  await world.averba.subscriptions.plan()
  expect(world.requests[0]).toMatchObject({ path: '/portal/api/autenticar/chave-acesso' })
  expect(JSON.stringify(world.requests)).not.toContain('segredo')
  expect([asked, world.portal.session.logins]).toEqual([1, 1])
})

test('a session from a process with a clock ahead is renewed and ends like any other', async () => {
  const { world, openOther } = await givenShared()
  const ahead = await openOther({ aheadMs: 365 * dayMs })
  await world.clock.finish(ahead.subscriptions.plan())
  await ahead.close()
  // Older tokens are refused: the token of each answer must be kept.
  expect(await loginsAfter(world, 0, 0, 0)).toEqual([1, 1, 1])
  world.portal.session.end()
  expect(await loginsAfter(world, 2 * minuteMs, 0)).toEqual([2, 2])
})

test('a login refused to a process with a clock ahead delays others for a minute at most', async () => {
  const { world, openOther } = await givenShared()
  const ahead = await openOther({ aheadMs: 5 * minuteMs })
  await world.faults.add({ kind: 'status', status: 422, path: '/autenticar', service: 'portal', times: 1 })
  expect(await world.clock.finish(outcomeOf(ahead))).toMatchObject({ status: 'deferred' })
  expect(await loginsAfter(world, 61_000)).toEqual([1])
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
  const { averba, clock } = world
  const problem = { status: 401, code: 'PUCX-ER0201' }
  expect(await outcomeOf(averba)).toMatchObject({ status: 'declined', problem })
  // Within the minute nothing is sent, and the portal's answer is reported.
  const reason = 'the portal rejects a new session: 401 PUCX-ER0201'
  expect(await outcomeOf(averba)).toMatchObject({ status: 'deferred', reason })
  expect(callsOf(world)).toBe(1)
  await passTime({ averba, clock }, 60 * minuteMs, 24)
  expect(world.portal.session.logins).toBe(2)
  expect((await averba.effects.list()).map(each => each.state)).toEqual(['declined', 'declined'])
  isAllowed = true
  expect(await loginsAfter(world, 0)).toEqual([3])
})

test('a new session stays valid after another process used it first', async () => {
  let other: Averba | undefined
  const { averba, clock, portal, openOther } = await givenShared({
    intercept: async (request, forward) => {
      if (request.url.includes('/ext/')) {
        const first = other
        other = undefined
        await first?.subscriptions.plan()
      }
      return forward(request)
    },
  })
  other = await openOther()
  await clock.finish(averba.subscriptions.plan())
  expect(other).toBeUndefined()
  expect(portal.session.logins).toBe(1)
})

test.each([
  ['keys of another person', (clientId: () => string) => keysOf(clientId), 'chave-acesso'],
  [
    'another certificate',
    (cert: () => string) => portalSession({ certificate: () => ({ cert: cert(), key: '' }), roleType }),
    'autenticar',
  ],
])('with %s a new login follows, and the former session is not used', async (_, loginOf, path) => {
  let who = 'maria'
  const { averba, clock, requests } = await given(
    {},
    loginOf(() => who),
  )
  const paths = async () => {
    const before = requests.length
    await averba.subscriptions.plan()
    return requests.slice(before).map(each => /[\w-]+(?=$|\?)/.exec(each.path)?.[0])
  }
  expect(await paths()).toEqual([path, 'webhook'])
  expect(await paths()).toEqual(['webhook'])
  await clock.advance(2 * minuteMs)
  who = 'joao'
  expect(await paths()).toEqual([path, 'webhook'])
  expect(await paths()).toEqual(['webhook'])
})

test('a certificate exported again for each call is the same one and logs in once', async () => {
  const passphrase = 'senha'
  const recorded = readFileSync(join(import.meta.dirname, '../../recordings/certificates/aes.pfx'))
  const pem = await loadCertificate({ pfx: recorded, passphrase }, systemClock.now())
  const [key, cert] = [forge.pki.privateKeyFromPem(pem.key), forge.pki.certificateFromPem(pem.cert)]
  const exported = new Set<string>()
  const exportAnew = () => {
    const pfx = forge.asn1.toDer(forge.pkcs12.toPkcs12Asn1(key, [cert], passphrase)).getBytes()
    exported.add(pfx)
    return { pfx, passphrase }
  }
  const { averba, requests } = await given({}, portalSession({ certificate: exportAnew, roleType }))
  for (let i = 0; i < 3; i++) await averba.subscriptions.plan()
  expect(exported.size).toBe(3)
  expect(requests.map(each => each.path.endsWith('/autenticar'))).toEqual([true, false, false, false])
})

test('a second login within a minute waits, for any person, but not for another profile', async () => {
  let clientId = 'maria'
  const { world, averba, clock, openOther } = await givenShared(
    {},
    keysOf(() => clientId),
  )
  await averba.subscriptions.plan()
  clientId = 'joao'
  expect(await outcomeOf(averba)).toMatchObject(quiet)
  expect(loginsOf(world)).toBe(1)
  // The simulated portal refuses this profile; the test only counts the requests.
  const other = await openOther({ portal: { baseUrl, authenticate: keysOf(() => clientId, 'DEPOSIT') } })
  expect(await outcomeOf(other)).toMatchObject({ ...quiet, reason: expect.stringContaining('one login a minute') })
  expect(loginsOf(world)).toBe(2)
  clientId = 'maria'
  await averba.subscriptions.plan()
  expect(loginsOf(world)).toBe(2)
  clientId = 'joao'
  await clock.advance(minuteMs + 1_000)
  await averba.subscriptions.plan()
  expect(loginsOf(world)).toBe(3)
})

test('corrected access keys do not inherit the former refusal, but wait out the minute', async () => {
  let clientId = 'errada'
  let logins = 0
  const intercept = async (request: Request, forward: (request: Request) => Promise<Response>) => {
    if (request.url.endsWith('/chave-acesso')) logins += 1
    const isWrong = request.headers.get('client-id') === 'errada'
    return isWrong ? Response.json({ code: 'PLAT-ER8008' }, { status: 422 }) : forward(request)
  }
  const { averba, clock, reach, openOther } = await givenShared(
    { intercept },
    keysOf(() => clientId),
  )
  const reason = 'CREDENTIALS_REFUSED: the portal answered the login 422 PLAT-ER8008'
  const refused = { status: 'deferred', retryAt, reason }
  expect(await outcomeOf(averba)).toMatchObject(refused)
  clientId = 'certa'
  expect(await outcomeOf(averba)).toMatchObject({ ...quiet, retryAt })
  const later = await openOther({ fetch: request => intercept(request, each => reach.portal(each)) })
  expect(await outcomeOf(later)).toMatchObject({ ...quiet, retryAt })
  // Every process reports the refusal of the refused keys.
  clientId = 'errada'
  for (const each of [averba, later]) expect(await outcomeOf(each)).toMatchObject(refused)
  expect(logins).toBe(1)
  clientId = 'certa'
  await clock.advance(minuteMs + 1_000)
  for (const each of [later, averba]) await each.subscriptions.plan()
  expect(logins).toBe(2)
})

test('a session rejected at once is reported to its own login only', async () => {
  let other: Averba | undefined
  const seen: unknown[] = []
  const { averba, openOther } = await givenShared(
    {
      async intercept(request, forward) {
        if (!request.url.includes('/ext/')) return forward(request)
        seen.push(other && (await outcomeOf(other)))
        return Response.json({ code: 'PUCX-ER0201' }, { status: 401 })
      },
    },
    keysOf('maria'),
  )
  // For it the minute is over.
  other = await openOther({ aheadMs: 2 * minuteMs, portal: { baseUrl, authenticate: keysOf('joao') } })
  expect(await outcomeOf(averba)).toMatchObject({ status: 'declined' })
  expect([...seen, await outcomeOf(other)]).toMatchObject([quiet, quiet])
})

test('a 403 without a new token means an ended session; one with a new token is declined', async () => {
  let answers: 'over' | 'no' | undefined
  const world = await given({
    async intercept(request, forward) {
      const isLogin = request.url.includes('/autenticar')
      if (isLogin && answers === 'over') answers = undefined
      const answer = await forward(request)
      if (answers === undefined || isLogin) return answer
      const renewed = { 'x-csrf-token': answer.headers.get('x-csrf-token') ?? '' }
      const headers = answers === 'no' ? renewed : {}
      return Response.json({ code: 'PUCX-ER0201', message: 'Não permitido' }, { status: 403, headers })
    },
  })
  expect(await loginsAfter(world, 0)).toEqual([1])
  answers = 'no'
  await world.clock.advance(2 * minuteMs)
  const problem = { status: 403, code: 'PUCX-ER0201' }
  expect(await outcomeOf(world.averba)).toMatchObject({ status: 'declined', problem })
  expect(world.portal.session.logins).toBe(1)
  answers = 'over'
  expect(await loginsAfter(world, 0)).toEqual([2])
})

test('an answer without a new token does not prolong the session', async () => {
  const intercept: WorldOptions['intercept'] = async (request, forward) => {
    const answer = await forward(request)
    if (request.url.includes('/ext/')) answer.headers.delete('x-csrf-token')
    return answer
  }
  const world = await given({ intercept }, login, 'accept')
  expect(await loginsAfter(world, 0, 50 * minuteMs, 50 * minuteMs)).toEqual([1, 1, 2])
  // The session was known to have ended: no call was refused.
  expect(callsOf(world)).toBe(3)
})
