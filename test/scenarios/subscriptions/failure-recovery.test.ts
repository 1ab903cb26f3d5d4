import { describe, expect, test } from 'vitest'
import { type Averba, diagnoseStore, type Notification, valueOf, verifyLog } from '../../../src/index.ts'
import { seededEntropy, type simulate, type World } from '../../../src/simulation/index.ts'
import { dayMs, hourMs, passTime } from '../../support/pass-time.ts'
import { applyPlan, callPortal, openBeside } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openWorld } from '../../support/world.ts'
import { answerLate, evento, lose, notify, subscriptions, tell } from './story.ts'

const secondMs = 1_000

async function given(
  store = ':memory:',
  intercept?: NonNullable<Parameters<typeof simulate>[0]>['intercept'],
): Promise<World> {
  const world = await openWorld({ averba: { subscriptions, store }, ...(intercept && { intercept }) })
  await applyPlan(world.averba)
  return world
}

const inbox = (averba: Averba): Promise<Notification[]> => Array.fromAsync(averba.notifications.list())

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
})

test('a recovered notification is not recovered again after its person was erased', async () => {
  const { averba, faults, portal, samples } = await given()
  const { cpf } = samples
  await averba.consents.enrol({ cpf })
  await faults.add({ kind: 'lose', service: 'receiver', times: 1 })
  const about = { evento, destinatarioTipo: 'CPF', destinatarioId: cpf } as const
  expect(await portal.notify({ ...about, body: { numero: '26BR1' } })).toMatchObject([{ isDelivered: false }])
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { stored: 1 }])
  await averba.subjects.erase({ cpf }, { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' })
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { read: 1, recovered: 0, stored: 0 }])
  expect(await inbox(averba)).toMatchObject([{ origin: 'delivered', body: null }])
})

test('the content of a failure is not kept beside its notification, and is erased with the person', async () => {
  const store = temporaryStore()
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
  const store = temporaryStore()
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
  const keeping = await openEngine({ store, clock, entropy: seededEntropy(9), retention, schedules: true })
  await keeping.settle()
  await keeping.close()
  expect(await contents()).toEqual(['', ''])
})

test('the same content at another time or of another event is another notification', async () => {
  const other = 'talp-altsit-lpco-anu'
  const world = await openWorld({ averba: { subscriptions: [...subscriptions, { evento: other }] } })
  const { averba, clock } = world
  await applyPlan(averba)
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
})

const [blocked, released] = [
  { ruc: '26BR1', situacao: 'BLOQUEADA' },
  { ruc: '26BR1', situacao: 'LIBERADA' },
]

/** A portal that lists the failures newest first: the contract defines no order. */
const _newestFirst: Parameters<typeof given>[1] = async (request, forward) => {
  const answer = await forward(request)
  if (request.method !== 'GET' || !request.url.includes('/falhas')) return answer
  const records: unknown = await answer.json()
  return Response.json(Array.isArray(records) ? records.toReversed() : records, answer)
}

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
})

test.each([
  ['the next morning', 0, 500],
  ['when the portal shows its failures again', 4, 500],
  ['when the portal shows what it declined before', 4, 403],
])('retention keeps a body until the failures of its day are read, %s', async (_, down, status) => {
  const retention = { 'notification.body': 'until-settled' } as const
  const world = await openWorld({ averba: { subscriptions, retention, schedules: true } })
  const { averba, clock, faults } = world
  await applyPlan(averba)
  const handled: unknown[] = []
  averba.notifications.handle(evento, 'gravar', async ({ body }) => void handled.push(body))
  const pass = (hours: number) => passTime({ averba, clock }, hourMs, hours)
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
})

