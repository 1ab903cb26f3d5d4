import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Averba, diagnoseStore, type Notification, openAverba, valueOf, verifyLog } from '../../../src/index.ts'
import { seededEntropy, simulate, type World } from '../../../src/simulation/index.ts'

const evento = 'dimp-situacao-import'
const subscriptions = [{ evento, chaveSecreta: 'chave-um' }]
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const secondMs = 1_000

async function given(
  store = ':memory:',
  intercept?: NonNullable<Parameters<typeof simulate>[0]>['intercept'],
): Promise<World> {
  const world = await simulate({ averba: { subscriptions, store }, ...(intercept && { intercept }) })
  for (const each of await world.averba.subscriptions.apply(await world.averba.subscriptions.plan())) valueOf(each)
  return world
}

async function inbox(averba: Averba): Promise<Notification[]> {
  const all: Notification[] = []
  for await (const each of averba.notifications.list()) all.push(each)
  return all
}

const notify = ({ portal, samples }: World, body: unknown, about = evento) =>
  portal.notify({ evento: about, destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj, body })

/** The delivery fails and does not reach the receiver. */
async function lose(world: World, body: unknown, about = evento): Promise<void> {
  await world.faults.add({ kind: 'status', status: 500, service: 'receiver', times: 1 })
  expect(await notify(world, body, about)).toMatchObject([{ isDelivered: false }])
}

/** The receiver stores it, but its answer is lost. */
async function answerLate(world: World, body: unknown): Promise<void> {
  await world.faults.add({ kind: 'lose', service: 'receiver', times: 1 })
  expect(await notify(world, body)).toMatchObject([{ isDelivered: false }])
}

test('a lost notification is recovered once, marked and without a recipient', async () => {
  const world = await given()
  const { averba } = world
  await lose(world, { numero: '26BR1' })
  const outcomes = await averba.subscriptions.recover()
  expect(outcomes.map(valueOf)).toMatchObject([
    { day: '2026-11-19', read: 0, recovered: 0 },
    { day: '2026-11-20', read: 1, recovered: 1, stored: 0 },
  ])
  await averba.subscriptions.recover()
  await averba.subscriptions.failures({ recover: true })
  const found = await inbox(averba)
  expect(found).toMatchObject([{ evento, origin: 'recovered', body: { numero: '26BR1' }, copies: 1 }])
  expect(found[0]).not.toHaveProperty('recipient')
  const [failure] = await averba.subscriptions.failures()
  expect(failure).toMatchObject({ recovery: 'recovered', notification: found[0]?.id })
  await world.close()
})

test('a notification that was stored but answered late is not recovered again', async () => {
  const world = await given()
  const { averba } = world
  await answerLate(world, { numero: '26BR1' })
  const [stored] = await inbox(averba)
  expect(stored).toMatchObject({ origin: 'delivered' })
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { stored: 1, recovered: 0 }])
  expect(await inbox(averba)).toHaveLength(1)
  expect(await averba.subscriptions.failures()).toMatchObject([{ recovery: 'stored', notification: stored?.id }])
  await world.close()
})

test('a recovered notification is not recovered again after its person was erased', async () => {
  const world = await given()
  const { averba, faults, portal, samples } = world
  const { cpf } = samples
  await averba.consents.enrol({ cpf })
  await faults.add({ kind: 'lose', service: 'receiver', times: 1 })
  const about = { evento, destinatarioTipo: 'CPF', destinatarioId: cpf } as const
  expect(await portal.notify({ ...about, body: { numero: '26BR1' } })).toMatchObject([{ isDelivered: false }])
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { stored: 1 }])
  await averba.subjects.erase({ cpf }, { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' })
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { read: 1, recovered: 0, stored: 0 }])
  expect(await inbox(averba)).toMatchObject([{ origin: 'delivered', body: null }])
  await world.close()
})

