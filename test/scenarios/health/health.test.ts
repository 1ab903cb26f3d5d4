import { renameSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createMetrics } from '../../../src/cli/metrics.ts'
import { createProbes } from '../../../src/cli/status-server.ts'
import { type Averba, type AverbaOptions, portalSession } from '../../../src/index.ts'
import { samples, seededEntropy, VirtualClock } from '../../../src/simulation/index.ts'
import { createAuthority } from '../../../src/simulation/served/authority.ts'
import { answering } from '../../support/answers.ts'
import { checkOf } from '../../support/check-of.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { dayMs, hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openEngine, openWorld } from '../../support/world.ts'

/** The details of the failed checks, by name. */
async function troubles(averba: Averba): Promise<Record<string, string>> {
  const { checks } = await averba.health()
  return Object.fromEntries(checks.flatMap(each => (each.ok ? [] : [[each.name, each.detail]])))
}

test('a healthy log passes every check and lists what was checked', async () => {
  const { averba } = await openWorld()
  const { ready, checks } = await averba.health()
  expect(ready).toBe(true)
  expect(checks.map(each => each.name)).toEqual([
    ...['store', 'writing', 'keyring', 'times', 'erasures', 'views', 'effects', 'followers'],
    ...['notifications', 'consents', 'token', 'subscriptions', 'receiver'],
  ])
  expect(await troubles(averba)).toEqual({})
})

test('a follower works in one process, and the others say where it does', async () => {
  const store = temporaryStore()
  const calls: number[] = []
  const open = async (n: number) => {
    const averba = await openEngine({ store })
    averba.log.follow('fatura', ['subject.enrolled'], async () => void calls.push(n))
    return averba
  }
  const [one, other] = [await open(1), await open(2)]
  const detail = async (averba: Averba) => (await checkOf(averba, 'followers'))?.detail
  await one.consents.enrol({ cpf: samples.cpf })
  await one.settle()
  await other.settle()
  expect(calls).toEqual([1])
  expect(await detail(one)).toBe('no follower is parked')
  expect(await detail(other)).toBe('no follower is parked; in another process: fatura')
  await one.close()
  expect(await detail(other)).toBe('no follower is parked')
})

test('after a refused write a full disk is not ready for a minute', async () => {
  const { averba, clock, fillDisk } = await openWorld()
  await fillDisk(true)
  const writing = () => checkOf(averba, 'writing')
  expect(await writing()).toMatchObject({ ok: true })
  const work = async () => {
    for (let n = 1; n < 1_000; n++) await averba.consents.enrol({ cpf: cpfOf(n) })
  }
  await refuses('STORE_UNSAFE', work())
  expect(await averba.health()).toMatchObject({ ready: false, reasons: [expect.stringContaining('the disk is full')] })
  await clock.advance(59_999)
  expect(await writing()).toMatchObject({ ok: false })
  await fillDisk(false)
  await clock.advance(1)
  expect(await writing()).toEqual({ name: 'writing', ok: true, detail: 'it can be written' })
})

test('events dated ahead by a wrong clock are reported until their time has come', async () => {
  const { averba, clock } = await openWorld()
  const times = () => checkOf(averba, 'times')
  clock.jump(dayMs)
  await averba.consents.enrol({ cpf: samples.cpf })
  expect(await times()).toEqual({ name: 'times', ok: true, detail: 'no event is ahead of the clock' })
  clock.jump(-dayMs)
  expect(await times()).toMatchObject({ ok: false, detail: expect.stringContaining('2026-11-21T12:00') })
  expect((await averba.health()).ready).toBe(true)
  await clock.advance(dayMs - minuteMs)
  expect(await times()).toMatchObject({ ok: true })
})

