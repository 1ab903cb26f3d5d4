import { expect, test } from 'vitest'
import { type LogLine, valueOf } from '../../../src/index.ts'
import { simulate, type World } from '../../../src/simulation/index.ts'

const evento = 'dimp-situacao-import'
const hourMs = 3_600_000

/**
 * A host that settles every hour, as a cron would, and keeps what its handler was given and its logger told. The
 * portal does not show the failures of the day that is to stay unread.
 */
async function givenHost(unread?: string) {
  const lines: LogLine[] = []
  const handled: unknown[] = []
  const asked = { count: 0 }
  const subscriptions = [{ evento, chaveSecreta: 'chave-um' }]
  const world = await simulate({
    averba: { schedules: true, subscriptions, logger: line => void lines.push(line) },
    async intercept(request, forward) {
      if (!request.url.endsWith(`falhas?data=${unread}`)) return forward(request)
      asked.count += 1
      return new Response('', { status: 503 })
    },
  })
  world.averba.notifications.handle(evento, 'erp', async ({ body }) => void handled.push(body))
  for (const each of await world.averba.subscriptions.apply(await world.averba.subscriptions.plan()))
    valueOf(each)
  return { world, lines, handled, asked, ...outage(world) }
}

function outage({ averba, clock, faults, portal, samples }: World) {
  return {
    async settleFor(hours: number) {
      for (let hour = 0; hour < hours; hour++) {
        await clock.advance(hourMs)
        await averba.settle()
      }
    },
    /** Neither do we get out, nor does anybody reach us. */
    async cutOff() {
      for (const service of ['portal', 'receiver'] as const) await faults.add({ kind: 'refuse', service })
    },
    notify: (body: unknown) =>
      clock.finish(portal.notify({ evento, destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj, body })),
  }
}

test.each([20, 70, 24 * 14])(
  'what was lost while nothing got through for %i hours comes back, once, by itself',
  async hours => {
    const { world, handled, settleFor, cutOff, notify } = await givenHost()
    await settleFor(24)
    await cutOff()
    await settleFor(hours / 2)
    expect(await notify({ numero: '26BR1' })).toMatchObject([{ isDelivered: false }])
    await settleFor(hours / 2)
    await world.faults.clear()
    await settleFor(3)
    expect(handled).toEqual([{ numero: '26BR1' }])
    await settleFor(3 * 24)
    expect(handled).toEqual([{ numero: '26BR1' }])
    const inbox: unknown[] = []
    for await (const each of world.averba.notifications.list()) inbox.push(each)
    expect(inbox).toMatchObject([{ origin: 'recovered', body: { numero: '26BR1' }, state: 'handled' }])
    // Nobody has to let go anything.
    expect(await world.averba.effects.list({ state: 'parked' })).toEqual([])
    await world.close()
  },
)

test('a day that cannot be read is asked for about once an hour, until the portal has its records no more; then the logger is told', async () => {
  const { world, lines, asked, settleFor } = await givenHost('24112026')
  await settleFor(30 * 24)
  expect(asked.count).toBeGreaterThan(10 * 24)
  expect(asked.count).toBeLessThan(1.5 * 26 * 24)
  expect(lines).toEqual([])
  await settleFor(6 * 24)
  const parked = await world.averba.effects.list({ state: 'parked' })
  // It was to be read on the day itself, and once more when that was over.
  expect(parked).toHaveLength(2)
  expect(lines).toHaveLength(2)
  for (const { id } of parked)
    expect(lines).toContainEqual({
      message: 'a call is parked: effects.retry releases it',
      detail: expect.stringMatching(`^portal.listFailures ${id}: given up after 72\\d hours$`),
    })
  await world.close()
})