test('the content of a failure is not kept beside its notification, and is erased with the person', async () => {
  const store = join(mkdtempSync(join(tmpdir(), 'averba-failures-')), 'log.sqlite')
  const world = await given(store)
  const { averba, faults, portal, samples } = world
  const { cpf } = samples
  const body = { cpf, nome: 'Maria de Exemplo' }
  await averba.consents.enrol({ cpf })
  await faults.add({ kind: 'lose', service: 'receiver', times: 2 })
  const about = { evento, destinatarioTipo: 'CPF', destinatarioId: cpf } as const
  await portal.notify({ ...about, body })
  const contents = async () => (await averba.subscriptions.failures()).map(each => each.conteudo)
  // Read without recovery.
  expect(await contents()).toEqual([JSON.stringify(body)])
  const sealed = async () => {
    const rows = await averba.views.selectFrom('failures').selectAll().execute()
    const asking = { actor: { kind: 'person', ref: 'atendente-7' }, purpose: 'conferência' } as const
    return Promise.all(rows.map(async row => (await averba.subjects.reveal(row, asking)).content))
  }
  expect(await sealed()).toEqual([JSON.stringify(body)])
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { stored: 1, recovered: 0 }])
  expect(await sealed()).toEqual([null])
  // Another one is linked when it is read.
  await portal.notify({ ...about, body: { ...body, n: 2 } })
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { stored: 1, recovered: 0 }])
  expect(await sealed()).toEqual([null, null])
  expect(await contents()).toEqual([JSON.stringify(body), JSON.stringify({ ...body, n: 2 })])
  await averba.subjects.erase({ cpf }, { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' })
  expect(await contents()).toEqual(['', ''])
  await averba.subscriptions.recover()
  expect(await contents()).toEqual(['', ''])
  for (const { differences } of await averba.rebuild()) expect(differences).toBe(0)
  await world.close()
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
  expect((await verifyLog({ store })).faults).toEqual([])
})

test('the content of foreign and unrecovered failures is destroyed by retention', async () => {
  const store = join(mkdtempSync(join(tmpdir(), 'averba-failures-')), 'log.sqlite')
  const world = await given(store)
  const { averba, clock, portal } = world
  await lose(world, { numero: '26BR1' })
  const foreign = 'talp-altsit-lpco-anu'
  const theirs = { evento: foreign, endpoint: 'https://outro.exemplo.br/', chaveSecreta: 'deles' }
  const made = await portal.fetch(
    new Request('https://portal.exemplo.br/portal/api/ext/webhook', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'sessao-de-exemplo' },
      body: JSON.stringify(theirs),
    }),
  )
  expect(made.status).toBe(200)
  expect(await notify(world, { numero: '26BR2' }, foreign)).toMatchObject([{ isDelivered: false }])
  const contents = async () => {
    const failures = await averba.subscriptions.failures({ day: '2026-11-20' })
    return failures.map(each => each.conteudo).sort()
  }
  expect(await contents()).toEqual(['{"numero":"26BR1"}', '{"numero":"26BR2"}'])
  const rows = await averba.views.selectFrom('failures').select('subscription').execute()
  expect(rows.map(row => row.subscription === null).sort()).toEqual([false, true])
  await clock.advance(dayMs + secondMs)
  // This reading recovers nothing.
  const retention = { 'notification.body': { days: 1 } }
  const keeping = await openAverba({ store, clock, entropy: seededEntropy(9), retention, schedules: true })
  await keeping.settle()
  await keeping.close()
  expect(await contents()).toEqual(['', ''])
  await world.close()
})

test('the same content at another time or of another event is another notification', async () => {
  const other = 'talp-altsit-lpco-anu'
  const world = await simulate({ averba: { subscriptions: [...subscriptions, { evento: other }] } })
  const { averba, clock } = world
  for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(each)
  await notify(world, { numero: '26BR1' })
  await lose(world, { numero: '26BR1' }, other)
  await lose(world, { numero: '26BR2' })
  await clock.advance(3_600_000)
  await lose(world, { numero: '26BR1' })
  await averba.subscriptions.recover()
  expect((await inbox(averba)).map(each => [each.origin, each.evento])).toEqual([
    ['delivered', evento],
    ['recovered', other],
    ['recovered', evento],
    ['recovered', evento],
  ])
  await world.close()
})

const [blocked, released] = [
  { ruc: '26BR1', situacao: 'BLOQUEADA' },
  { ruc: '26BR1', situacao: 'LIBERADA' },
]

test.each([
  ['after the copy window', 6 * 60, 6 * 60],
  ['within the copy window', 2 * 60, 2 * 60],
])('a lost notification equal to one before another content is recovered: %s', async (_, first, second) => {
  const world = await given()
  const { averba, clock } = world
  await notify(world, blocked)
  await clock.advance(first * secondMs)
  await notify(world, released)
  await clock.advance(second * secondMs)
  await lose(world, blocked)
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { recovered: 1, stored: 0 }])
  expect((await inbox(averba)).map(each => each.body)).toEqual([blocked, released, blocked])
  await world.close()
})

