import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { type RunningServices, startServices, VirtualClock } from '../../src/simulation/index.ts'
import { consentContract } from './consent.ts'
import { documentsContract } from './documents.ts'
import { openInProcess, openOverTls, portalHeaders } from './ground.ts'
import { portalContract } from './portal.ts'
import { tokenContract } from './token.ts'
import { validationContract } from './validation.ts'

for (const [name, open] of [
  ['in process', openInProcess],
  ['over TLS', openOverTls],
] as const) {
  consentContract(name, open)
  tokenContract(name, open)
  validationContract(name, open)
  portalContract(name, open)
  documentsContract(name, open)
}

const evento = 'dimp-situacao-import'
const notice = { evento, destinatarioTipo: 'ORGAO', destinatarioId: '26000', body: {} } as const
/** Lets a party of the test speak TLS 1.1, which the platform has put away. */
const oldCiphers = 'DEFAULT@SECLEVEL=0'

const webhook = 'https://portal.exemplo.br/portal/api/ext/webhook'

/** The services over TLS with one subscription, whose receiver is a server of the test's own. */
async function givenReceiver(options: object, handle: RequestListener): Promise<RunningServices> {
  const services = await startServices({ clock: new VirtualClock() })
  const server = createServer({ ...services.receiver, ...options }, handle)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
    await services.close()
  })
  services.connect('receptor.exemplo.br', (server.address() as AddressInfo).port)
  const endpoint = 'https://receptor.exemplo.br/averba'
  const body = JSON.stringify({ evento, endpoint })
  const request = new Request(webhook, { method: 'POST', headers: portalHeaders, body })
  expect((await services.portal.fetch(request)).status).toBe(200)
  return services
}

test('the services speak TLS 1.2 or higher', async () => {
  const services = await startServices({ clock: new VirtualClock() })
  onTestFinished(() => services.close())
  const { consentService, tokenService, validationService, portal } = services.options
  const handshake = (address: string, version: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3') =>
    new Promise<string>(resolve => {
      const socket = connect({
        ...{
          host: 'localhost',
          port: Number(new URL(address).port),
          ca: services.ca,
          servername: 'localhost',
        },
        ...{ minVersion: version, maxVersion: version, ciphers: oldCiphers },
      })
      socket.once('error', () => resolve('refused'))
      socket.once('secureConnect', () => {
        resolve(socket.getProtocol() ?? '')
        socket.destroy()
      })
    })
  for (const address of [
    consentService.baseUrl,
    tokenService.url,
    validationService.baseUrl,
    portal.baseUrl,
  ]) {
    expect(await handshake(address, 'TLSv1.1')).toBe('refused')
    expect(await handshake(address, 'TLSv1.2')).toBe('TLSv1.2')
    expect(await handshake(address, 'TLSv1.3')).toBe('TLSv1.3')
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
    const services = await givenReceiver(limits, (_, response) => {
      requests += 1
      response.end()
    })
    expect(await services.portal.notify(notice)).toMatchObject([{ isDelivered }])
    expect(requests).toBe(isDelivered ? 1 : 0)
  },
)

test('a receiver that takes longer than 3500 milliseconds is a delivery error', async () => {
  const services = await givenReceiver({}, () => undefined)
  const startedAt = performance.now()
  expect(await services.portal.notify(notice)).toMatchObject([
    { isDelivered: false, description: 'TimeoutError' },
  ])
  // The budget of a real socket is real time.
  expect(performance.now() - startedAt).toBeGreaterThan(3_400)
  const query = new Request(`${webhook}/falhas`, { headers: portalHeaders })
  expect(await (await services.portal.fetch(query)).json()).toMatchObject([{ descricao: 'TimeoutError' }])
}, 15_000)
