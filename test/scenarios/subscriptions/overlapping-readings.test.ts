import { expect, test } from 'vitest'
import { applyPlan, openBeside } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'aviso-geral'
const subscriptions = [{ evento, chaveSecreta: 'chave-um' }]
const day = '2026-11-20'
const body = '{"aviso":"greve"}'
const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', sources: 'any' } as const

/** Two engines on one store, and a portal whose second answer has one more record. */
async function given() {
  const store = temporaryStore()
  const record = (id: number) => ({
    ...{ id, data: '20-11-2026 09:00:01', descricao: 'x', evento, conteudo: body },
  })
  let readings = 0
  const answer = () => Response.json(readings++ === 0 ? [record(1)] : [record(1), record(2)])
  const world = await openWorld({
    averba: { store, subscriptions, receiver },
    intercept: async (request, forward) => (request.url.includes('/falhas') ? answer() : forward(request)),
  })
  const { averba, clock } = world
  await applyPlan(averba)
  const other = await openBeside(world, {
    ...{ store, receiver, subscriptions },
    fetch: async request => (request.url.includes('/falhas') ? answer() : world.portal.fetch(request)),
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
      await clock.advance(3_600_000)
      await read()
      await clock.advance(8 * 3_600_000)
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
  const headers = { 'event-type': evento, secret: 'chave-um', 'content-length': String(body.length) }
  const to = { 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' }
  const request = new Request(receiver.publicUrl, { method: 'POST', body, headers: { ...headers, ...to } })
  expect((await averba.receiver.fetch(request, { remoteAddress: '161.148.0.1' })).status).toBe(200)
  await clock.advance(60_000)
  await readTwice(all)
  const origins = await Array.fromAsync(averba.notifications.list(), ({ origin }) => origin)
  expect(origins).toEqual(['delivered', 'recovered'])
})

test.each(ways)('two readings %s recover once a notification that failed twice', async (_, readTwice) => {
  const all = await given()
  const { averba, clock } = all
  let handled = 0
  averba.notifications.handle(evento, 'erp', async () => void handled++)
  await readTwice(all)
  await clock.finish(averba.settle())
  const failures = await averba.subscriptions.failures({ day })
  const byId = failures.sort((one, another) => one.id - another.id)
  expect(byId.map(({ id, recovery }) => [id, recovery])).toEqual([
    [1, 'recovered'],
    [2, 'stored'],
  ])
  expect(handled).toBe(1)
})
