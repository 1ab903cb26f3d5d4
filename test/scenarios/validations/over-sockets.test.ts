import { createServer } from 'node:https'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { openSocket } from '../../../src/adapters/http/transport.ts'
import { type Averba, type AverbaOptions, type LogLine, serveReceivers, valueOf } from '../../../src/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { type RunningServices, samples, startServices } from '../../../src/simulation/index.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { earlyReadingReason } from '../../support/hastened.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { applyPlan } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine } from '../../support/world.ts'

const { cpf, cnpj } = samples
const evento = 'dimp-situacao-import'
const claims = { nome: 'Maria de Exemplo Souza' }

let services: RunningServices
beforeAll(async () => {
  services = await startServices()
})
beforeEach(() => services.reset())
afterAll(() => services.close())

async function open(options: Partial<AverbaOptions> = {}): Promise<Averba> {
  const averba = await openEngine({ store: temporaryStore(), ...services.options, ...options })
  return averba
}

const validate = (averba: Averba, id: string) => averba.validations.validate({ id, cpf, claims })
/** The portal's subscriptions, with secrets. */
async function listed(): Promise<{ endpoint: string; chaveSecreta: string }[]> {
  const request = new Request('https://portal.exemplo.br/portal/api/ext/webhook', {
    headers: services.portalHeaders,
  })
  return (await services.portal.fetch(request)).json()
}

const sentTo = (service: string) => services.requests.filter(each => each.service === service).length

test('notifications lost without a receiver are recovered once and handled', async () => {
  const publicUrl = 'https://receptor.exemplo.br/averba'
  const receiver = { publicUrl, sources: ['127.0.0.0/8'], secretFrom: 'm'.repeat(32) }
  const averba = await open({ receiver, subscriptions: [{ evento }] })
  await applyPlan(averba)
  const notify = async (numero: number) => {
    const notice = { evento, destinatarioTipo: 'CNPJ', destinatarioId: cnpj, body: { numero } } as const
    return (await services.portal.notify(notice)).map(each => each.isDelivered)
  }
  services.connect('receptor.exemplo.br', 9) // No server listens there.
  expect(await notify(1)).toEqual([false])
  const receivers = { '/averba': averba.receiver }
  const certificate = services.receiver
  const server = await serveReceivers({ receivers, certificate, host: '127.0.0.1', port: 0 })
  onTestFinished(server.close)
  services.connect('receptor.exemplo.br', server.port)
  expect(await notify(2)).toEqual([true])
  const handled: unknown[] = []
  averba.notifications.handle(evento, 'crm', async ({ origin, body, recipient }) => {
    handled.push([origin, body, recipient?.id])
  })
  await averba.subscriptions.recover()
  await averba.subscriptions.recover()
  await averba.settle()
  expect(handled).toEqual([
    ['delivered', { numero: 2 }, cnpj],
    ['recovered', { numero: 1 }, undefined],
  ])
})

test('notifications consumed by a body parser are recovered once and handled', async () => {
  const subscriptions = [{ evento, chaveSecreta: 'uma-chave' }]
  const receiver = { publicUrl: 'https://lido.exemplo.br/averba', sources: ['127.0.0.0/8'] }
  const lines: LogLine[] = []
  const averba = await open({ subscriptions, receiver, logger: line => void lines.push(line) })
  await applyPlan(averba)
  const handled: unknown[] = []
  averba.notifications.handle(evento, 'crm', async ({ body }) => void handled.push(body))
  const server = createServer(services.receiver, (incoming, outgoing) => {
    incoming.once('data', () => averba.receiver.listener(incoming, outgoing))
  })
  services.connect('lido.exemplo.br', await listenUntilEnd(server))
  for (const numero of ['26BR1', '26BR2']) {
    const to = { destinatarioTipo: 'CNPJ', destinatarioId: cnpj } as const
    expect(await services.portal.notify({ evento, ...to, body: { numero } })).toMatchObject([
      { description: 'HTTP 500' },
    ])
  }
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
  expect(handled).toEqual([{ numero: '26BR1' }, { numero: '26BR2' }])
})

test('the tenants of one server have separate secrets and logs', async () => {
  const tenant = (name: string) =>
    open({
      receiver: {
        publicUrl: `https://receptor.exemplo.br/${name}`,
        sources: ['127.0.0.0/8'],
        // The same master by mistake: the address derives other secrets from it.
        secretFrom: 'm'.repeat(32),
      },
      subscriptions: [{ evento }],
    })
  const [north, south] = [await tenant('norte'), await tenant('sul')]
  const secrets = new Map<string, string>()
  for (const averba of [north, south]) {
    await applyPlan(averba)
    for (const { endpoint, chaveSecreta } of await listed()) secrets.set(endpoint, chaveSecreta)
    services.reset() // Each tenant has its own account at the portal.
  }
  expect(new Set(secrets.values()).size).toBe(2)
  const certificate = services.receiver
  const receivers = { '/norte': north.receiver, '/sul': south.receiver }
  const server = await serveReceivers({ receivers, certificate, host: '127.0.0.1', port: 0 })
  onTestFinished(server.close)
  const socket = closeAtEnd(openSocket({ clock: systemClock, ca: services.ca }))
  const post = async (path: string, secretOf: string) => {
    const secret = secrets.get(`https://receptor.exemplo.br/${secretOf}`) ?? ''
    const init = { method: 'POST', headers: { 'event-type': evento, secret }, body: `{"for":"${path}"}` }
    return (await socket.fetch(new Request(`https://localhost:${server.port}/${path}`, init))).status
  }
  expect([await post('norte', 'norte'), await post('sul', 'sul')]).toEqual([200, 200])
  expect([await post('norte', 'sul'), await post('sul', 'norte')]).toEqual([401, 401])
  const inboxOf = (averba: Averba) => Array.fromAsync(averba.notifications.list(), ({ body }) => body)
  expect([await inboxOf(north), await inboxOf(south)]).toEqual([[{ for: 'norte' }], [{ for: 'sul' }]])
})

test('a stored token that cannot be opened is replaced, and nothing fails', async () => {
  const store = temporaryStore()
  const averba = await openEngine({ store, ...services.options })
  valueOf(await validate(averba, 'v1'))
  await averba.close()
  expect(
    useDatabase(
      store,
      database => database.prepare("update secret set sealed = x'00' where name = 'token-default'").run().changes,
    ),
  ).toBe(1)
  const next = await open({ store })
  valueOf(await validate(next, 'v2'))
  expect(sentTo('tokenService')).toBe(2)
})

test('a service that asks for an excessive wait is asked again after a day', async () => {
  const averba = await open()
  const retryAfterS = 365 * 86_400
  await services.faults.add({ kind: 'status', service: 'consentService', status: 503, retryAfterS, times: 1 })
  const begun = Date.now()
  const outcome = await averba.consents.sync({ subject: await averba.consents.enrol({ cpf }) })
  expect(outcome.status).toBe('deferred')
  const waitMs = outcome.status === 'deferred' ? Date.parse(outcome.retryAt) - begun : 0
  expect(Math.round(waitMs / 3_600_000)).toBe(24)
})