test.each([
  ['as JSON, is recovered as text', { numero: '26BR1' }, { recovered: 1, unreadable: 0 }, ['{"numero":"26BR1"}']],
  ['as null, is counted as unreadable', null, { recovered: 0, unreadable: 1 }, []],
])('a failure whose content is listed %s', async (_, conteudo, counts, texts) => {
  const record = { id: 7, data: '20-11-2026 08:00:00', descricao: 'HTTP 500', evento, conteudo }
  const { averba } = await openWorld({
    averba: { subscriptions },
    intercept: async (request, forward) =>
      request.url.endsWith('/falhas?data=20112026') ? Response.json([record]) : forward(request),
  })
  await applyPlan(averba)
  const [, recovered] = (await averba.subscriptions.recover()).map(valueOf)
  expect(recovered).toMatchObject({ read: 1, stored: 0, ...counts })
  expect((await inbox(averba)).map(each => Buffer.from(each.raw).toString())).toEqual(texts)
  const [failure] = await averba.subscriptions.failures({ day: '2026-11-20' })
  expect(failure?.conteudo).toBe(texts[0] ?? '')
})

test('a failure of content for several recipients is recovered: it may be for another one', async () => {
  const { averba, faults, portal } = await given()
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
})

test('two processes recovering concurrently recover each record once', async () => {
  const store = temporaryStore()
  const world = await given(store)
  for (let i = 0; i < 20; i++) await lose(world, { i })
  const other = await openBeside(world, { store, subscriptions })
  await Promise.all([world.averba, other].map(each => each.subscriptions.recover()))
  const bodies = (await inbox(other)).map(each => JSON.stringify(each.body))
  expect(bodies).toHaveLength(20)
  expect(new Set(bodies).size).toBe(20)
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
  await passTime({ averba, clock }, 10 * secondMs)
  expect(readings()).toBe(1)
  expect(await inbox(averba)).toHaveLength(50)
  // The next one is found too, at the limited rate.
  await lose(world, { i: 50 })
  await averba.subscriptions.recoverSoon('late')
  await passTime({ averba, clock }, 60 * secondMs)
  expect(readings()).toBe(1)
  await passTime({ averba, clock }, 9 * 60 * secondMs)
  expect(readings()).toBe(2)
  expect(await inbox(averba)).toHaveLength(51)
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
  await passTime({ averba, clock }, 10 * secondMs)
  expect((await inbox(averba)).map(each => each.body)).toEqual([{ day: 0 }, { day: 1 }, { day: 2 }])
})

test('failures of foreign events are kept, but not in the inbox', async () => {
  const world = await given()
  const { averba } = world
  await callPortal(world, 'POST', { evento: 'alheio', endpoint: 'https://receptor.exemplo.br/outro' })
  await lose(world, {}, 'alheio')
  await averba.subscriptions.recover()
  expect(await averba.subscriptions.failures()).toMatchObject([{ evento: 'alheio', recovery: null }])
  expect(await inbox(averba)).toEqual([])
})

test('a notification answered too late causes a reading of the failure records', async () => {
  const { averba, clock, requests } = await given()
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
  await passTime({ averba, clock }, 10 * secondMs)
  expect(requests.filter(each => each.path.includes('falhas?data=20112026'))).toHaveLength(1)
})

test('the daily readings continue after a clock that was months ahead is corrected', async () => {
  let aheadMs = 100 * dayMs
  const plain = await openWorld()
  const clock = { now: () => plain.clock.now() + aheadMs, sleep: plain.clock.sleep.bind(plain.clock) }
  const world = await openWorld({ averba: { clock, subscriptions, schedules: true } })
  const { averba } = world
  await applyPlan(averba)
  await averba.settle()
  aheadMs = 0
  await lose(world, { numero: '26BR1' })
  for (let day = 0; day < 2; day++) {
    await world.clock.advance(dayMs)
    await passTime({ averba, clock: plain.clock }, dayMs)
  }
  expect(await inbox(averba)).toMatchObject([{ origin: 'recovered' }])
})