test('of three lost notifications, the third is recovered although it equals the first', async () => {
  const world = await given()
  const { averba, clock } = world
  for (const body of [blocked, released, blocked]) {
    await lose(world, body)
    await clock.advance(60 * secondMs)
  }
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { recovered: 3, stored: 0 }])
  await world.close()
})

/** A portal that lists the failures newest first: the contract defines no order. */
const newestFirst: Parameters<typeof given>[1] = async (request, forward) => {
  const answer = await forward(request)
  if (request.method !== 'GET' || !request.url.includes('/falhas')) return answer
  const records: unknown = await answer.json()
  return Response.json(Array.isArray(records) ? records.toReversed() : records, answer)
}

test.each([
  ['oldest first', undefined],
  ['newest first', newestFirst],
])('two lost notifications after a stored one are both recovered, listed %s', async (_, listed) => {
  const world = await given(':memory:', listed)
  const { averba, clock } = world
  await notify(world, blocked)
  await clock.advance(120 * secondMs)
  await lose(world, released)
  await clock.advance(120 * secondMs)
  await lose(world, blocked)
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { recovered: 2, stored: 0 }])
  await averba.subscriptions.recover()
  expect((await inbox(averba)).map(each => each.body)).toEqual([blocked, released, blocked])
  await world.close()
})

test('a notification lost before another content is recovered although the same arrived later', async () => {
  const world = await given()
  const { averba, clock } = world
  for (const body of [blocked, released]) {
    await lose(world, body)
    await clock.advance(60 * secondMs)
  }
  await notify(world, blocked)
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { recovered: 2, stored: 0 }])
  await world.close()
})

test('two notifications lost around midnight are recovered although one equals a stored one', async () => {
  const world = await given()
  const { averba, clock } = world
  const midnightInBrasilia = Date.parse('2026-11-21T03:00:00Z')
  await clock.advance(midnightInBrasilia - clock.now() - 180 * secondMs)
  await notify(world, blocked)
  await clock.advance(120 * secondMs)
  await lose(world, released)
  await clock.advance(120 * secondMs)
  await lose(world, blocked)
  // The new day is read first, as after a lost answer.
  await averba.subscriptions.failures({ recover: true })
  await averba.subscriptions.recover()
  expect((await inbox(averba)).map(each => each.body)).toEqual([blocked, blocked, released])
  await world.close()
})

test('a notification stored just before midnight matches its failure just after midnight', async () => {
  const world = await given()
  const { averba, clock } = world
  await clock.advance(Date.parse('2026-11-21T03:00:00Z') - clock.now() - 10 * secondMs)
  await notify(world, blocked)
  await clock.advance(14 * secondMs)
  await lose(world, blocked)
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { recovered: 0, stored: 1 }])
  await world.close()
})

test('content for another recipient, or after the lost answer, does not affect the match', async () => {
  const world = await given()
  const { averba, clock, portal } = world
  await notify(world, blocked)
  await clock.advance(60 * secondMs)
  await portal.notify({ evento, destinatarioTipo: 'CNPJ', destinatarioId: '00000000000191', body: released })
  await clock.advance(60 * secondMs)
  await answerLate(world, blocked)
  await notify(world, released)
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { recovered: 0, stored: 1 }])
  await clock.advance(60 * secondMs)
  await answerLate(world, { ...released, n: 1 })
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { recovered: 0, stored: 1 }])
  await world.close()
})

test('a notification recovered a day later does not match a new loss with the same content', async () => {
  const world = await given()
  const { averba, clock } = world
  await lose(world, { numero: '26BR1' })
  await clock.advance(dayMs)
  await averba.subscriptions.recover()
  await clock.advance(60 * secondMs)
  await lose(world, { numero: '26BR1' })
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { recovered: 1, stored: 0 }])
  expect(await inbox(averba)).toHaveLength(2)
  await world.close()
})

test('two records with the same content and about the same time are one notification', async () => {
  const world = await given()
  await lose(world, { numero: '26BR1' })
  await world.clock.advance(secondMs)
  await lose(world, { numero: '26BR1' })
  expect((await world.averba.subscriptions.recover()).map(valueOf)).toMatchObject([
    {},
    { read: 2, recovered: 1, stored: 1 },
  ])
  expect(await inbox(world.averba)).toHaveLength(1)
  await world.close()
})

