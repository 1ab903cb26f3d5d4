import { createServer } from 'node:https'
import { describe, expect, test } from 'vitest'
import type { Averba } from '../../../src/index.ts'
import { type Fault, type Simulators, VirtualClock } from '../../../src/simulation/index.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { applyPlan, bodiesOf, inboxOf } from '../../support/portal.ts'
import { openEngine, openServices, openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const subscriptions = [{ evento, chaveSecreta: 'chave-um', chaveAutenticacao: 'Basic YTpi' }]

/** A portal that delivers to averba, in process or over TLS. */
interface Ground {
  readonly averba: Averba
  readonly services: Pick<Simulators, 'faults' | 'portal'>
  readonly clock: VirtualClock
}

async function openInProcess(): Promise<Ground> {
  const { averba, clock, faults, portal } = await openWorld({ averba: { subscriptions } })
  return { averba, services: { faults, portal }, clock }
}

async function openOverTls(): Promise<Ground> {
  const clock = new VirtualClock()
  const services = await openServices({ clock })
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', sources: ['127.0.0.0/8'] }
  const averba = await openEngine({ store: ':memory:', clock, ...services.options, receiver, subscriptions })
  const server = createServer({ ...services.receiver, minVersion: 'TLSv1.2' }, averba.receiver.listener)
  services.connect('receptor.exemplo.br', await listenUntilEnd(server))
  return { averba, services, clock }
}

describe.each([
  ['in process', openInProcess],
  ['over TLS', openOverTls],
])('%s', (_, open) => {
  async function given(fault: Fault) {
    const { averba, services, clock } = await open()
    await applyPlan(averba)
    await services.faults.add(fault)
    const to = { destinatarioTipo: 'CNPJ', destinatarioId: '12ABC34501DE35' } as const
    const notify = (numero: number) => services.portal.notify({ evento, ...to, body: { numero } })
    return { averba, clock, ...services, notify }
  }

  test('a delivery that is sent twice is one notification with two copies', async () => {
    const { averba, notify, portal } = await given({ kind: 'duplicate', times: 1 })
    expect(await notify(1)).toMatchObject([{ isDelivered: true }])
    await notify(2)
    expect(await inboxOf(averba)).toMatchObject([
      { body: { numero: 1 }, copies: 2 },
      { body: { numero: 2 }, copies: 1 },
    ])
    expect(portal.deliveries).toEqual({ succeeded: 2, failed: 0 })
  })

  test('swapped deliveries are all stored, in the order of arrival', async () => {
    const { averba, notify } = await given({ kind: 'reorder' })
    for (const delivered of await Promise.all([1, 2, 3, 4].map(notify)))
      expect(delivered).toMatchObject([{ isDelivered: true }])
    const order = (await bodiesOf(averba)).map(body => (body as { numero: number }).numero)
    expect(order).toHaveLength(4)
    expect(order.indexOf(2)).toBeLessThan(order.indexOf(1))
    expect(order.indexOf(4)).toBeLessThan(order.indexOf(3))
  })

  test('a held delivery without a next one is sent after its time or when the faults end', async () => {
    const { averba, clock, faults, notify } = await given({ kind: 'reorder', ms: 2_000 })
    const first = notify(1)
    await expect.poll(() => clock.sleeping).toBe(2)
    await clock.advance(1_999)
    expect(await bodiesOf(averba)).toEqual([])
    await clock.advance(1)
    expect(await first).toMatchObject([{ isDelivered: true }])
    const second = notify(2)
    await expect.poll(() => clock.sleeping).toBe(2)
    faults.clear()
    expect(await second).toMatchObject([{ isDelivered: true }])
    expect(await bodiesOf(averba)).toEqual([{ numero: 1 }, { numero: 2 }])
  })

  test('a wrong secret is refused, nothing is stored, and the failure record has the content', async () => {
    const { averba, notify } = await given({ kind: 'wrongSecret', times: 1 })
    expect(await notify(1)).toMatchObject([{ isDelivered: false, description: 'HTTP 401' }])
    expect(await inboxOf(averba)).toEqual([])
    const [failure] = await averba.subscriptions.failures()
    expect(failure).toMatchObject({ evento, descricao: 'HTTP 401', conteudo: '{"numero":1}' })
    expect(await averba.subscriptions.list()).toMatchObject([{ health: 'failing', failures: 1 }])
    await notify(2)
    expect(await bodiesOf(averba)).toEqual([{ numero: 2 }])
  })

  const failed = 'Falha de entrega'
  const untrusted = 'o certificado do receptor não é de uma autoridade conhecida (UNABLE_TO_VERIFY_LEAF_SIGNATURE)'
  test.each([
    [{ kind: 'refuse' }, `${failed}: a conexão foi recusada (ECONNREFUSED)`, 0],
    [{ kind: 'expiredCertificate' }, `${failed}: o certificado do receptor expirou (CERT_HAS_EXPIRED)`, 0],
    [{ kind: 'unknownCertificate' }, `${failed}: ${untrusted}`, 0],
    [{ kind: 'reset' }, `${failed}: a conexão caiu (ECONNRESET)`, 0],
    [{ kind: 'lose' }, `${failed}: a conexão caiu (ECONNRESET)`, 1],
    [{ kind: 'status', status: 503 }, 'HTTP 503', 0],
    [{ kind: 'delay', ms: 4_000 }, 'Tempo esgotado: 3500 ms', 0],
    [{ kind: 'trickle' }, 'Tempo esgotado: 3500 ms', 1],
  ] as [Fault, string, number][])('%o before the receiver is a failed delivery', async (fault, descricao, stored) => {
    const { averba, clock, notify } = await given({ ...fault, service: 'receiver' })
    const notifying = notify(1)
    if (descricao.startsWith('Tempo')) {
      // The receiver also measures its time until the commit.
      await expect.poll(() => inboxOf(averba)).toHaveLength(stored)
      await expect.poll(() => clock.sleeping).toBe(2)
      await clock.advance(3_500)
    }
    expect(await notifying).toMatchObject([{ isDelivered: false, description: descricao }])
    expect(await inboxOf(averba)).toHaveLength(stored)
    expect(await averba.subscriptions.failures()).toMatchObject([{ descricao }])
  })

  test('an answer with another body is still a success', async () => {
    const { notify } = await given({ kind: 'html', service: 'receiver' })
    expect(await notify(1)).toMatchObject([{ isDelivered: true }])
  })

  test('a fault without a service does not affect deliveries', async () => {
    const { averba, notify } = await given({ kind: 'reset' })
    expect(await notify(1)).toMatchObject([{ isDelivered: true }])
    await expect(averba.subscriptions.failures()).rejects.toMatchObject({ code: 'OUTCOME' })
  })
})
