import { expect, test } from 'vitest'
import { notify } from '../../support/notify.ts'
import { hourMs, minuteMs } from '../../support/pass-time.ts'
import { applyPlan, inboxOf, openBeside } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'aviso-geral'
const subscriptions = [{ evento, chaveSecreta: 'chave-um' }]
const day = '2026-11-20'

/** Two engines on one store, and a portal whose second answer has one more record. */
async function given() {
  const store = temporaryStore()
  const record = { data: '20-11-2026 09:00:01', descricao: 'x', evento, conteudo: '{"aviso":"greve"}' }
  let readings = 0
  const answer = () => Response.json([1, 2].slice(0, ++readings).map(id => ({ id, ...record })))
  const world = await openWorld({
    averba: { store, subscriptions },
    intercept: async (request, forward) => (request.url.includes('/falhas') ? answer() : forward(request)),
  })
  const { averba, clock } = world
  await applyPlan(averba)
  const other = await openBeside(world, {
    ...{ store, subscriptions },
    fetch: async request => (request.url.includes('/falhas') ? answer() : world.reach.portal(request)),
  })
  const read = (by = averba) => by.subscriptions.failures({ day, recover: true })
  return { averba, other, clock, read }
}

type Given = Awaited<ReturnType<typeof given>>
type Read = (given: Given) => Promise<unknown>

const ways: readonly (readonly [string, Read])[] = [
  [
    'one after the other',
    async ({ read }) => {
      await read()
      await read()
    },
  ],
  [
    'hours apart',
    async ({ read, clock }) => {
      await clock.advance(hourMs)
      await read()
      await clock.advance(8 * hourMs)
      await read()
    },
  ],
  ['at once', ({ read, clock }) => clock.finish(Promise.all([read(), read()]))],
  ['at once by two processes', ({ read, other, clock }) => clock.finish(Promise.all([read(), read(other)]))],
  [
    'one after the other by two processes',
    async ({ read, other }) => {
      await read()
      await read(other)
    },
  ],
]

test.each(ways)('two readings %s lose nothing: one stored, one never received', async (_, readTwice) => {
  const all = await given()
  const { averba, clock } = all
  expect((await notify(averba, { aviso: 'greve' }, { 'event-type': evento, secret: 'chave-um' })).status).toBe(200)
  await clock.advance(minuteMs)
  await readTwice(all)
  expect(await inboxOf(averba)).toMatchObject([{ origin: 'delivered' }, { origin: 'recovered' }])
})

test.each(ways)('two readings %s recover once a notification that failed twice', async (_, readTwice) => {
  const all = await given()
  const { averba, clock } = all
  let handled = 0
  averba.notifications.handle(evento, 'erp', async () => void handled++)
  await readTwice(all)
  await clock.finish(averba.settle())
  const failures = await averba.subscriptions.failures({ day })
  expect(failures.sort((one, another) => one.id - another.id)).toMatchObject([
    { id: 1, recovery: 'recovered' },
    { id: 2, recovery: 'stored' },
  ])
  expect(handled).toBe(1)
})