test.each([
  ['the next morning', 0, 500],
  ['when the portal shows its failures again', 4, 500],
  ['when the portal shows what it declined before', 4, 403],
])('retention keeps a body until the failures of its day are read, %s', async (_, down, status) => {
  const retention = { 'notification.body': 'until-settled' } as const
  const world = await simulate({ averba: { subscriptions, retention, schedules: true } })
  const { averba, clock, faults } = world
  for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(each)
  const handled: unknown[] = []
  averba.notifications.handle(evento, 'gravar', async ({ body }) => void handled.push(body))
  const pass = async (hours: number) => {
    for (let hour = 0; hour < hours; hour++) {
      await clock.advance(3_600_000)
      await averba.settle()
    }
  }
  await averba.settle()
  await pass(23) // To an hour before the look at the rules, a day after the last one.
  await answerLate(world, { numero: '26BR1' })
  await averba.settle()
  if (down > 0) await faults.add({ kind: 'status', status, service: 'portal', path: 'falhas' })
  await pass(down * 24 + 2)
  expect((await inbox(averba)).map(each => each.body)).toEqual([{ numero: '26BR1' }])
  await faults.clear()
  await pass(72)
  expect(handled).toEqual([{ numero: '26BR1' }])
  expect(await inbox(averba)).toMatchObject([{ origin: 'delivered', body: null }])
  await world.close()
})

test('failures that were read without recovery can be recovered later', async () => {
  const world = await given()
  const { averba } = world
  await lose(world, { numero: '26BR1' })
  expect(await averba.subscriptions.failures()).toMatchObject([{ recovery: null, notification: null }])
  expect(await inbox(averba)).toEqual([])
  expect(await averba.subscriptions.failures({ recover: true })).toMatchObject([{ recovery: 'recovered' }])
  expect(await inbox(averba)).toHaveLength(1)
  await world.close()
})

test.each([
  ['as JSON, is recovered as text', { numero: '26BR1' }, { recovered: 1, unreadable: 0 }, ['{"numero":"26BR1"}']],
  ['as null, is counted as unreadable', null, { recovered: 0, unreadable: 1 }, []],
])('a failure whose content is listed %s', async (_, conteudo, counts, texts) => {
  const record = { id: 7, data: '20-11-2026 08:00:00', descricao: 'HTTP 500', evento, conteudo }
  const world = await simulate({
    averba: { subscriptions },
    intercept: async (request, forward) =>
      request.url.endsWith('/falhas?data=20112026') ? Response.json([record]) : forward(request),
  })
  const { averba } = world
  for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(each)
  const [, recovered] = (await averba.subscriptions.recover()).map(valueOf)
  expect(recovered).toMatchObject({ read: 1, stored: 0, ...counts })
  expect((await inbox(averba)).map(each => Buffer.from(each.raw).toString())).toEqual(texts)
  const [failure] = await averba.subscriptions.failures({ day: '2026-11-20' })
  expect(failure?.conteudo).toBe(texts[0] ?? '')
  await world.close()
})

test('a failure of content for several recipients is recovered: it may be for another one', async () => {
  const world = await given()
  const { averba, faults, portal } = world
  const body = { aviso: 'indisponibilidade programada' }
  const to = (destinatarioId: string) => portal.notify({ evento, destinatarioTipo: 'CNPJ', destinatarioId, body })
  await to('00000000000191')
  await to('12ABC34501DE35')
  await faults.add({ kind: 'status', status: 500, service: 'receiver', times: 2 })
  await to('11222333000181')
  await to('11444777000161')
  // Without a recipient, one notification is enough for two.
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { recovered: 1, stored: 1 }])
  expect((await inbox(averba)).map(each => each.origin).sort()).toEqual(['delivered', 'delivered', 'recovered'])
  await world.close()
})

test('a notification matches as many failures as it had deliveries, copies included', async () => {
  const world = await given()
  const { averba, clock } = world
  await answerLate(world, { numero: '26BR1' })
  await answerLate(world, { numero: '26BR1' })
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { recovered: 0, stored: 2 }])
  await clock.advance(60 * secondMs)
  await lose(world, { numero: '26BR1' })
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { recovered: 1, stored: 0 }])
  expect(await inbox(averba)).toMatchObject([{ origin: 'delivered', copies: 2 }, { origin: 'recovered' }])
  await world.close()
})

