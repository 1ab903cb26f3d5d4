import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  type Averba,
  type AverbaOptions,
  type PortalLogin,
  portalAccessKeys,
  portalSession,
  valueOf,
} from '../../../src/index.ts'
import type { World, WorldOptions } from '../../../src/simulation/index.ts'
import { minuteMs } from '../../support/pass-time.ts'
import { openBeside } from '../../support/portal.ts'
import { standStill } from '../../support/stand-still.ts'
import { tellEach, tellStory, toMs } from '../../support/tell-story.ts'
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

const loginsOf = ({ requests }: Pick<World, 'requests'>) =>
  requests.filter(({ path }) => /autenticar(\/chave-acesso)?$/.test(path)).length

type LoginOf = (who: () => string, profile?: string) => PortalLogin
const withCertificate: LoginOf = who => portalSession({ certificate: () => ({ cert: who(), key: '' }), roleType })

const deferred = (reason: RegExp) => ({ status: 'deferred', reason: expect.stringMatching(reason) })
const declined = (status: number) => ({ status: 'declined', problem: { status, code: 'PUCX-ER0201' } })
/** How a plan or an apply ends that cannot be made. */
const ends: Readonly<Record<string, object>> = {
  quiet: { ...quiet, retryAt },
  waits: { status: 'deferred', retryAt },
  later: { status: 'deferred' },
  refused: deferred(/^CREDENTIALS_REFUSED: .* 422/),
  mistaken: { ...deferred(/^CREDENTIALS_REFUSED: the portal answered the login 422 PLAT-ER8008$/), retryAt },
  rejected: deferred(/^the portal rejects a new session: 401 PUCX-ER0201$/),
  unprofiled: deferred(/one login a minute/),
  ...{ 401: declined(401), 403: declined(403) },
}

/**
 * Plays a story about the session of a log at the portal.
 *
 * | step | meaning |
 * | --- | --- |
 * | `plan`, `plan quiet`, `plan answered 503` | plans; which ends so: see `ends`; since the login was answered so |
 * | `apply`, `apply quiet`, `all at once` | applies the last plan; plans twice and reads the failures |
 * | `open`, `open DEPOSIT`, `open ahead 5 min` | another process of the log; of this profile; whose clock is ahead |
 * | `other plan`, `other plan quiet`, `close` | the other process plans; ends |
 * | `as joao` | the credentials are those of another person; those of `errada` are refused |
 * | `session ends`, `log in elsewhere` | the portal ends it; somebody logs in there |
 * | `login 503`, `login 422 1`, `login lost`, `portal up` | how the portal answers logins, so often; as usual |
 * | `answers 403`, `answers bare`, `answers` | how it answers calls: `renewed`, `until login`, `bare` without a token; as usual |
 * | `logins 2`, `asked 2`, `calls 7` | logins that the portal made; that it was asked for; other calls |
 * | `paths autenticar webhook` | the last names of the paths since the last look |
 * | `states declined` | those of the calls |
 */
async function play(story: string, loginOf: LoginOf = () => login, olderTokens?: 'accept' | 'refuse'): Promise<void> {
  let [who, asked, looked, hash] = ['maria', 0, 0, '']
  let mode: string[] = []
  const intercept: NonNullable<WorldOptions['intercept']> = async (request, forward) => {
    const isLogin = request.url.includes('/autenticar')
    if (isLogin) asked += 1
    if (isLogin && mode.includes('until')) mode = []
    if (request.headers.get('client-id') === 'errada') return Response.json({ code: 'PLAT-ER8008' }, { status: 422 })
    const answer = await forward(request)
    const [status = ''] = isLogin ? [] : mode
    if (status === 'bare') answer.headers.delete('x-csrf-token')
    if (!Number(status)) return answer
    const headers = mode.includes('renewed') ? { 'x-csrf-token': answer.headers.get('x-csrf-token') ?? '' } : {}
    return Response.json({ code: 'PUCX-ER0201', message: 'Não permitido' }, { status: Number(status), headers })
  }
  const shared = await givenShared(
    { intercept },
    loginOf(() => who),
    olderTokens,
  )
  const { averba, clock, faults, portal, reach, requests, world, openOther } = shared
  let other = averba
  const open = async (aheadMs: number, profile?: string) => {
    const authenticate = loginOf(() => who, profile)
    const fetch = (request: Request) => intercept(request, each => reach.portal(each))
    other = await openOther({ aheadMs, fetch, portal: { baseUrl, authenticate } })
  }
  const plan = async (by: Averba, end?: string) => {
    if (end)
      return expect(await clock.finish(outcomeOf(by))).toMatchObject(ends[end] ?? expect.fail(`No end is ${end}`))
    hash = (await clock.finish(by.subscriptions.plan())).hash
  }
  const { subscriptions } = averba
  await tellStory(
    { averba, clock },
    {
      plan: end => plan(averba, end),
      'plan answered': async status =>
        expect(await outcomeOf(averba)).toMatchObject(deferred(new RegExp(`^the portal answered the login ${status}`))),
      async apply(end) {
        const applied = subscriptions.apply({ hash })
        if (end) await expect(applied).rejects.toMatchObject({ code: 'OUTCOME', outcome: ends[end] })
        else for (const each of await applied) valueOf(each)
      },
      'all at once': () => Promise.all([subscriptions.plan(), subscriptions.plan(), subscriptions.failures()]),
      open: profile => open(0, profile),
      'open ahead': (n, unit) => open(toMs(n, unit)),
      'other plan': end => plan(other, end),
      close: () => other.close(),
      as(name) {
        who = name
      },
      'session ends': () => portal.session.end(),
      async 'log in elsewhere'() {
        const headers = { 'role-type': 'X' }
        const elsewhere = new Request(`${baseUrl}/portal/api/autenticar`, { method: 'POST', headers })
        expect((await portal.fetch(elsewhere)).status).toBe(200)
      },
      login: (status, times) =>
        faults.add({
          ...{ kind: 'status', status: Number(status), path: '/autenticar', service: 'portal' },
          ...(times && { times: Number(times) }),
        }),
      'login lost': () => faults.add({ kind: 'lose', path: '/autenticar', service: 'portal', times: 1 }),
      'portal up': () => faults.clear(),
      'answers ...'(...words) {
        mode = words
      },
      logins: n => expect(portal.session.logins).toBe(Number(n)),
      asked: n => expect(asked).toBe(Number(n)),
      calls: n => expect(requests.filter(({ path }) => path.includes('/ext/'))).toHaveLength(Number(n)),
      'paths ...'(...names) {
        const paths = requests.slice(looked).map(each => /[\w-]+(?=$|\?)/.exec(each.path)?.[0])
        looked = requests.length
        expect(paths).toEqual(names)
      },
      'states ...': async (...states) =>
        expect((await world.averba.effects.list()).map(each => each.state)).toEqual(states),
    },
    story,
  )
}

