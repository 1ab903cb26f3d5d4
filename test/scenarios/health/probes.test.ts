import { expect, test } from 'vitest'
import { createMetrics } from '../../../src/cli/metrics.ts'
import { createProbes } from '../../../src/cli/status-server.ts'
import { type AverbaOptions, portalSession } from '../../../src/index.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { createAuthority } from '../../../src/simulation/served/authority.ts'
import { dayMs } from '../../support/pass-time.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openEngine } from '../../support/world.ts'

async function given(options: Partial<AverbaOptions> = {}) {
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
  const { averba, get, stop } = await given()
  expect(await get('/healthz')).toMatchObject({ status: 200, body: { alive: true } })
  expect(await get('/readyz')).toMatchObject({ status: 200, body: { ready: true, reasons: [] } })
  stop.abort()
  expect(await get('/readyz')).toEqual({ status: 503, body: { ready: false, reasons: ['it is stopping'] } })
  expect(await get('/healthz')).toMatchObject({ status: 200 })
  await averba.close()
  expect(await get('/healthz')).toMatchObject({ status: 503, body: { alive: false } })
})

test('a store that can be read but not written is alive and not ready', async () => {
  const { store, get } = await given()
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
    const { averba, clock, get } = await given(options)
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