test('two processes recovering concurrently recover each record once', async () => {
  const store = join(mkdtempSync(join(tmpdir(), 'averba-recovery-')), 'log.sqlite')
  const world = await given(store)
  for (let i = 0; i < 20; i++) await lose(world, { i })
  const other = await openAverba({
    store,
    clock: world.clock,
    fetch: request => world.portal.fetch(request),
    portal: {
      baseUrl: 'https://portal.exemplo.br',
      authenticate: async () => ({ authorization: 'sessao-de-exemplo' }),
    },
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba' },
    subscriptions,
  })
  await Promise.all([world.averba, other].map(each => each.subscriptions.recover()))
  const bodies = (await inbox(other)).map(each => JSON.stringify(each.body))
  expect(bodies).toHaveLength(20)
  expect(new Set(bodies).size).toBe(20)
  await other.close()
  await world.close()
})

test('a loss at the end of a day is found by the recovery of the next day', async () => {
  const world = await given()
  await lose(world, { numero: '26BR1' })
  await world.clock.advance(dayMs)
  expect((await world.averba.subscriptions.recover()).map(valueOf)).toMatchObject([
    { day: '2026-11-20', recovered: 1 },
    { day: '2026-11-21', read: 0 },
  ])
  await world.close()
})

test('failures of ours are read within seconds, and many of them in one reading', async () => {
  const world = await given()
  const { averba, clock, requests } = world
  const readings = () => requests.filter(each => each.path.includes('/falhas')).length
  for (let i = 0; i < 50; i++) {
    await lose(world, { i })
    await averba.subscriptions.recoverSoon('unstored')
  }
  await averba.settle()
  expect(readings()).toBe(0)
  await clock.advance(10 * secondMs)
  await averba.settle()
  expect(readings()).toBe(1)
  expect(await inbox(averba)).toHaveLength(50)
  // The next one is found too, at the limited rate.
  await lose(world, { i: 50 })
  await averba.subscriptions.recoverSoon('late')
  await clock.advance(60 * secondMs)
  await averba.settle()
  expect(readings()).toBe(1)
  await clock.advance(9 * 60 * secondMs)
  await averba.settle()
  expect(readings()).toBe(2)
  expect(await inbox(averba)).toHaveLength(51)
  await world.close()
})

test('after a downtime every day of it is read', async () => {
  const world = await given()
  const { averba, clock } = world
  await world.faults.add({ kind: 'refuse', service: 'receiver' })
  for (let day = 0; day < 3; day++) {
    expect(await notify(world, { day })).toMatchObject([{ isDelivered: false }])
    await clock.advance(dayMs)
  }
  await world.faults.clear()
  await averba.subscriptions.recoverSoon('downtime', '2026-11-20T12:00:00.000Z')
  await clock.advance(10 * secondMs)
  await averba.settle()
  expect((await inbox(averba)).map(each => each.body)).toEqual([{ day: 0 }, { day: 1 }, { day: 2 }])
  await world.close()
})

test('failures of foreign events are kept, but not in the inbox', async () => {
  const world = await given()
  const { averba } = world
  const headers = { 'content-type': 'application/json', authorization: 'sessao-de-exemplo' }
  const body = JSON.stringify({ evento: 'alheio', endpoint: 'https://receptor.exemplo.br/outro' })
  const url = 'https://portal.exemplo.br/portal/api/ext/webhook'
  await world.portal.fetch(new Request(url, { method: 'POST', headers, body }))
  await lose(world, {}, 'alheio')
  await averba.subscriptions.recover()
  expect(await averba.subscriptions.failures()).toMatchObject([{ evento: 'alheio', recovery: null }])
  expect(await inbox(averba)).toEqual([])
  await world.close()
})

test('a recovery without an answer from the portal is completed by the next run', async () => {
  const world = await given()
  const { averba, clock, faults } = world
  await lose(world, { numero: '26BR1' })
  await faults.add({ kind: 'status', status: 503, service: 'portal' })
  expect((await averba.subscriptions.recover()).map(each => each.status)).toEqual(['deferred', 'deferred'])
  await faults.clear()
  await clock.advance(3_600_000)
  await averba.settle()
  expect(await inbox(averba)).toHaveLength(1)
  await world.close()
})

