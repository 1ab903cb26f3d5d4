import { createServer } from 'node:https'
import { expect, test } from 'vitest'
import { openSocket } from '../../../src/adapters/http/transport.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { type Fault, ShiftedClock, samples, startControl } from '../../../src/simulation/index.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { hourMs } from '../../support/pass-time.ts'
import { openServices } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const notice = { evento, destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj, body: {} }

test('advancing the clock runs everything due until then, and its consequences, each at its time', async () => {
  const clock = new ShiftedClock()
  const faults: Fault[] = [
    { kind: 'delay', service: 'receiver', ms: hourMs },
    { kind: 'delay', service: 'portal', path: '/falhas', ms: 10_900, times: 1 },
  ]
  const services = await openServices({ clock, faults, policies: { portal: { tries: 3 } } })
  const control = closeAtEnd(await startControl(services, clock))
  const socket = closeAtEnd(openSocket({ clock: systemClock, ca: services.ca }))
  const receiver = createServer(services.receiver, (_, response) => response.writeHead(204).end())
  services.connect('receptor.exemplo.br', await listenUntilEnd(receiver))
  const webhook = `${services.options.portal.baseUrl}/portal/api/ext/webhook`
  const headers = { ...services.portalHeaders, 'content-type': 'application/json' }
  const callPortal = async (path: string, body?: object) => {
    const init = { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) }
    return (await socket.fetch(new Request(webhook + path, init))).json()
  }
  const order = async (path: string, body: object) =>
    (await fetch(control.baseUrl + path, { method: 'POST', body: JSON.stringify(body) })).json()
  await callPortal('', { evento, endpoint: 'https://receptor.exemplo.br/averba' })
  const notifying = order('/notifications', notice)
  const failures = callPortal('/falhas')
  // Two delayed answers, and the timeout of the delivery.
  await expect.poll(() => clock.sleeping).toBe(3)
  // Three tries one after the other, each with its own timeout: at 3500, 7000 and 10500 ms from now.
  await order('/clock/advance', { ms: 7_500 })
  expect(services.portal.deliveries).toEqual({ succeeded: 0, failed: 0 })
  await order('/clock/advance', { ms: 4_500 })
  expect(services.portal.deliveries).toEqual({ succeeded: 0, failed: 1 })
  // The answer that was delayed beyond the last try contains the failure.
  expect(await failures).toMatchObject([{ descricao: 'Tempo esgotado: 3500 ms' }])
  expect((await notifying).deliveries).toMatchObject([{ isDelivered: false }])
})
