import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { openSocket } from '../../../src/adapters/http/transport.ts'
import { type Averba, type AverbaOptions, serveReceivers, valueOf } from '../../../src/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { type RunningServices, samples, startServices } from '../../../src/simulation/index.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { validate } from '../../support/open-validating.ts'
import { hourMs } from '../../support/pass-time.ts'
import { applyPlan, inboxOf, secretsAt } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const _publicUrl = 'https://receptor.exemplo.br/averba'
const sources = ['127.0.0.0/8']

let services: RunningServices
beforeAll(async () => {
  services = await startServices()
})
beforeEach(() => services.reset())
afterAll(() => services.close())

const open = (options: Partial<AverbaOptions> = {}) =>
  openEngine({ store: temporaryStore(), ...services.options, ...options })

/** Serves receivers until the test ends, and returns the port. */
async function serve(receivers: Record<string, Averba['receiver']>): Promise<number> {
  const server = await serveReceivers({ receivers, certificate: services.receiver, host: '127.0.0.1', port: 0 })
  onTestFinished(server.close)
  return server.port
}

test('the tenants of one server have separate secrets and logs', async () => {
  const tenant = async (name: string) => {
    // The same master by mistake: the address derives other secrets from it.
    const receiver = { publicUrl: `https://receptor.exemplo.br/${name}`, sources, secretFrom: 'm'.repeat(32) }
    const averba = await open({ receiver, subscriptions: [{ evento }] })
    await applyPlan(averba)
    const { [evento]: secret = '' } = await secretsAt(services)
    services.reset() // Each tenant has its own account at the portal.
    return { averba, secret }
  }
  const [north, south] = [await tenant('norte'), await tenant('sul')]
  expect(north.secret).not.toBe(south.secret)
  const port = await serve({ '/norte': north.averba.receiver, '/sul': south.averba.receiver })
  const socket = closeAtEnd(openSocket({ clock: systemClock, ca: services.ca }))
  const post = async (path: string, { secret }: { secret: string }) => {
    const init = { method: 'POST', headers: { 'event-type': evento, secret }, body: `{"for":"${path}"}` }
    return (await socket.fetch(new Request(`https://localhost:${port}/${path}`, init))).status
  }
  expect([await post('norte', north), await post('sul', south)]).toEqual([200, 200])
  expect([await post('norte', south), await post('sul', north)]).toEqual([401, 401])
  expect(await inboxOf(north.averba)).toMatchObject([{ body: { for: 'norte' } }])
  expect(await inboxOf(south.averba)).toMatchObject([{ body: { for: 'sul' } }])
})

test('a stored token that cannot be opened is replaced, and nothing fails', async () => {
  const store = temporaryStore()
  const averba = await open({ store })
  valueOf(await validate(averba, 'v1'))
  await averba.close()
  const damage = "update secret set sealed = x'00' where name = 'token-default'"
  expect(useDatabase(store, database => database.prepare(damage).run().changes)).toBe(1)
  valueOf(await validate(await open({ store }), 'v2'))
  expect(services.requests.filter(({ service }) => service === 'tokenService')).toHaveLength(2)
})

test('a service that asks for an excessive wait is asked again after a day', async () => {
  const averba = await open()
  const retryAfterS = 365 * 86_400
  await services.faults.add({ kind: 'status', service: 'consentService', status: 503, retryAfterS, times: 1 })
  const begun = Date.now()
  const outcome = await averba.consents.sync({ subject: await averba.consents.enrol({ cpf: samples.cpf }) })
  expect(outcome.status).toBe('deferred')
  const waitMs = outcome.status === 'deferred' ? Date.parse(outcome.retryAt) - begun : 0
  expect(Math.round(waitMs / hourMs)).toBe(24)
})