tellEach(
  {
    'one login serves all calls, each with the latest token; older tokens: refused':
      'all at once, plan, apply, logins 1, asked 1, calls 6',
    // No call is refused: the session is known to have ended.
    'a session is used until it ends, then a new login follows':
      'plan, 5 × (50 min; plan), logins 1, 60 min, plan, logins 2, calls 7',
    'after the portal ended a session, one login follows and the call is made':
      'plan, 2 min, session ends, all at once, logins 2',
    'a session that ends within a minute of its login defers calls without another login':
      'plan, session ends, apply quiet, asked 1, 61 s, apply, logins 2',
    'after a login elsewhere, calls are deferred for a minute':
      'log in elsewhere, 3 × (plan waits), asked 1, 61 s, plan, logins 2',
    'a declined login is CREDENTIALS_REFUSED and repeated at most once a minute':
      'login 422, 5 × (plan refused), asked 1, portal up, 61 s, plan, logins 1',
    'a login answered 408 is not CREDENTIALS_REFUSED': 'login 408, plan answered 408',
    'a login answered 429 is not CREDENTIALS_REFUSED': 'login 429, plan answered 429',
    'a login answered 503 is not CREDENTIALS_REFUSED': 'login 503, plan answered 503',
    'a login whose answer was lost is not repeated within a minute': 'login lost, plan waits, 61 s, plan, logins 2',
    // Older tokens are refused: the token of each answer must be kept.
    'a session from a process with a clock ahead is renewed and ends like any other':
      'open ahead 365 d, other plan, close, 3 × (plan), logins 1, session ends, 2 min, 2 × (plan), logins 2',
    'a login refused to a process with a clock ahead delays others for a minute at most':
      'open ahead 5 min, login 422 1, other plan later, 61 s, plan, logins 1',
    // Within the minute nothing is sent, and the portal's answer is reported.
    'a 401 right after login is declined and does not log in again': `
      answers 401, plan 401, plan rejected, calls 1, 24 × 60 min, logins 2, states declined declined, answers, plan,
      logins 3`,
    'a 403 without a new token means an ended session; one with a new token is declined':
      'plan, logins 1, answers 403 renewed, 2 min, plan 403, logins 1, answers 403 until login, plan, logins 2',
  },
  story => play(story),
)

tellEach(
  {
    'one login serves all calls, each with the latest token; older tokens: accepted':
      'all at once, plan, apply, logins 1, asked 1, calls 6',
    // The session was known to have ended: no call was refused.
    'an answer without a new token does not prolong the session':
      'answers bare, 2 × (plan; 50 min), logins 1, plan, logins 2, calls 3',
  },
  story => play(story, undefined, 'accept'),
)

tellEach(
  {
    'with keys of another person a new login follows, and the former session is not used': `
      2 × (plan), paths chave-acesso webhook webhook, 2 min, as joao, 2 × (plan), paths chave-acesso webhook webhook`,
    // The simulated portal refuses this profile; only the requests count.
    'a second login within a minute waits, for any person, but not for another profile': `
      plan, as joao, plan quiet, asked 1, open DEPOSIT, other plan unprofiled, asked 2, as maria, plan, asked 2, as joao,
      61 s, plan, asked 3`,
    // Every process reports the refusal of the refused keys.
    'corrected access keys do not inherit the former refusal, but wait out the minute': `
      as errada, plan mistaken, as certa, plan quiet, open, other plan quiet, as errada, plan mistaken,
      other plan mistaken, asked 1, as certa, 61 s, other plan, plan, asked 2`,
  },
  story => play(story, keysOf),
)

tellEach(
  {
    'with another certificate a new login follows, and the former session is not used':
      '2 × (plan), paths autenticar webhook webhook, 2 min, as joao, 2 × (plan), paths autenticar webhook webhook',
  },
  story => play(story, withCertificate),
)

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
