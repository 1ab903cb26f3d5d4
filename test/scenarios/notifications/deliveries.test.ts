import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Averba, type Notification, openAverba, valueOf } from '../../../src/index.ts'
import { type Fault, type Simulators, simulate, startServices, VirtualClock } from '../../../src/simulation/index.ts'

const evento = 'dimp-situacao-import'
const subscriptions = [{ evento, chaveSecreta: 'chave-um', chaveAutenticacao: 'Basic YTpi' }]
const company = { destinatarioTipo: 'CNPJ', destinatarioId: '12ABC34501DE35' } as const

/** A portal that delivers to averba, in process or over TLS. */
interface OpenedPortal {
  readonly averba: Averba
  readonly services: Pick<Simulators, 'faults' | 'portal'>
  readonly clock: VirtualClock
}

async function openInProcess(): Promise<OpenedPortal> {
  const world = await simulate({ averba: { subscriptions } })
  onTestFinished(() => world.close())
  return { averba: world.averba, services: world, clock: world.clock }
}

async function openOverTls(): Promise<OpenedPortal> {
  const clock = new VirtualClock()
  const services = await startServices({ clock })
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', sources: ['127.0.0.0/8'] }
  const averba = await openAverba({ store: ':memory:', clock, ...services.options, receiver, subscriptions })
  const server = createServer({ ...services.receiver, minVersion: 'TLSv1.2' }, averba.receiver.listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  services.connect('receptor.exemplo.br', (server.address() as AddressInfo).port)
  onTestFinished(async () => {
    await averba.close()
    await services.close()
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return { averba, services, clock }
}

async function inboxOf({ averba }: OpenedPortal): Promise<Notification[]> {
  const all: Notification[] = []
  for await (const each of averba.notifications.list()) all.push(each)
  return all
}

describe.each([
  ['in process', openInProcess],
  ['over TLS', openOverTls],
])('%s', (_, open) => {
  async function given(fault: Fault): Promise<OpenedPortal> {
    const opened = await open()
    for (const made of await opened.averba.subscriptions.apply(await opened.averba.subscriptions.plan())) valueOf(made)
    await opened.services.faults.add(fault)
    return opened
  }

  const notify = ({ services }: OpenedPortal, numero: number) =>
    services.portal.notify({ evento, ...company, body: { numero } })

  const bodiesOf = async (opened: OpenedPortal) => (await inboxOf(opened)).map(({ body }) => body)

  test('a delivery that is sent twice is one notification with two copies', async () => {
    const opened = await given({ kind: 'duplicate', times: 1 })
    expect(await notify(opened, 1)).toMatchObject([{ isDelivered: true }])
    await notify(opened, 2)
    expect(await inboxOf(opened)).toMatchObject([
      { body: { numero: 1 }, copies: 2 },
      { body: { numero: 2 }, copies: 1 },
    ])
    expect(opened.services.portal.deliveries).toEqual({ succeeded: 2, failed: 0 })
  })

  test('swapped deliveries are all stored, in the order of arrival', async () => {
    const opened = await given({ kind: 'reorder' })
    const notifying = [1, 2, 3, 4].map(numero => notify(opened, numero))
    for (const delivered of await Promise.all(notifying)) expect(delivered).toMatchObject([{ isDelivered: true }])
    expect(await bodiesOf(opened)).toHaveLength(4)
    const order = (await bodiesOf(opened)).map(body => (body as { numero: number }).numero)
    expect(order.indexOf(2)).toBeLessThan(order.indexOf(1))
    expect(order.indexOf(4)).toBeLessThan(order.indexOf(3))
  })

  test('a held delivery without a next one is sent after its time or when the faults end', async () => {
    const opened = await given({ kind: 'reorder', ms: 2_000 })
    const first = notify(opened, 1)
    await expect.poll(() => opened.clock.sleeping).toBe(2)
    await opened.clock.advance(1_999)
    expect(await bodiesOf(opened)).toEqual([])
    await opened.clock.advance(1)
    expect(await first).toMatchObject([{ isDelivered: true }])
    const second = notify(opened, 2)
    await expect.poll(() => opened.clock.sleeping).toBe(2)
    opened.services.faults.clear()
    expect(await second).toMatchObject([{ isDelivered: true }])
    expect(await bodiesOf(opened)).toEqual([{ numero: 1 }, { numero: 2 }])
  })

  test('a wrong secret is refused, nothing is stored, and the failure record has the content', async () => {
    const opened = await given({ kind: 'wrongSecret', times: 1 })
    expect(await notify(opened, 1)).toMatchObject([{ isDelivered: false, description: 'HTTP 401' }])
    expect(await inboxOf(opened)).toEqual([])
    const [failure] = await opened.averba.subscriptions.failures()
    expect(failure).toMatchObject({ evento, descricao: 'HTTP 401', conteudo: '{"numero":1}' })
    expect(await opened.averba.subscriptions.list()).toMatchObject([{ health: 'failing', failures: 1 }])
    await notify(opened, 2)
    expect(await bodiesOf(opened)).toEqual([{ numero: 2 }])
  })

  const failed = 'Falha de entrega'
  const untrusted = "the portal does not trust the receiver's certificate (UNABLE_TO_VERIFY_LEAF_SIGNATURE)"
  test.each([
    [{ kind: 'refuse' }, `${failed}: the connection was refused (ECONNREFUSED)`, 0],
    [{ kind: 'expiredCertificate' }, `${failed}: the receiver's certificate has expired (CERT_HAS_EXPIRED)`, 0],
    [{ kind: 'unknownCertificate' }, `${failed}: ${untrusted}`, 0],
    [{ kind: 'reset' }, `${failed}: the connection broke (ECONNRESET)`, 0],
    [{ kind: 'lose' }, `${failed}: the connection broke (ECONNRESET)`, 1],
    [{ kind: 'status', status: 503 }, 'HTTP 503', 0],
    [{ kind: 'delay', ms: 4_000 }, 'Tempo esgotado: 3500 ms', 0],
    [{ kind: 'trickle' }, 'Tempo esgotado: 3500 ms', 1],
  ] as [Fault, string, number][])('%o on the way to the receiver is a failed delivery', async (...row) => {
    const [fault, descricao, stored] = row
    const opened = await given({ ...fault, service: 'receiver' })
    const notifying = notify(opened, 1)
    if (descricao.startsWith('Tempo')) {
      // The receiver also measures its time until the commit.
      await expect.poll(() => inboxOf(opened)).toHaveLength(stored)
      await expect.poll(() => opened.clock.sleeping).toBe(2)
      await opened.clock.advance(3_500)
    }
    expect(await notifying).toMatchObject([{ isDelivered: false, description: descricao }])
    expect(await inboxOf(opened)).toHaveLength(stored)
    expect(await opened.averba.subscriptions.failures()).toMatchObject([{ descricao }])
  })

  test('an answer with another body is still a success', async () => {
    const opened = await given({ kind: 'html', service: 'receiver' })
    expect(await notify(opened, 1)).toMatchObject([{ isDelivered: true }])
  })

  test('a fault without a service does not affect deliveries', async () => {
    const opened = await given({ kind: 'reset' })
    expect(await notify(opened, 1)).toMatchObject([{ isDelivered: true }])
    await expect(opened.averba.subscriptions.failures()).rejects.toMatchObject({ code: 'OUTCOME' })
  })
})
