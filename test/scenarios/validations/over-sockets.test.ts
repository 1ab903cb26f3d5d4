import { createServer } from 'node:https'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { openSocket } from '../../../src/adapters/http/transport.ts'
import { type Averba, type AverbaOptions, type LogLine, serveReceivers, valueOf } from '../../../src/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { type RunningServices, samples, startServices } from '../../../src/simulation/index.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { earlyReadingReason } from '../../support/hastened.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { validate } from '../../support/open-validating.ts'
import { hourMs } from '../../support/pass-time.ts'
import { applyPlan, deliver, inboxOf, secretsAt } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const publicUrl = 'https://receptor.exemplo.br/averba'
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

test('notifications lost without a receiver are recovered once and handled', async () => {
  const receiver = { publicUrl, sources, secretFrom: 'm'.repeat(32) }
  const averba = await open({ receiver, subscriptions: [{ evento }] })
  await applyPlan(averba)
  services.connect('receptor.exemplo.br', 9) // No server listens there.
  expect(await deliver(services, { numero: 1 })).toMatchObject([{ isDelivered: false }])
  services.connect('receptor.exemplo.br', await serve({ '/averba': averba.receiver }))
  expect(await deliver(services, { numero: 2 })).toMatchObject([{ isDelivered: true }])
  const handled: string[] = []
  averba.notifications.handle(evento, 'crm', async ({ origin, body, recipient }) => {
    handled.push(`${origin} ${JSON.stringify(body)} ${recipient?.id}`)
  })
  for (let times = 0; times < 2; times++) await averba.subscriptions.recover()
  await averba.settle()
  expect(handled).toEqual([`delivered {"numero":2} ${samples.cnpj}`, 'recovered {"numero":1} undefined'])
})

test('notifications consumed by a body parser are recovered once and handled', async () => {
  const subscriptions = [{ evento, chaveSecreta: 'uma-chave' }]
  const receiver = { publicUrl: 'https://lido.exemplo.br/averba', sources }
  const lines: LogLine[] = []
  const averba = await open({ subscriptions, receiver, logger: line => void lines.push(line) })
  await applyPlan(averba)
  const handled: unknown[] = []
  averba.notifications.handle(evento, 'crm', async ({ body }) => void handled.push(body))
  const server = createServer(services.receiver, (incoming, outgoing) => {
    incoming.once('data', () => averba.receiver.listener(incoming, outgoing))
  })
  services.connect('lido.exemplo.br', await listenUntilEnd(server))
  const bodies = ['26BR1', '26BR2'].map(numero => ({ numero }))
  for (const body of bodies) expect(await deliver(services, body)).toMatchObject([{ description: 'HTTP 500' }])
  expect(lines).toContainEqual({
    level: 'error',
    message: 'a notification reached the receiver incomplete',
    error: 'BODY_CONSUMED',
    detail: 'Cannot read the notification: its body was consumed before: Put the receiver before any body parser',
    evento,
  })
  await expect.poll(() => earlyReadingReason(averba)).toBe('unstored')
  await averba.subscriptions.recover()
  await averba.settle()
  expect(handled).toEqual(bodies)
})

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