test('a recovered notification has the time of its failure and no recipient, in handlers too', async () => {
  const world = await given()
  const { averba, clock } = world
  const handled: unknown[] = []
  averba.notifications.handle(evento, 'keep', async notification => {
    const { origin, at, recipient } = notification
    handled.push([origin, at, recipient?.id, origin === 'recovered' ? notification.failedAt : undefined])
    // @ts-expect-error: by its type a recovered one has none
    if (notification.origin === 'recovered') expect(notification.recipient?.id).toBeUndefined()
  })
  await lose(world, { numero: '26BR1' })
  await clock.advance(3 * dayMs)
  await notify(world, { numero: '26BR2' })
  await averba.subscriptions.failures({ day: '2026-11-20', recover: true })
  await averba.settle()
  const [at, failedAt] = ['2026-11-23T12:00:00.000Z', '2026-11-20T12:00:00.000Z']
  expect(handled).toEqual([
    ['delivered', at, world.samples.cnpj, undefined],
    ['recovered', at, undefined, failedAt],
  ])
  expect(await inbox(averba)).toMatchObject([{ state: 'handled' }, { origin: 'recovered', at, failedAt }])
})

describe('what was lost is recovered', () => {
  tell([
    [
      'if it equals one before another content, later',
      'deliver a, 6 min, deliver b, 6 min, lose a, recover 1+0, inbox a b a+',
    ],
    [
      'if it equals one before another content, soon',
      'deliver a, 2 min, deliver b, 2 min, lose a, recover 1+0, inbox a b a+',
    ],
    ['although it equals another loss before it', 'lose a, 1 min, lose b, 1 min, lose a, 1 min, recover 3+0'],
    ['twice after a stored one', 'deliver a, 2 min, lose b, 2 min, lose a, recover 2+0, recover, inbox a b+ a+'],
    ['although the same arrived after another content', 'lose a, 1 min, lose b, 1 min, deliver a, recover 2+0'],
    [
      'around midnight, although it equals a stored one, and the new day is read first',
      'midnight -180 s, deliver a, 2 min, lose b, 2 min, lose a, read all, recover, inbox a a+ b+',
    ],
    ['although the same was recovered a day late', 'lose a, 1 d, recover, 1 min, lose a, recover 1+0, inbox a+ a+'],
    ['after it was read without recovery', 'lose a, read, inbox, read all, inbox a+'],
    ['at the end of a day, by the next day', 'lose a, 1 d, recover, inbox a+'],
    ['after the portal did not answer, by the next run', 'lose a, portal 503, recover, portal up, 1 × 1 h, inbox a+'],
    [
      'soon, although the clock was hours ahead for a moment',
      'clock +8 h, soon unstored, clock -8 h, 1 × 1 min, lose a, soon unstored, 1 × 10 s, inbox a+',
    ],
  ])
  const newestFirst = async (request: Request, forward: (request: Request) => Promise<Response>) => {
    const answer = await forward(request)
    if (request.method !== 'GET' || !request.url.includes('/falhas')) return answer
    const records: unknown = await answer.json()
    return Response.json(Array.isArray(records) ? records.toReversed() : records, answer)
  }
  // The contract defines no order.
  tell(
    [['twice, listed newest first', 'deliver a, 2 min, lose b, 2 min, lose a, recover 2+0, recover, inbox a b+ a+']],
    { intercept: newestFirst },
  )
  tell(
    [20, 24, 30, 47].map(hours => [
      `when the clock was ${hours} hours ahead for an hour`,
      `48 × 1 h, clock +${hours} h, 1 × 1 h, clock -${hours} h, 2 × 1 h, lose a, 72 × 1 h, inbox a+`,
    ]),
    { averba: { schedules: true } },
  )
})

describe('what was stored is not recovered', () => {
  tell([
    [
      'a notification that was stored but answered late is not recovered again',
      'late a, inbox a, recover 0+1, inbox a',
    ],
    ['just before midnight, if it failed just after', 'midnight -10 s, deliver a, 14 s, lose a, recover 0+1'],
    ['nor twice, if two records have its content and about its time', 'lose a, 1 s, lose a, recover 1+1, inbox a+'],
    ['as often as it was delivered', 'late a, late a, recover 0+2, 1 min, lose a, recover 1+0, inbox a a+'],
  ])
})
