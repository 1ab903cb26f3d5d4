import { existsSync, renameSync, statSync, truncateSync } from 'node:fs'
import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AverbaOptions, examine, openAverba, portalAccessKeys } from '../../../src/index.ts'
import { type Clock, systemClock } from '../../../src/runtime/clock.ts'
import { type RunningServices, startServices } from '../../../src/simulation/index.ts'
import { createAuthority } from '../../../src/simulation/served/authority.ts'
import { freePort } from '../../support/free-port.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { applyPlan } from '../../support/portal.ts'
import { makeSampleStore } from '../../support/sample-store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

let services: RunningServices
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.close())

const given = (more: Partial<AverbaOptions> = {}): AverbaOptions => ({
  ...services.options,
  store: temporaryStore(),
  receiver: { publicUrl: 'https://receptor.exemplo.br/averba' },
  subscriptions: [{ evento: 'e', chaveSecreta: 'segredo-canario' }],
  ...more,
})

/** The details of the failed checks, by name. */
async function troubles(options: AverbaOptions, how?: Parameters<typeof examine>[1]) {
  const { ok, checks } = await examine(options, how)
  const wrong = checks.filter(each => !each.ok)
  expect(ok).toBe(wrong.length === 0)
  return Object.fromEntries(wrong.map(({ name, detail }) => [name, detail]))
}

/** One check of a configuration. */
const examined = async (options: AverbaOptions, name: string) =>
  (await examine(options)).checks.find(each => each.name === name)

const clockAt = (offsetMs: number): Clock => ({ ...systemClock, now: () => systemClock.now() + offsetMs })

test('a healthy configuration passes every check without a call or a write', async () => {
  const before = { requests: services.requests.length, tokens: services.tokenService.requests }
  const options = given()
  const { checks, store } = await examine(options)
  expect(await troubles(options)).toEqual({})
  expect(checks.map(each => each.name)).toEqual([
    ...['configuration', 'store', 'writing', 'certificate'],
    ...['consentService', 'tokenService', 'validationService', 'portal', 'clock'],
  ])
  expect(store).toBeUndefined()
  expect(existsSync(options.store)).toBe(false)
  expect(services.tokenService.requests).toBe(before.tokens)
  const sent = services.requests.slice(before.requests)
  expect(sent.filter(({ method, path }) => method !== 'GET' || path !== '/')).toEqual([])
})

test('the ports of averba run are tried: what no process can listen on is wrong, and one in use is told', async () => {
  const port = await listenUntilEnd(createServer())
  const certificate = async () => ({ cert: '', key: '' })
  const portsOf = (run: NonNullable<AverbaOptions['run']>) => examined(given({ run }), 'ports')
  expect(await portsOf({ port, receiver: { port: 0, certificate } })).toEqual({
    ...{ name: 'ports', ok: true },
    detail: `run (127.0.0.1:${port}) is in use: by averba run, or by another program; run.receiver (*:0) can listen`,
  })
  // An address for documentation (RFC 5737).
  expect(await portsOf({ port: 0, receiver: { host: '192.0.2.1', port: 443, certificate } })).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/run\.receiver \(192\.0\.2\.1:443\) cannot listen \(EADDRNOTAVAIL\): give a host/),
  })
  const free = await freePort()
  expect(await portsOf({ port: free, receiver: { host: '127.0.0.1', port: free, certificate } })).toMatchObject({
    ok: false,
    detail: expect.stringContaining(`run.receiver (127.0.0.1:${free}) has the port of run`),
  })
})

test('the last delivery of each active subscription is shown, as the portal was last listed', async () => {
  const options = given()
  const averba = await openEngine(options)
  const found = async () => (await examined(options, 'subscriptions'))?.detail
  await applyPlan(averba)
  expect(await found()).toMatch(/^no delivery of an active subscription has succeeded/)
  // The row of the list is that of the next reading.
  const row = { ...(await averba.subscriptions.list())[0], chaveSecreta: 'segredo-canario' }
  const listed = { ...row, dataRegistro: '20-11-2026 09:00:00', dataUltimoSucesso: '21-11-2026 10:00:00' }
  await averba.close()
  const again = await openEngine({ ...options, fetch: async () => Response.json([listed]) })
  await again.subscriptions.plan()
  expect(await found()).toBe('the portal last delivered e (2026-11-21T13:00:00.000Z)')
})

test('a store in use is checked, and parked calls and missing files are reported', async () => {
  const options = given()
  const averba = await openEngine(options)
  expect(await troubles(options)).toEqual({})
  const subject = await averba.consents.enrol({ cpf: services.samples.cpf })
  await services.faults.add({ kind: 'status', status: 503, service: 'consentService', times: 1 })
  const { effect } = await averba.consents.sync({ subject })
  await averba.effects.park(effect)
  expect(await troubles(options)).toEqual({
    effects: "1 parked, 0 with an unknown outcome: see effects.list({ state: 'parked' })",
  })
  await averba.close()
  const without = async (end: string) => {
    renameSync(`${options.store}${end}`, `${options.store}.away`)
    const found = await troubles(options)
    renameSync(`${options.store}.away`, `${options.store}${end}`)
    return found
  }
  expect(await without('.keys')).toMatchObject({ keyring: expect.stringMatching(/is missing: restore it/) })
  const ofMark = expect.stringContaining('the high-water mark is missing')
  expect(Object.values(await without('.mark'))).toContainEqual(ofMark)
  expect(await without('')).toEqual({ store: expect.stringContaining('restore a backup') })
})

