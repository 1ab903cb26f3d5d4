import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ServicesOptions, startServices, VirtualClock } from '../../src/simulation/index.ts'
import { givenReceiver } from '../adapters/receiver/given-receiver.ts'
import { closeAtEnd } from '../support/close-at-end.ts'
import { openServices } from '../support/world.ts'
import { consentContract } from './consent.ts'
import { documentsContract } from './documents.ts'
import { portalHeaders } from './opened-services.ts'
import { portalContract } from './portal.ts'
import { tokenContract } from './token.ts'
import { validationContract } from './validation.ts'

describe('the consent service', consentContract)
describe('the token service', tokenContract)
describe('the validation service', validationContract)
describe('the portal', portalContract)
describe('the documents of docs/openapi', documentsContract)

const evento = 'dimp-situacao-import'
const notice = { evento, destinatarioTipo: 'ORGAO', destinatarioId: '26000', body: {} } as const
/** Enables TLS 1.1, which the platform disables. */
const oldCiphers = 'DEFAULT@SECLEVEL=0'

const webhook = 'https://portal.exemplo.br/portal/api/ext/webhook'

/** The services over TLS, with one subscription whose receiver is a server of the test. */
async function openWithReceiver(options: object, handle: RequestListener, given: ServicesOptions = {}) {
  const services = await startServices({ clock: new VirtualClock(), ...given })
  const server = createServer({ ...services.receiver, ...options }, handle)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  services.connect('receptor.exemplo.br', (server.address() as AddressInfo).port) // It listens on a port, not on a pipe.
  const body = JSON.stringify({ evento, endpoint: 'https://receptor.exemplo.br/averba' })
  const request = new Request(webhook, { method: 'POST', headers: portalHeaders, body })
  expect((await services.portal.fetch(request)).status).toBe(200)
  const close = async () => {
    server.close()
    server.closeAllConnections()
    await services.close()
  }
  return closeAtEnd({ portal: services.portal, close })
}

test('the services speak TLS 1.2 or higher', async () => {
  const services = await openServices({ clock: new VirtualClock() })
  const { consentService, tokenService, validationService, portal } = services.options
  for (const address of [consentService.baseUrl, tokenService.url, validationService.baseUrl, portal.baseUrl])
    for (const [version, spoken] of [
      ['TLSv1.1', undefined],
      ['TLSv1.2', 'TLSv1.2'],
      ['TLSv1.3', 'TLSv1.3'],
    ] as const) {
      const socket = connect({
        ...{ host: 'localhost', port: Number(new URL(address).port), ca: services.ca, servername: 'localhost' },
        ...{ minVersion: version, maxVersion: version, ciphers: oldCiphers },
      })
      const isSpoken = await once(socket, 'secureConnect').catch(() => false)
      expect(isSpoken ? socket.getProtocol() : undefined).toBe(spoken)
      socket.destroy()
    }
})

test.each([
  ['TLSv1.1', false],
  ['TLSv1.2', true],
  ['TLSv1.3', true],
] as const)(
  'a notification to a receiver that speaks %s on port 443 is delivered: %s',
  async (version, isDelivered) => {
    let requests = 0
    const limits = { minVersion: version, maxVersion: version, ciphers: oldCiphers }
    const { portal } = await openWithReceiver(limits, (_, response) => {
      requests += 1
      response.end()
    })
    expect(await portal.notify(notice)).toMatchObject([{ isDelivered }])
    expect(requests).toBe(isDelivered ? 1 : 0)
  },
)

describe('a delivery that takes seconds', () => {
  /** A little over half of the limit of 3500 milliseconds. */
  const halfMs = 1_800
  /** Starts its answer at once, and ends it too late. */
  const slowBody: RequestListener = (_, response) => {
    response.write('{')
    setTimeout(() => response.end('}'), 2 * halfMs)
  }
  /** The handshake and the answer together take too long, and neither alone. */
  const slowHandshake = { SNICallback: (_: string, done: (error: null) => void) => setTimeout(done, halfMs, null) }
  const slowAnswer: RequestListener = (_, response) => setTimeout(() => response.end(), halfMs)

  /** What a delivery came to, and after how many milliseconds. */
  async function deliver(options: object, handle: RequestListener, processingTime: (typeof times)[number]) {
    const services = await openWithReceiver(options, handle, { policies: { portal: { processingTime } } })
    const startedAt = performance.now()
    const results = await services.portal.notify(notice)
    return { ...services, results, tookMs: performance.now() - startedAt }
  }

  const times = ['exchange', 'answer', 'processing'] as const
  // All at the same time: the time limit of a real socket is real time.
  const deliverAll = () =>
    Promise.all([
      deliver({}, () => undefined, 'exchange'),
      ...times.flatMap(each => [deliver({}, slowBody, each), deliver(slowHandshake, slowAnswer, each)]),
    ])
  let deliveries: Awaited<ReturnType<typeof deliverAll>>

  beforeAll(async () => {
    deliveries = await deliverAll()
    return () => Promise.all(deliveries.map(({ close }) => close()))
  })

  test('a receiver that takes longer than 3500 milliseconds is a delivery error', async () => {
    const [{ portal, results, tookMs }] = deliveries
    expect(results).toMatchObject([{ isDelivered: false, description: 'Tempo esgotado: 3500 ms' }])
    expect(tookMs).toBeGreaterThan(3_400)
    const query = new Request(`${webhook}/falhas`, { headers: portalHeaders })
    expect(await (await portal.fetch(query)).json()).toMatchObject([{ descricao: 'Tempo esgotado: 3500 ms' }])
  })

  test.each([
    ['exchange', false, false],
    ['answer', true, false],
    ['processing', true, true],
  ] as const)(
    '%s: a slow end of the answer is delivered: %s, a slow connection: %s',
    async (processingTime, ...areDelivered) => {
      const [ofBody, ofConnection] = deliveries.slice(1 + 2 * times.indexOf(processingTime))
      const results = [ofBody, ofConnection].flatMap(each => each?.results.map(({ isDelivered }) => isDelivered))
      expect(results).toEqual(areDelivered)
    },
  )
})

test('deliveries come from deliverFrom, and a receiver can filter by it', async () => {
  const seen: (string | undefined)[] = []
  const secretsOf = async () => []
  const allowing = givenReceiver({ sources: ['127.9.9.0/24'], secretsOf })
  const refusing = givenReceiver({ sources: ['127.9.8.0/24', '161.148.0.0/16'], secretsOf })
  let { receiver } = allowing
  const receive: RequestListener = (request, response) => {
    seen.push(request.socket.remoteAddress)
    receiver.listener(request, response)
  }
  const { portal } = await openWithReceiver({}, receive, { deliverFrom: '127.9.9.9' })
  expect(await portal.notify(notice)).toMatchObject([{ isDelivered: true }])
  receiver = refusing.receiver
  expect(await portal.notify(notice)).toMatchObject([{ isDelivered: false, description: 'HTTP 403' }])
  expect(seen).toEqual(['127.9.9.9', '127.9.9.9'])
  expect(allowing).toMatchObject({ stored: [{ evento }], reported: [] })
  expect(refusing).toMatchObject({ stored: [], reported: ['403'] })
})

test.each(['161.148.0.1', '127.0.0', '::1', 'localhost'])(
  'deliverFrom %s is refused, since it is not in 127.0.0.0/8',
  async deliverFrom => {
    await expect(startServices({ deliverFrom })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  },
)