test('events with refused notifications fail the check until one is accepted, each with why', async () => {
  const subscriptions = ['um', 'dois'].map(evento => ({ evento, chaveSecreta: 'certa' }))
  const { averba, lines } = await openWorld({ averba: { subscriptions } })
  const found = () => checkOf(averba, 'receiver')
  const send = async (evento: string, secret: string, remoteAddress: string, more: RequestInit = {}) => {
    const forwarded = { 'x-forwarded-for': '10.0.0.7, 189.9.1.2' }
    const headers = { 'event-type': evento, secret, ...forwarded, ...more.headers }
    const sent = new Request('https://receptor.exemplo.br', { method: 'POST', body: '{}', ...more, headers })
    return (await averba.receiver.fetch(sent, { remoteAddress })).status
  }
  const portal = '189.9.1.2'
  const detail = 'no declared event was refused since the last accepted notification'
  const well = { name: 'receiver', ok: true, detail }
  expect(await found()).toEqual(well)
  // An uncounted proxy: its address is mistaken for the sender's.
  for (const evento of ['um', 'dois', 'um', 'de-outrem']) expect(await send(evento, 'certa', '10.0.0.1')).toBe(403)
  expect(lines[0]).toMatchObject({ status: 403, detail: '2 forwarded hops, trustedProxies 0', evento: 'um' })
  const refused = 'refused since the last accepted notification: um 2 ADDRESS_REFUSED, dois 1 ADDRESS_REFUSED'
  const remedy = 'check receiver.trustedProxies and receiver.sources, and see the log lines'
  expect(await found()).toEqual({ name: 'receiver', ok: false, detail: `${refused}: ${remedy}` })
  expect((await averba.health()).ready).toBe(true)
  expect(await send('dois', 'certa', portal)).toBe(200)
  expect(await found()).toEqual(well)
  // An accepted event says nothing about the secrets of another.
  expect(await send('um', 'errada', portal)).toBe(401)
  expect(await send('um', 'certa', portal, { headers: { 'content-length': '9' } })).toBe(500)
  expect(await send('um', 'certa', portal, { method: 'PUT' })).toBe(405)
  expect((await found())?.detail).toMatch(/um 1 SECRETS_REFUSED, um 1 BODY_CONSUMED, um 1 METHOD_REFUSED: compare/)
  expect(await send('dois', 'certa', portal)).toBe(200)
  expect((await found())?.detail).toMatch(/: um 1 SECRETS_REFUSED: compare with the portal by subscriptions\.plan/)
  expect(await send('um', 'certa', portal)).toBe(200)
  expect(await found()).toEqual(well)
})

test('a receiver that serves handlers only, without declared subscriptions, tells of refusals too', async () => {
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', trustedProxies: 2 }
  const { averba } = await openWorld({ averba: { receiver, subscriptions: [] } })
  averba.notifications.handle('um', 'erp', async () => undefined)
  for (const evento of ['um', 'de-outrem']) {
    const headers = { 'event-type': evento, 'x-forwarded-for': '189.9.1.2' }
    const sent = new Request(receiver.publicUrl, { method: 'POST', body: '{}', headers })
    expect((await averba.receiver.fetch(sent, { remoteAddress: '10.0.0.1' })).status).toBe(403)
  }
  const detail = expect.stringContaining(': um 1 ADDRESS_REFUSED: check')
  expect(await checkOf(averba, 'receiver')).toMatchObject({ ok: false, detail })
})

