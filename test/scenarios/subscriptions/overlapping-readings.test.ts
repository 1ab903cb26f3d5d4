import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openAverba, valueOf } from '../../../src/index.ts'
import { simulate } from '../../../src/simulation/index.ts'

const evento = 'aviso-geral'
const subscriptions = [{ evento, chaveSecreta: 'chave-um' }]
const day = '2026-11-20'
const body = '{"aviso":"greve"}'
const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', sources: 'any' } as const

/** Two engines on one store, and a portal whose second answer has one more record. */
async function given() {
  const store = join(mkdtempSync(join(tmpdir(), 'averba-overlap-')), 'log.sqlite')
  const record = (id: number) => ({
    ...{ id, data: '20-11-2026 09:00:01', descricao: 'x', evento, conteudo: body },
  })
  let readings = 0
  const answer = () => Response.json(readings++ === 0 ? [record(1)] : [record(1), record(2)])
  const world = await simulate({
    averba: { store, subscriptions, receiver },
    intercept: async (request, forward) => (request.url.includes('/falhas') ? answer() : forward(request)),
  })
  const { averba, clock, portal } = world
  for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(each)
  const other = await openAverba({
    ...{ store, clock, receiver, subscriptions },
    fetch: async request => (request.url.includes('/falhas') ? answer() : portal.fetch(request)),
    portal: {
      baseUrl: 'https://portal.exemplo.br',
      authenticate: async () => ({ authorization: 'sessao-de-exemplo' }),
    },
  })
  onTestFinished(async () => {
    await other.close()
    await world.close()
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
  const origins: string[] = []
  for await (const { origin } of averba.notifications.list()) origins.push(origin)
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