test('a notification answered too late causes a reading of the failure records', async () => {
  const world = await given()
  const { averba, clock, requests } = world
  const headers = { 'event-type': evento, secret: 'chave-um' }
  const body = new ReadableStream({ start: controller => controller.enqueue(Buffer.from('{')) })
  const init = { method: 'POST', headers, body, duplex: 'half' }
  const request = new Request('https://receptor.exemplo.br/averba', init as RequestInit) // The types lack duplex.
  const answering = averba.receiver.fetch(request, { remoteAddress: '189.9.1.2' })
  await expect.poll(() => clock.sleeping).toBeGreaterThan(0)
  await clock.advance(3 * secondMs)
  expect((await answering).status).toBe(503)
  const earlyReadingReason = () => averba.due('2026-11-20T12:01:00.000Z')
  await expect.poll(earlyReadingReason).toMatchObject([{ what: 'call', at: '2026-11-20T12:00:13.000Z' }])
  await clock.advance(10 * secondMs)
  await averba.settle()
  expect(requests.filter(each => each.path.includes('falhas?data=20112026'))).toHaveLength(1)
  await world.close()
})

test('handlers are called for recovered notifications, without a recipient', async () => {
  const world = await given()
  const { averba } = world
  const handled: unknown[] = []
  averba.notifications.handle(evento, 'gravar', async notification => {
    const { origin, body, recipient } = notification
    handled.push([origin, body, recipient?.id])
    // @ts-expect-error: by its type a recovered one has none
    if (notification.origin === 'recovered') expect(notification.recipient?.id).toBeUndefined()
  })
  await lose(world, { numero: '26BR1' })
  await notify(world, { numero: '26BR2' })
  await averba.subscriptions.recover()
  await averba.settle()
  expect(handled).toEqual([
    ['delivered', { numero: '26BR2' }, world.samples.cnpj],
    ['recovered', { numero: '26BR1' }, undefined],
  ])
  expect((await inbox(averba)).map(each => each.state)).toEqual(['handled', 'handled'])
  await world.close()
})

test('the daily readings continue after a clock that was months ahead is corrected', async () => {
  let aheadMs = 100 * dayMs
  const plain = await simulate()
  const clock = { now: () => plain.clock.now() + aheadMs, sleep: plain.clock.sleep.bind(plain.clock) }
  const world = await simulate({ averba: { clock, subscriptions, schedules: true } })
  const { averba } = world
  for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(each)
  await averba.settle()
  aheadMs = 0
  await lose(world, { numero: '26BR1' })
  for (let day = 0; day < 2; day++) {
    await world.clock.advance(dayMs)
    await plain.clock.advance(dayMs)
    await averba.settle()
  }
  expect(await inbox(averba)).toMatchObject([{ origin: 'recovered' }])
  await world.close()
  await plain.close()
})

test.each([20, 24, 30, 47])(
  'no failure of the day is lost when the clock is %i hours ahead for an hour',
  async hours => {
    const world = await simulate({ averba: { subscriptions, schedules: true } })
    const { averba, clock } = world
    for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(each)
    const passHours = async (count: number) => {
      for (let hour = 0; hour < count; hour++) {
        await clock.advance(hourMs)
        await averba.settle()
      }
    }
    await passHours(48)
    clock.jump(hours * hourMs)
    await passHours(1)
    clock.jump(-hours * hourMs)
    await passHours(2)
    await lose(world, { numero: '26BR1' })
    await passHours(72)
    expect(await inbox(averba)).toMatchObject([{ origin: 'recovered' }])
    await world.close()
  },
)

test('a recovered notification has the time of its failure, in handlers too', async () => {
  const world = await given()
  const { averba, clock } = world
  const handled: unknown[] = []
  averba.notifications.handle(evento, 'keep', async notification => {
    const { origin, at } = notification
    handled.push([origin, at, origin === 'recovered' ? notification.failedAt : undefined])
  })
  await lose(world, { numero: '26BR1' })
  await clock.advance(3 * dayMs)
  await averba.subscriptions.failures({ day: '2026-11-20', recover: true })
  await averba.settle()
  const [at, failedAt] = ['2026-11-23T12:00:00.000Z', '2026-11-20T12:00:00.000Z']
  expect(handled).toEqual([['recovered', at, failedAt]])
  expect(await inbox(averba)).toMatchObject([{ origin: 'recovered', at, failedAt }])
  await world.close()
})