test('a process that cannot read the keys which another has begun is not ready, and records again once it can', async () => {
  const store = temporaryStore()
  const service = { isDown: false }
  const turn = async (bytes: Uint8Array) => bytes.map(byte => byte ^ 1)
  const unwrap = async (bytes: Uint8Array) => {
    if (service.isDown) throw new RangeError('the service is down')
    return turn(bytes)
  }
  const keys = { id: 'kms-1', wrap: turn, unwrap, destroyEpoch: async () => undefined }
  const clock = new VirtualClock()
  const open = (seed: number) => openEngine({ store, keys, clock, entropy: seededEntropy(seed) })
  const [one, other] = [await open(1), await open(2)]
  const subject = await one.consents.enrol({ cpf: samples.cpf })
  await one.subjects.erase({ subject }, { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' })
  service.isDown = true
  await refuses('KEYS_MISMATCH', other.consents.enrol({ cpf: '52998224725' }))
  const ofRootKey = expect.stringContaining('root key')
  expect(await troubles(other)).toEqual({ writing: ofRootKey, keyring: ofRootKey })
  expect((await other.health()).ready).toBe(false)
  service.isDown = false
  await other.consents.enrol({ cpf: '52998224725' })
  await clock.advance(61_000)
  expect((await other.health()).ready).toBe(true)
})

test('a log without its keyring is not ready', async () => {
  const store = temporaryStore()
  const averba = await openEngine({ store })
  expect(await averba.health()).toMatchObject({ ready: true })
  renameSync(`${store}.keys`, `${store}.away`)
  expect(await averba.health()).toMatchObject({ ready: false })
  expect(await troubles(averba)).toEqual({ keyring: expect.stringContaining('Put back the one') })
  await averba.close()
  // A closed store is reported, not thrown.
  expect(await averba.health()).toMatchObject({ ready: false })
})

test.each([500, 403])('consents unread for over three intervals (%i) fail the check and are logged', async status => {
  let isBroken = false
  const isCut = ({ url }: Request) => isBroken && url.includes('consentimento')
  const { averba, clock, lines } = await openWorld({
    averba: { schedules: true },
    intercept: answering(isCut, () => Response.json({ title: 'CANARIO', status }, { status })),
  })
  const { consents } = averba
  const settle = () => clock.finish(averba.settle())
  const after = (times: number, ms = hourMs) => passTime({ averba: { settle }, clock }, ms, times)
  const first = await consents.enrol({ cpf: samples.cpf })
  await after(30, dayMs)
  // The wait of a subject enrolled long ago counts from now.
  await consents.schedule({ subject: first }, { syncEveryMs: hourMs })
  await consents.enrol({ cpf: cpfOf(7) }, { syncEveryMs: 7 * dayMs })
  expect(await troubles(averba)).toEqual({})
  await after(1)
  isBroken = true
  await consents.enrol({ cpf: cpfOf(8) }, { syncEveryMs: hourMs })
  await after(2)
  expect(await troubles(averba)).toEqual({})
  const well = '3 data subjects can be read as often as configured'
  expect(await consents.syncPlan()).toMatchObject({ ok: true, overdue: 0, detail: well })
  expect(lines).toEqual([])
  await after(24)
  const detail = '2 of 3 data subjects have not been read for over three intervals'
  expect(await troubles(averba)).toEqual({ consents: expect.stringContaining(`${detail}: see effects.list()`) })
  expect((await averba.health()).ready).toBe(true)
  expect(await consents.syncPlan()).toMatchObject({ ok: false, overdue: 2, detail })
  expect(lines).toContainEqual({ level: 'warn', message: 'consents cannot be read as often as configured', detail })
  isBroken = false
  await after(2)
  expect(await troubles(averba)).toEqual({})
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

/** An engine with the probes of its status server. */
async function givenProbes(options: Partial<AverbaOptions> = {}) {
  const store = temporaryStore()
  const clock = new VirtualClock()
  const averba = await openEngine({ store, clock, ...options })
  const metrics = createMetrics(averba, clock)
  const stop = new AbortController()
  const probes = createProbes(averba, metrics, stop.signal)
  const get = async (path: string) => {
    const { status, body } = (await probes[path]?.()) ?? { status: 0, body: {} }
    return { status, body: JSON.parse(JSON.stringify(body)) }
  }
  return { store, clock, averba, stop, get }
}

test('ready while all is well, no longer once it is told to stop, and not alive once its store does not answer', async () => {
  const { averba, get, stop } = await givenProbes()
  expect(await get('/healthz')).toMatchObject({ status: 200, body: { alive: true } })
  expect(await get('/readyz')).toMatchObject({ status: 200, body: { ready: true, reasons: [] } })
  stop.abort()
  expect(await get('/readyz')).toEqual({ status: 503, body: { ready: false, reasons: ['it is stopping'] } })
  expect(await get('/healthz')).toMatchObject({ status: 200 })
  await averba.close()
  expect(await get('/healthz')).toMatchObject({ status: 503, body: { alive: false } })
})

test('a store that can be read but not written is alive and not ready', async () => {
  const { store, get } = await givenProbes()
  const other = new Sqlite(store)
  other.exec('begin immediate')
  expect(await get('/healthz')).toMatchObject({ status: 200 })
  const reasons = [expect.stringMatching(/^writing: /)]
  expect(await get('/readyz')).toMatchObject({ status: 503, body: { ready: false, reasons } })
  other.exec('rollback')
  other.close()
  expect(await get('/readyz')).toMatchObject({ status: 200 })
})

const { baseUrl } = consentServiceWith({})
const issued = new VirtualClock().now() - 355 * dayMs
const certificate = await (await createAuthority(issued)).issueClient('gestora')
const authenticate = portalSession({ certificate: () => certificate, roleType: 'IMPEXP' })
const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }

test.each<[string, string, Partial<AverbaOptions>]>([
  ['certificate', 'consentService', { consentService: consentServiceWith({ certificate }) }],
  ['portalCertificate', 'portal', { portal: { baseUrl, authenticate } }],
  ['receiverCertificate', 'receiver', { receiver, run: { receiver: { certificate } } }],
])(
  'a %s is announced and shown with its days left, fails in its last week, and makes it not ready once it has expired',
  async (name, service, options) => {
    const { averba, clock, get } = await givenProbes(options)
    const announced: unknown[] = []
    averba.on('certificate.expiring', ({ data }) => announced.push(data))
    await averba.settle({ timeoutMs: 0 })
    expect(announced).toEqual([{ service, daysLeft: 10 }])
    const { checks } = (await get('/readyz')).body
    expect(checks).toContainEqual({ name, ok: true, daysLeft: 10, detail: 'it ends in 10 days' })
    await clock.advance(4 * dayMs)
    const soon = await get('/readyz')
    expect(soon.status).toBe(200)
    expect(soon.body.checks).toContainEqual({ name, ok: false, daysLeft: 6, detail: expect.stringContaining('renew') })
    await clock.advance(7 * dayMs)
    const reasons = [expect.stringMatching(`^${name}: .*it expired on`)]
    expect(await get('/readyz')).toMatchObject({ status: 503, body: { ready: false, reasons } })
  },
)