test('a store file cut off within a page is reported, as when it is opened', async () => {
  const options = given({ store: await makeSampleStore(3) })
  truncateSync(options.store, statSync(options.store).size - 100)
  expect(await troubles(options)).toEqual({ store: expect.stringMatching(/: it ends within a page: it was cut off: /) })
  await expect(openAverba(options)).rejects.toMatchObject({ code: 'CORRUPT' })
})

test('unusable options, secrets and certificates are reported by name', async () => {
  const { consentService, tokenService, portal } = services.options
  const fail = () => {
    throw new Error('segredo-canario')
  }
  const expired = await (await createAuthority(systemClock.now() - 400 * 86_400_000)).issueClient('gestora')
  const { client } = services
  const authenticate = portalAccessKeys({ clientId: 'a', clientSecret: fail, roleType: 'IMPEXP' })
  const ofToken = (more: object) => ({ tokenService: { ...tokenService, ...more } })
  const ofConsents = (certificate: unknown) => ({
    consentService: { ...consentService, certificate: certificate as never },
  })
  const wrongs: [Partial<AverbaOptions>, string, RegExp][] = [
    [{ storee: 'x' } as Partial<AverbaOptions>, 'configuration', /Unknown option "storee": Known options: /],
    [ofToken({ consumerSecret: fail }), 'configuration', /Cannot get the consumer secret/],
    [ofToken({ consumerKey: () => '' }), 'configuration', /consumer key: it is empty/],
    [
      ofToken({ consumerKey: () => '', consumerSecret: fail }),
      ...(['configuration', /consumer key: it is empty; Cannot get the consumer secret/] as const),
    ],
    [{ subscriptions: [{ evento: 'e', chaveSecreta: fail }] }, 'configuration', /Cannot get the chaveSecreta/],
    [{ portal: { ...portal, authenticate } }, 'configuration', /Cannot get the clientSecret of the portal/],
    [ofConsents(() => undefined), 'certificate', /it has neither cert and key nor pfx: Give { cert, key }/],
    [ofConsents(expired), 'certificate', /it expired on .*: Renew it/],
    [ofConsents({ cert: client.cert, key: expired.key }), 'certificate', /its key belongs to another certificate/],
  ]
  for (const [options, check, said] of wrongs) {
    const found = await troubles(given(options))
    expect(found).toMatchObject({ [check]: expect.stringMatching(said) })
    expect(JSON.stringify(found)).not.toContain('segredo-canario')
  }
})

test('an unreachable or wrong service is reported with what to do', async () => {
  const { consentService, validationService, portal } = services.options
  const other = await createAuthority(systemClock.now(), 'another')
  const options = given({
    consentService: { ...consentService, ca: other.ca },
    validationService: { ...validationService, baseUrl: 'https://nao-existe.invalid' },
    portal: { ...portal, baseUrl: 'https://localhost:1' },
  })
  expect(await troubles(options)).toEqual({
    consentService: expect.stringContaining('is the option ca missing or wrong?'),
    validationService: expect.stringContaining('correct its address'),
    portal: expect.stringContaining('nothing listens at its address and port'),
  })
})

test.each([
  ['an hour ahead is reported', 3_600_000, [/^it is 3\d{3} s ahead of the consentService, .*: set it by NTP$/]],
  ['two minutes behind is reported', -120_000, [/^it is 1[12]\d s behind the consentService, .*: set it by NTP$/]],
  ['less than a minute ahead is ok', 50_000, []],
])('a clock that is %s', async (_, offsetMs, words) => {
  const found = Object.entries(await troubles(given({ clock: clockAt(offsetMs) })))
  expect(found).toEqual(words.map(each => ['clock', expect.stringMatching(each)]))
})

test('a token is requested only on demand, and the answer of the gateway is reported', async () => {
  const before = services.tokenService.requests
  expect(await troubles(given(), { token: true })).toEqual({})
  expect(services.tokenService.requests).toBe(before + 1)
  const tokenService = { ...services.options.tokenService, consumerSecret: 'outro-canario' }
  expect(await troubles(given({ tokenService }), { token: true })).toEqual({
    token: 'the gateway answered 401: correct the consumer key and secret',
  })
})

test('health contacts the services only when asked to', async () => {
  const averba = await openEngine(given({ clock: clockAt(3_600_000) }))
  const before = services.requests.length
  const names = async (reach: boolean) =>
    (await averba.health({ reach })).checks.filter(each => !each.ok).map(each => each.name)
  expect(await names(false)).toEqual([])
  expect(services.requests).toHaveLength(before)
  expect(await names(true)).toEqual(['clock'])
  expect((await averba.health({ reach: true })).ready).toBe(true)
})

test('a log of another portal is reported, as when it is opened', async () => {
  const options = given()
  const averba = await openEngine(options)
  await averba.subscriptions.plan()
  await averba.close()
  expect(await troubles(options)).toEqual({})
  const portal = { ...services.options.portal, baseUrl: 'https://outro.exemplo.br' }
  const fetch = async () => new Response(null, { status: 404 })
  const message = expect.stringContaining(`this log belongs to the one at "${services.options.portal.baseUrl}`)
  await expect(openAverba({ ...options, portal })).rejects.toMatchObject({ code: 'MISCONFIGURED', message })
  expect(await troubles({ ...options, portal, fetch })).toEqual({ portal: message })
})
